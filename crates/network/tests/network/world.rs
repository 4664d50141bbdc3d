//! A network process in a folder of its own, with pods.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::Ipv4Addr,
    os::unix::fs::{PermissionsExt as _, chown},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
};

pub(crate) use network::Tier;
use network::{Endpoint, Namespace, Network, Options, Port, Protocol, Service, Table};
use tempfile::TempDir;
use this_program::Program;
use tokio::{io::AsyncBufReadExt as _, net::TcpStream};

/// The user who has no rights, by convention.
const NOBODY: u32 = 65_534;

/// Runs a test in every tier that this user can have.
pub(crate) fn each_tier(test: impl AsyncFn(Tier)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let tiers: &[Tier] = if is_root() {
        &[Tier::Root, Tier::Rootless]
    } else {
        &[Tier::Rootless]
    };
    for tier in tiers {
        runtime.block_on(test(*tier));
    }
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) folder: PathBuf,
    tier: Tier,
    pub(crate) binary: PathBuf,
    temporary: Arc<TempDir>,
}

/// A folder and a program for a network that does not run yet.
pub(crate) struct Prepared {
    pub(crate) folder: PathBuf,
    pub(crate) binary: PathBuf,
    tier: Tier,
    temporary: Arc<TempDir>,
}

impl Prepared {
    pub(crate) async fn adopt(self) -> World {
        let network = Network::adopt(&self.folder).await.unwrap();
        self.with(network)
    }

    fn with(self, network: Network) -> World {
        assert_eq!(network.description().tier, self.tier);
        let Self {
            folder,
            binary,
            tier,
            temporary,
        } = self;
        World {
            network,
            folder,
            tier,
            binary,
            temporary,
        }
    }
}

impl World {
    pub(crate) async fn start(tier: Tier) -> Self {
        Self::with(tier, Options::default()).await
    }

    pub(crate) async fn with(tier: Tier, options: Options) -> Self {
        let prepared = Self::unstarted(tier);
        let network = Network::start(&Program::at(&prepared.binary), &prepared.folder, &options)
            .await
            .unwrap();
        prepared.with(network)
    }

    pub(crate) fn unstarted(tier: Tier) -> Prepared {
        let temporary = tempfile::Builder::new().prefix("network-").tempdir().unwrap();
        let folder = temporary.path().join("a-folder-with-a-long-name".repeat(5));
        fs::create_dir(&folder).unwrap();
        let binary = program(tier, &temporary);
        if tier == Tier::Rootless && is_root() {
            for path in [temporary.path(), &folder] {
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        Prepared {
            folder,
            binary,
            tier,
            temporary: Arc::new(temporary),
        }
    }

    /// The same folder with another process.
    pub(crate) fn with_network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Keeps the folder when the world has ended.
    pub(crate) fn keep_folder(&self) -> Arc<TempDir> {
        self.temporary.clone()
    }

    /// Puts a table in force, all of it.
    pub(crate) async fn set(&self, table: Table) {
        assert_eq!(self.network.set_table(table).await.unwrap(), Vec::new());
    }

    pub(crate) async fn first_line(&self, stream: TcpStream) -> String {
        let mut line = String::new();
        tokio::io::BufReader::new(stream)
            .read_line(&mut line)
            .await
            .unwrap();
        line.trim_end().to_owned()
    }

    /// A process in its own network namespace, with an address.
    pub(crate) async fn pod(&self, name: &str) -> Pod {
        let mut pod = self.unattached_pod();
        pod.address = self
            .network
            .attach(name, Namespace::OfProcess(pod.child.id()))
            .await
            .unwrap();
        pod
    }

    pub(crate) fn unattached_pod(&self) -> Pod {
        let mut command = Command::new(&self.binary);
        command.arg("pod").args(self.network.user_namespace());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut pod = Pod {
            child,
            input,
            output,
            address: Ipv4Addr::UNSPECIFIED,
        };
        assert_eq!(pod.answer(), "ready");
        pod
    }

    /// Stops the process and sees that it is gone.
    pub(crate) async fn stop(self) {
        let pid = self.network.description().pid;
        self.network.clone().stop().await.unwrap();
        for _ in 0..1000 {
            if !PathBuf::from(format!("/proc/{pid}/ns/net")).exists() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        panic!("the {:?} process does not end", self.tier);
    }
}

impl Drop for World {
    /// A test that failed leaves nothing behind.
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.network.description().pid as i32);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::SIGKILL);
    }
}

pub(crate) struct Pod {
    pub(crate) child: Child,
    pub(crate) address: Ipv4Addr,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pod {
    /// Has the pod do something, and waits for its answer.
    pub(crate) fn run(&mut self, command: &str) -> String {
        writeln!(self.input, "{command}").unwrap();
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The example program; for a tier below the test's own, started by way of `setpriv`.
fn program(tier: Tier, temporary: &TempDir) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap().join("examples/standalone");
    if tier == Tier::Root || !is_root() {
        return built;
    }
    // Build folders may be closed to others.
    let copy = temporary.path().join("standalone");
    fs::copy(built, &copy).unwrap();
    let script = temporary.path().join("unprivileged");
    let ids = format!("--reuid={NOBODY} --regid={NOBODY} --clear-groups");
    let copy_path = copy.display();
    let text = format!(
        "#!/bin/sh\n[ $(id -u) = 0 ] && exec setpriv {ids} {copy_path} \"$@\"\nexec {copy_path} \"$@\"\n"
    );
    fs::write(&script, text).unwrap();
    for path in [&copy, &script] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    script
}

pub(crate) fn table(number: u64, services: Vec<Service>) -> Table {
    Table {
        number,
        services,
        ..Table::default()
    }
}

pub(crate) fn service(name: &str, address: Ipv4Addr, ports: Vec<Port>, endpoints: Vec<Endpoint>) -> Service {
    Service {
        namespace: "default".to_owned(),
        name: name.to_owned(),
        addresses: vec![address],
        ports,
        endpoints,
        ..Service::default()
    }
}

/// All ports of a test's services lead to the one port of an endpoint.
pub(crate) fn port(protocol: Protocol, port: u16) -> Port {
    Port {
        name: "main".to_owned(),
        protocol,
        port,
        node_port: None,
    }
}

pub(crate) fn endpoint(address: Ipv4Addr, ready: bool, port: u16) -> Endpoint {
    let ports = BTreeMap::from([("main".to_owned(), port)]);
    Endpoint {
        address,
        host: false,
        ready,
        hostname: None,
        ports,
    }
}

pub(crate) fn host_endpoint(address: Ipv4Addr, port: u16) -> Endpoint {
    Endpoint {
        host: true,
        ..endpoint(address, true, port)
    }
}
