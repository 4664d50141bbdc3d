//! A server of a test's own: its own directory, its own port, gone when the test ends.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    binary,
    real::{self, Real},
};

/// A running Kubernetes API, and a folder for whatever the test's clients write.
#[derive(Debug)]
pub struct Server {
    running: Running,
    home: TempDir,
}

#[derive(Debug)]
enum Running {
    Trainyard(Child),
    Real(Real),
    Nothing,
}

impl Server {
    /// Starts the program under test, or the real thing if the environment asks for it.
    #[track_caller]
    pub fn start() -> Self {
        let home = TempDir::new().expect("a temporary folder can be made");
        if !is_real() {
            let running = Running::Trainyard(start_trainyard(home.path()));
            return Self { running, home };
        }
        let running = Running::Real(Real::start(home.path()));
        let server = Self { running, home };
        real::wait_until_ready(&server.address(), &server.token());
        server
    }

    /// The test's own folder: clients have it as their home and working directory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn data_dir(&self) -> PathBuf {
        data_dir(self.home())
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.data_dir().join("kubeconfig")
    }

    /// `https://host:port`.
    pub fn address(&self) -> String {
        self.entry("server")
    }

    /// The administrator's token.
    pub fn token(&self) -> String {
        self.entry("token")
    }

    pub fn pid(&self) -> u32 {
        match &self.running {
            Running::Trainyard(child) => child.id(),
            Running::Real(real) => real.pid(),
            Running::Nothing => panic!("the server was killed"),
        }
    }

    /// Ends the server as a power cut would.
    pub fn kill(&mut self) {
        if let Running::Trainyard(child) = &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.running = Running::Nothing;
    }

    /// Starts the server again on what the last one left.
    #[track_caller]
    pub fn start_again(&mut self) {
        self.kill();
        self.running = Running::Trainyard(start_trainyard(self.home()));
    }

    /// An entry of the kubeconfig, which every server here writes one to a line.
    fn entry(&self, name: &str) -> String {
        let text = fs::read_to_string(self.kubeconfig()).expect("the server wrote a kubeconfig");
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no `{name}` in the kubeconfig"))
            .to_owned()
    }

    /// What `trainyard status` says about this server.
    pub fn status(&self) -> Value {
        let mut command = Command::new(binary());
        command
            .args(["status", "-o", "json", "--data-dir"])
            .arg(self.data_dir());
        serde_json::from_str(&crate::run(&mut command, "").success()).expect("the status is JSON")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = fs::read_to_string(self.home().join("server.log")).unwrap_or_default();
            println!("--- the server's log\n{log}");
        }
    }
}

/// Whether tests run against the real kube-apiserver.
pub(crate) fn is_real() -> bool {
    std::env::var_os("TRAINYARD_TESTS_AGAINST").is_some_and(|value| value == "real")
}

pub(crate) fn data_dir(home: &Path) -> PathBuf {
    home.join("data")
}

#[track_caller]
fn start_trainyard(home: &Path) -> Child {
    let log = File::options()
        .append(true)
        .create(true)
        .open(home.join("server.log"))
        .expect("a log can be written");
    let mut child = Command::new(binary())
        .args(["up", "--api-only", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(data_dir(home))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .expect("trainyard can be started");
    let stdout = child.stdout.take().expect("the output is piped");
    let first = BufReader::new(stdout)
        .lines()
        .next()
        .and_then(Result::ok)
        .unwrap_or_default();
    if first != "Trainyard is ready" {
        let _ = child.kill();
        let _ = child.wait();
        panic!(
            "the server did not start: {}",
            fs::read_to_string(home.join("server.log")).unwrap_or_default()
        );
    }
    child
}
