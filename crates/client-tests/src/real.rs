//! The real kube-apiserver with its etcd, to learn what is true.

use std::{
    fs::{self, File},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{http, server::data_dir, tools::real_kubernetes};

/// The processes of a real control plane without nodes.
#[derive(Debug)]
pub(crate) struct Real {
    processes: Vec<Child>,
}

/// What Trainyard's server does by itself; everything else the tests do by hand.
const CONTROLLERS: &[&str] = &[
    "clusterrole-aggregation-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
];

impl Real {
    /// Starts it and writes a kubeconfig where Trainyard's would be.
    pub(crate) fn start(home: &Path) -> Self {
        let mut real = Self {
            processes: Vec::new(),
        };
        let data = data_dir(home);
        fs::create_dir_all(&data).unwrap();
        let (client, peer, port) = (free_port(), free_port(), free_port());
        let etcd = format!("http://127.0.0.1:{client}");
        real.spawn(
            home,
            "etcd",
            &[
                &format!("--data-dir={}", data.join("etcd").display()),
                &format!("--listen-client-urls={etcd}"),
                &format!("--advertise-client-urls={etcd}"),
                &format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
            ],
        );
        fs::write(
            data.join("tokens.csv"),
            "admintoken,trainyard-admin,1,system:masters\n",
        )
        .unwrap();
        let key = data.join("sa.key");
        crate::run(Command::new("openssl").args(["genrsa", "-out"]).arg(&key), "").success();
        real.spawn(
            home,
            "kube-apiserver",
            &[
                &format!("--etcd-servers={etcd}"),
                &format!("--secure-port={port}"),
                "--bind-address=127.0.0.1",
                &format!("--cert-dir={}", data.join("certs").display()),
                &format!("--token-auth-file={}", data.join("tokens.csv").display()),
                "--authorization-mode=Node,RBAC",
                "--service-account-issuer=https://kubernetes.default.svc",
                &format!("--service-account-key-file={}", key.display()),
                &format!("--service-account-signing-key-file={}", key.display()),
                "--service-cluster-ip-range=10.96.0.0/16",
                "--allow-privileged",
            ],
        );
        let address = format!("https://127.0.0.1:{port}");
        real.wait_until_ready(&address, port);
        let kubeconfig = data.join("kubeconfig");
        fs::write(
            &kubeconfig,
            kubeconfig_text(&address, &data.join("certs/apiserver.crt")),
        )
        .unwrap();
        real.spawn(
            home,
            "kube-controller-manager",
            &[
                &format!("--kubeconfig={}", kubeconfig.display()),
                &format!("--controllers={}", CONTROLLERS.join(",")),
                &format!("--root-ca-file={}", data.join("certs/apiserver.crt").display()),
                &format!("--service-account-private-key-file={}", key.display()),
                "--use-service-account-credentials=false",
                "--leader-elect=false",
                &format!("--secure-port={}", free_port()),
                &format!("--cert-dir={}", data.join("manager").display()),
            ],
        );
        real.wait_for("the default namespace", || {
            ["serviceaccounts/default", "configmaps/kube-root-ca.crt"]
                .iter()
                .all(|object| {
                    let path = format!("/api/v1/namespaces/default/{object}");
                    http::get(&address, &path, Some("admintoken")).status == 200
                })
        });
        real
    }

    pub(crate) fn pid(&self) -> u32 {
        self.processes[1].id()
    }

    fn spawn(&mut self, home: &Path, name: &str, arguments: &[&str]) {
        let program = real_kubernetes(name).expect("the real control plane can be had");
        let log = || {
            File::options()
                .append(true)
                .create(true)
                .open(home.join("server.log"))
                .unwrap()
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log());
        self.processes
            .push(command.spawn().expect("a real component can be started"));
    }

    fn wait_until_ready(&mut self, address: &str, port: u16) {
        self.wait_for("kube-apiserver", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
                && http::get(address, "/readyz", Some("admintoken")).status == 200
        });
    }

    /// The real components announce nothing, so they are asked until they answer.
    fn wait_for(&mut self, what: &str, is_ready: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_mins(2);
        while !is_ready() {
            let ended = self
                .processes
                .iter_mut()
                .any(|process| matches!(process.try_wait(), Ok(Some(_))));
            assert!(!ended && Instant::now() < deadline, "{what} does not get ready");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .expect("there are free ports")
        .port()
}

fn kubeconfig_text(address: &str, authority: &Path) -> String {
    format!(
        "apiVersion: v1
kind: Config
current-context: trainyard
clusters:
- name: trainyard
  cluster:
    server: {address}
    certificate-authority: {authority}
users:
- name: trainyard-admin
  user:
    token: admintoken
contexts:
- name: trainyard
  context:
    cluster: trainyard
    user: trainyard-admin
    namespace: default
",
        authority = authority.display(),
    )
}
