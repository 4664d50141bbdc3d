//! One `trainyard up` as a process of its own, and the directory it leaves behind.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use tempfile::TempDir;

use crate::client::Client;

/// A data directory, used by one server after the other.
pub(crate) struct Place {
    home: TempDir,
}

/// A server that is up. Killed when it goes out of scope.
pub(crate) struct Server {
    child: Child,
    pub(crate) client: Client,
}

/// A server that did not come up.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: ExitStatus,
    pub(crate) error: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            home: TempDir::new().unwrap(),
        }
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.data_dir().join("store.redb")
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("server.log")
    }

    /// The command that starts a server here on a free port.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainyard"));
        command
            .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(self.data_dir());
        command
    }

    /// Starts a process and does not wait for it to be ready.
    pub(crate) fn spawn(&self, command: &mut Command) -> Child {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(self.log()).unwrap())
            .spawn()
            .unwrap()
    }

    /// Starts a server and waits until it is ready or has given up.
    pub(crate) fn try_start(&self, command: &mut Command) -> Result<Server, Refusal> {
        let mut child = self.spawn(command);
        let output = BufReader::new(child.stdout.take().unwrap());
        let first = output.lines().next().and_then(Result::ok).unwrap_or_default();
        if first == "Trainyard is ready" {
            let client = Client::from_kubeconfig(&self.data_dir().join("kubeconfig"));
            return Ok(Server { child, client });
        }
        let status = child.wait().unwrap();
        let error = fs::read_to_string(self.log()).unwrap();
        Err(Refusal { status, error })
    }

    #[track_caller]
    pub(crate) fn start(&self) -> Server {
        self.try_start(&mut self.command())
            .unwrap_or_else(|refusal| panic!("{}\n{}", refusal.status, refusal.error))
    }
}

impl Server {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the server as a power cut would.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// An entry of a kubeconfig, which the server writes one to a line.
pub(crate) fn entry(kubeconfig: &Path, name: &str) -> String {
    let text = fs::read_to_string(kubeconfig).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("no `{name}` in {text}")).to_owned()
}
