//! A server of a test's own: its own directory, its own port, gone when the test ends.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    os::unix::{
        fs::{MetadataExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    binary,
    real::{self, Real},
};

/// The user and group id of a user without any rights.
pub(crate) const NOBODY: u32 = 65_534;

/// A running Kubernetes API, and a folder for whatever the test's clients write.
#[derive(Debug)]
pub struct Server {
    running: Running,
    extent: Extent,
    /// What `up` is told besides.
    options: Vec<String>,
    home: TempDir,
}

/// How much of a cluster a test needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Api,
    /// A cluster whose pods run as timers, without anybody who looks after jobs and workflows.
    Simulation,
    /// A cluster that runs pods, as some user.
    Pods(User),
}

/// So many nodes take pods that only seem to run.
const SIMULATED_NODES: &str = "4";

/// Who a cluster is run by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Whoever runs the tests.
    Us,
    /// Somebody without any rights.
    Nobody,
}

impl User {
    /// Everybody a cluster can be run by here.
    pub fn all() -> Vec<Self> {
        if is_root() {
            vec![Self::Us, Self::Nobody]
        } else {
            vec![Self::Us]
        }
    }
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
        Self::start_either(Extent::Api)
    }

    /// The same with controllers, a scheduler, and nodes on which pods run until somebody says how they ended.
    #[track_caller]
    pub fn start_with_simulated_nodes() -> Self {
        Self::start_either(Extent::Simulation)
    }

    #[track_caller]
    fn start_either(extent: Extent) -> Self {
        let home = TempDir::new().expect("a temporary folder can be made");
        if !is_real() {
            let running = Running::Trainyard(start_trainyard(home.path(), extent, &[]));
            return Self {
                running,
                extent,
                options: Vec::new(),
                home,
            };
        }
        let more: &[&str] = match extent {
            Extent::Simulation => &["--nodes", SIMULATED_NODES],
            Extent::Api | Extent::Pods(_) => &[],
        };
        let running = Running::Real(Real::start(home.path(), more));
        let server = Self {
            running,
            extent,
            options: Vec::new(),
            home,
        };
        real::wait_until_ready(&server.address(), &server.token());
        server
    }

    /// Starts a whole cluster, whose pods are processes of this user.
    #[track_caller]
    pub fn start_with_pods(user: User) -> Self {
        Self::start_with_options(user, &[])
    }

    /// The same, with further options of `up`.
    #[track_caller]
    pub fn start_with_options(user: User, options: &[&str]) -> Self {
        let home = TempDir::new().expect("a temporary folder can be made");
        if user == User::Nobody {
            chown(home.path(), Some(NOBODY), Some(NOBODY)).expect("the tests are run by root");
        }
        let extent = Extent::Pods(user);
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let running = Running::Trainyard(start_trainyard(home.path(), extent, &options));
        Self {
            running,
            extent,
            options,
            home,
        }
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
        self.running = Running::Trainyard(start_trainyard(self.home(), self.extent, &self.options));
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
        if self.extent != Extent::Api && !is_real() {
            // Pods and their network outlive the server, but not the test.
            let mut down = Command::new(binary());
            let _ = down.args(["down", "--data-dir"]).arg(self.data_dir()).output();
        }
        if std::thread::panicking() {
            let log = fs::read_to_string(self.home().join("server.log")).unwrap_or_default();
            println!("--- the server's log\n{log}");
        }
    }
}

/// Whether tests run against the real kube-apiserver.
pub fn is_real() -> bool {
    std::env::var_os("TRAINYARD_TESTS_AGAINST").is_some_and(|value| value == "real")
}

pub(crate) fn data_dir(home: &Path) -> PathBuf {
    home.join("data")
}

/// Whether the tests are run by root, who may be anybody.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

#[track_caller]
fn start_trainyard(home: &Path, extent: Extent, options: &[String]) -> Child {
    let log = File::options()
        .append(true)
        .create(true)
        .open(home.join("server.log"))
        .expect("a log can be written");
    let mut up = Command::new(binary());
    up.args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(data_dir(home))
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log);
    match extent {
        Extent::Api => up.arg("--api-only"),
        Extent::Simulation => up.env("HOME", home).args([
            "--no-operator",
            "--no-pipelines",
            "--simulated-nodes",
            SIMULATED_NODES,
        ]),
        Extent::Pods(User::Us) => up.env("HOME", home),
        Extent::Pods(User::Nobody) => up.env("HOME", home).uid(NOBODY).gid(NOBODY),
    };
    let mut child = up.spawn().expect("trainyard can be started");
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
