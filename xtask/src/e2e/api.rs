//! The API group: upstream's own controller manager and scheduler work against our API server, and kwok
//! plays the nodes, as no pod has to really run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::Result;

use crate::{
    processes::{Background, wait_until},
    real_kubernetes::{self, Component},
    run,
    servers::{self, Ours, Profile, start_and_wait},
};

/// Controllers that the API server has itself.
const OWN_CONTROLLERS: [&str; 10] = [
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
    "resourcequota-controller",
    "serviceaccount-token-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "volumeattributesclass-protection-controller",
];

pub(super) struct Cluster {
    work: PathBuf,
    pub(super) kubeconfig: PathBuf,
    parts: Vec<Background>,
}

impl Cluster {
    pub(super) fn start(work: &Path) -> Result<Self> {
        let binaries = servers::build(Profile::Debug, &[])?;
        let ours = Ours::prepare(&binaries, work)?;
        let kubeconfig = ours.kubeconfig();
        let mut cluster = Self {
            work: work.to_owned(),
            kubeconfig: kubeconfig.clone(),
            parts: start_and_wait(&ours, Duration::from_secs(20))?,
        };
        wait_until("the kubeconfig", Duration::from_secs(20), || {
            Ok(kubeconfig.exists())
        })?;
        let disabled = OWN_CONTROLLERS.map(|name| format!("-{name}")).join(",");
        let component =
            |component| -> Result<Command> { Ok(Command::new(real_kubernetes::ensure(component)?)) };
        cluster.add(
            "kube-controller-manager",
            component(Component::KubeControllerManager)?
                .arg("--kubeconfig")
                .arg(&kubeconfig)
                .args([
                    "--leader-elect=false",
                    "--secure-port=0",
                    "--use-service-account-credentials=false",
                ])
                .arg(format!("--controllers=*,{disabled}")),
        )?;
        cluster.add(
            "kube-scheduler",
            component(Component::KubeScheduler)?
                .arg("--kubeconfig")
                .arg(&kubeconfig)
                .args(["--leader-elect=false", "--secure-port=0"]),
        )?;
        cluster.add_nodes()?;
        Ok(cluster)
    }

    fn add(&mut self, name: &str, command: &mut Command) -> Result<()> {
        self.parts.push(Background::start(name, command, &self.work)?);
        Ok(())
    }

    /// Nodes that kwok keeps ready and on which it pretends to run pods.
    fn add_nodes(&mut self) -> Result<()> {
        let mut nodes = String::new();
        for number in 0..3 {
            nodes.push_str(&format!(
                "apiVersion: v1\nkind: Node\nmetadata:\n  name: node-{number}\n  annotations: {{kwok.x-k8s.io/node: fake}}\n  labels: {{kubernetes.io/hostname: node-{number}, kubernetes.io/os: linux, kubernetes.io/arch: amd64, type: kwok}}\nstatus:\n  allocatable: {{cpu: '32', memory: 256Gi, pods: '110'}}\n  capacity: {{cpu: '32', memory: 256Gi, pods: '110'}}\n---\n"
            ));
        }
        let file = self.work.join("nodes.yaml");
        fs::write(&file, nodes)?;
        self.kubectl(&["apply", "-f", &file.to_string_lossy()])?;
        let mut kwok = servers::kwok(&self.kubeconfig)?;
        self.add("kwok", &mut kwok)?;
        self.kubectl(&["wait", "--for=condition=Ready", "node", "--all", "--timeout=60s"])
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<()> {
        let kubectl = real_kubernetes::ensure(Component::Kubectl)?;
        run::check(
            Command::new(kubectl)
                .arg("--kubeconfig")
                .arg(&self.kubeconfig)
                .args(arguments),
        )
    }

    /// The suite may pass although a part of the cluster died; that is a failure too.
    pub(super) fn check(&mut self) -> Result<()> {
        self.parts.iter_mut().try_for_each(Background::check_alive)
    }
}
