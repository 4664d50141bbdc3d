//! A real control plane on free ports: etcd, the API server, and of the controllers those that the
//! embedded server has itself.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result};

use super::{Kubectl, Server, free_ports, kwok, start_and_wait};
use crate::{
    processes::Background,
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

const TOKEN: &str = "real-admin-token";
/// A busy machine takes its time.
const PATIENCE: Duration = Duration::from_mins(5);

pub(super) fn is_built() -> Result<bool> {
    for component in COMPONENTS {
        if real_kubernetes::find(component)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether what is acknowledged survives a power failure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// As in production.
    Synced,
    /// Faster, for checks of what is answered.
    Unsynced,
}

pub(crate) struct Real {
    work: PathBuf,
    durability: Durability,
    /// Where etcd listens for the API server.
    storage: String,
    peers: u16,
    port: u16,
}

impl Real {
    /// Chooses ports and writes credentials.
    pub(crate) fn prepare(durability: Durability, work: &Path) -> Result<Self> {
        let [clients, peers, port] = free_ports()?;
        let real = Self {
            work: work.to_owned(),
            durability,
            storage: format!("http://127.0.0.1:{clients}"),
            peers,
            port,
        };
        write_credentials(work, &real.url(), &real.authority())?;
        Ok(real)
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.work.join("kubeconfig")
    }

    /// The API server, ready: controllers give up when it does not answer for ten seconds.
    fn start_until_ready(&self) -> Result<Vec<Background>> {
        let parts = start_and_wait(self, PATIENCE)?;
        Kubectl::new(self.kubeconfig())?.until_ready()?;
        Ok(parts)
    }

    /// Starts the API server and its controllers.
    pub(crate) fn start_with_controllers(&self) -> Result<Vec<Background>> {
        let mut parts = self.start_until_ready()?;
        parts.insert(0, self.start_controllers(&CONTROLLERS.join(","))?);
        Ok(parts)
    }

    /// Starts the API server and its controllers with that of batch Jobs, whose pods nobody runs.
    pub(crate) fn start_with_jobs(&self) -> Result<Vec<Background>> {
        let mut parts = self.start_until_ready()?;
        let controllers = [&CONTROLLERS[..], &["job-controller"]].concat();
        parts.insert(0, self.start_controllers(&controllers.join(","))?);
        Ok(parts)
    }

    /// Starts a whole control plane: every controller, and the scheduler with its limits raised.
    pub(crate) fn start_with_scheduler(&self) -> Result<Vec<Background>> {
        let mut parts = self.start_until_ready()?;
        parts.insert(0, self.start_controllers("*")?);
        parts.insert(0, self.start_scheduler()?);
        Ok(parts)
    }

    /// Starts a whole control plane with so many nodes that are only objects. No pod on them ends by itself.
    pub(crate) fn start_with_nodes(&self, count: usize) -> Result<Vec<Background>> {
        let mut parts = self.start_with_scheduler()?;
        parts.insert(0, self.start_kwok()?);
        let nodes: String = (0..count).map(node).collect();
        Kubectl::new(self.kubeconfig())?.apply(&nodes)?;
        Ok(parts)
    }

    /// Nodes that are only objects get somebody who looks after them.
    pub(crate) fn start_kwok(&self) -> Result<Background> {
        let mut command = kwok(&self.work.join("kubeconfig"))?;
        Background::start("kwok", &mut command, &self.work)
    }

    fn start_scheduler(&self) -> Result<Background> {
        let mut command = Command::new(real_kubernetes::ensure(Component::KubeScheduler)?);
        command
            .arg("--kubeconfig")
            .arg(self.work.join("kubeconfig"))
            .args([
                "--leader-elect=false",
                "--secure-port=0",
                "--kube-api-qps=10000",
                "--kube-api-burst=10000",
            ]);
        Background::start("kube-scheduler", &mut command, &self.work)
    }

    fn start_controllers(&self, which: &str) -> Result<Background> {
        let mut command = Command::new(real_kubernetes::ensure(Component::KubeControllerManager)?);
        command
            .arg("--kubeconfig")
            .arg(self.work.join("kubeconfig"))
            .arg(format!("--controllers={which}"))
            .arg("--service-account-private-key-file")
            .arg(self.work.join("accounts.key"))
            .arg("--root-ca-file")
            .arg(self.authority())
            .args([
                "--leader-elect=false",
                "--secure-port=0",
                "--kube-api-qps=500",
                "--kube-api-burst=500",
            ]);
        Background::start("kube-controller-manager", &mut command, &self.work)
    }

    fn start_etcd(&self) -> Result<Background> {
        let mut command = Command::new(real_kubernetes::ensure(Component::Etcd)?);
        command
            .arg("--data-dir")
            .arg(self.work.join("etcd"))
            .args(["--listen-client-urls", &self.storage])
            .args(["--advertise-client-urls", &self.storage])
            .arg(format!("--listen-peer-urls=http://127.0.0.1:{}", self.peers));
        if self.durability == Durability::Unsynced {
            command.arg("--unsafe-no-fsync");
        }
        Background::start("etcd", &mut command, &self.work)
    }

    fn start_api_server(&self) -> Result<Background> {
        let mut command = Command::new(real_kubernetes::ensure(Component::KubeApiserver)?);
        command
            .args(["--etcd-servers", &self.storage])
            .args(["--bind-address=127.0.0.1", "--authorization-mode=RBAC"])
            .args(["--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged"])
            .arg("--service-account-issuer=https://kubernetes.default.svc.cluster.local")
            .arg(format!("--secure-port={}", self.port))
            .arg("--cert-dir")
            .arg(self.work.join("certificates"))
            .arg("--token-auth-file")
            .arg(self.work.join("tokens.csv"))
            .arg("--service-account-key-file")
            .arg(self.work.join("accounts.pub"))
            .arg("--service-account-signing-key-file")
            .arg(self.work.join("accounts.key"));
        Background::start("kube-apiserver", &mut command, &self.work)
    }
}

impl Server for Real {
    fn name(&self) -> &'static str {
        "real"
    }

    fn start(&self) -> Result<Vec<Background>> {
        let etcd = self.start_etcd()?;
        Ok(vec![self.start_api_server()?, etcd])
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    fn authority(&self) -> PathBuf {
        self.work.join("certificates/apiserver.crt")
    }

    fn token(&self) -> Result<String> {
        Ok(TOKEN.to_owned())
    }
}

/// A node as ours are simulated: large, and labelled as what it is.
fn node(number: usize) -> String {
    format!(
        "---
apiVersion: v1
kind: Node
metadata:
  name: node-{number}
  labels: {{trainyard.dev/simulated: \"true\", kubernetes.io/hostname: node-{number}, kubernetes.io/os: linux}}
status:
  capacity: {{cpu: 32, memory: 256Gi, pods: 110, ephemeral-storage: 1Ti}}
  allocatable: {{cpu: 32, memory: 256Gi, pods: 110, ephemeral-storage: 1Ti}}
"
    )
}

fn write_credentials(work: &Path, url: &str, authority: &Path) -> Result<()> {
    let key = rcgen::KeyPair::generate().context("cannot make a key")?;
    fs::write(work.join("accounts.key"), key.serialize_pem())?;
    fs::write(work.join("accounts.pub"), key.public_key_pem())?;
    fs::write(
        work.join("tokens.csv"),
        format!("{TOKEN},trainyard-admin,1,system:masters\n"),
    )?;
    // Written like ours, so that the same sessions run against both.
    let kubeconfig = format!(
        "apiVersion: v1
kind: Config
current-context: trainyard
clusters:
- name: trainyard
  cluster:
    server: {url}
    certificate-authority: {authority}
users:
- name: trainyard-admin
  user:
    token: {TOKEN}
contexts:
- name: trainyard
  context:
    cluster: trainyard
    user: trainyard-admin
    namespace: default
",
        authority = authority.display(),
    );
    fs::write(work.join("kubeconfig"), kubeconfig)?;
    Ok(())
}
