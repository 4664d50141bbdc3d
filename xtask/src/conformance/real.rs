//! A real control plane on free ports: etcd, the API server, and of the controllers those that the
//! embedded server has itself.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result};

use super::Served;
use crate::{
    processes::{Background, wait_until},
    real_kubernetes::{self, Component},
};

const COMPONENTS: [Component; 3] = [
    Component::Etcd,
    Component::KubeApiserver,
    Component::KubeControllerManager,
];

/// What the embedded API server does by itself. Workload controllers stay out: checks write the
/// status of pods and deployments themselves.
const CONTROLLERS: [&str; 11] = [
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "resourcequota-controller",
    "clusterrole-aggregation-controller",
    "validatingadmissionpolicy-status-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "volumeattributesclass-protection-controller",
];

const TOKEN: &str = "conformance-admin";

pub(super) fn is_built() -> Result<bool> {
    for component in COMPONENTS {
        if real_kubernetes::find(component)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn start(work: &Path) -> Result<Served> {
    let [clients, peers, port] = free_ports()?;
    let storage = format!("http://127.0.0.1:{clients}");
    let url = format!("https://127.0.0.1:{port}");
    write_credentials(work, &url)?;
    let etcd = start_etcd(work, &storage, peers)?;
    let mut api_server = start_api_server(work, &storage, port)?;
    // The controllers give up when nobody answers for ten seconds.
    wait_until("the real API server", Duration::from_mins(1), || {
        api_server.check_alive()?;
        Ok(TcpStream::connect(("127.0.0.1", port)).is_ok())
    })?;
    let controllers = start_controllers(work)?;
    Ok(Served {
        argument: format!("real={url},{TOKEN}"),
        parts: vec![controllers, api_server, etcd],
    })
}

/// Ports nobody uses now. All are held until each is known, so that they differ.
fn free_ports() -> Result<[u16; 3]> {
    let listeners = [
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
    ];
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

fn write_credentials(work: &Path, url: &str) -> Result<()> {
    let key = rcgen::KeyPair::generate().context("cannot make a key")?;
    fs::write(work.join("accounts.key"), key.serialize_pem())?;
    fs::write(work.join("accounts.pub"), key.public_key_pem())?;
    fs::write(
        work.join("tokens.csv"),
        format!("{TOKEN},admin,1,system:masters\n"),
    )?;
    let kubeconfig = format!(
        "apiVersion: v1
kind: Config
current-context: real
clusters: [{{name: real, cluster: {{server: '{url}', insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: {TOKEN}}}}}]
contexts: [{{name: real, context: {{cluster: real, user: admin}}}}]
"
    );
    fs::write(work.join("kubeconfig"), kubeconfig)?;
    Ok(())
}

fn start_etcd(work: &Path, clients: &str, peers: u16) -> Result<Background> {
    let mut command = Command::new(real_kubernetes::ensure(Component::Etcd)?);
    command
        .arg("--data-dir")
        .arg(work.join("etcd"))
        .args([
            "--listen-client-urls",
            clients,
            "--advertise-client-urls",
            clients,
        ])
        .arg(format!("--listen-peer-urls=http://127.0.0.1:{peers}"))
        .arg("--unsafe-no-fsync");
    Background::start("etcd", &mut command, work)
}

fn start_api_server(work: &Path, storage: &str, port: u16) -> Result<Background> {
    let mut command = Command::new(real_kubernetes::ensure(Component::KubeApiserver)?);
    command
        .args([
            "--etcd-servers",
            storage,
            "--bind-address=127.0.0.1",
            "--authorization-mode=RBAC",
        ])
        .args(["--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged"])
        .arg("--service-account-issuer=https://kubernetes.default.svc.cluster.local")
        .arg(format!("--secure-port={port}"))
        .arg("--cert-dir")
        .arg(work.join("certificates"))
        .arg("--token-auth-file")
        .arg(work.join("tokens.csv"))
        .arg("--service-account-key-file")
        .arg(work.join("accounts.pub"))
        .arg("--service-account-signing-key-file")
        .arg(work.join("accounts.key"));
    Background::start("kube-apiserver", &mut command, work)
}

fn start_controllers(work: &Path) -> Result<Background> {
    let mut command = Command::new(real_kubernetes::ensure(Component::KubeControllerManager)?);
    command
        .arg("--kubeconfig")
        .arg(work.join("kubeconfig"))
        .arg(format!("--controllers={}", CONTROLLERS.join(",")))
        .arg("--service-account-private-key-file")
        .arg(work.join("accounts.key"))
        .arg("--root-ca-file")
        .arg(work.join("certificates/apiserver.crt"))
        .args([
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=500",
            "--kube-api-burst=500",
        ]);
    Background::start("kube-controller-manager", &mut command, work)
}
