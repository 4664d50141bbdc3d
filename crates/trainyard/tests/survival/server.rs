//! One `trainyard up` as a process of its own, and the directory it leaves behind.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::client::Client;

/// A data directory, used by one server after the other.
pub(crate) struct Place {
    home: TempDir,
    /// The root of the file system the server sees, where it is not ours.
    root: Option<PathBuf>,
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
            root: None,
        }
    }

    /// The same place, seen by servers that live in another file system.
    pub(crate) fn below(mut self, root: PathBuf) -> Self {
        self.root = Some(root);
        self
    }

    /// A file of the data directory, as this process reaches it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        let path = self.data_dir().join(name);
        match &self.root {
            Some(root) => root.join(path.strip_prefix("/").unwrap()),
            None => path,
        }
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("server.log")
    }

    /// The command that starts a server here on a free port.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainyard"));
        command
            .args(["up", "--api-only", "--listen", "127.0.0.1:0", "--data-dir"])
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
            let client = Client::from_kubeconfig(&self.file("kubeconfig"));
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
    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        let kilobytes: usize = line.split_whitespace().next().unwrap().parse().unwrap();
        kilobytes * 1024
    }

    /// Ends the server as a power cut would.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Ends the server as it is meant to be ended.
    pub(crate) fn stop(mut self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
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
