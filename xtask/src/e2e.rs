//! Upstream's end-to-end suite against the embedded cluster.
//!
//! The `api` group needs workload controllers and nodes, but no pods that really run: upstream's own
//! controller manager and scheduler work against our API server, and kwok plays the nodes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

use crate::{
    processes::{Background, wait_until},
    real_kubernetes::{self, Component},
    run,
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which group of specs
    #[arg(value_enum)]
    group: Group,

    /// Only specs whose name contains this
    #[arg(long)]
    focus: Option<String>,

    /// Specs that run at the same time
    #[arg(long, default_value_t = 8)]
    procs: usize,

    /// Leave the folder with data and logs behind, and say where it is
    #[arg(long)]
    keep: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Group {
    /// The API itself: discovery, objects, watches, custom resources, admission, quotas, kubectl
    Api,
}

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

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Group::Api = arguments.group;
    let specs = specs(arguments.focus.as_deref())?;
    let folder = tempfile::Builder::new().prefix("trainyard-e2e-").tempdir()?;
    let work = folder.path().to_owned();
    if arguments.keep {
        println!("data and logs: {}", folder.keep().display());
    }
    let mut cluster = Cluster::start(&work)?;
    let passed = cluster.run_specs(&specs, arguments.procs);
    cluster.check()?;
    passed
}

/// The names of the specs of the group.
fn specs(focus: Option<&str>) -> Result<Vec<String>> {
    let path = run::root().join("xtask/e2e/api.txt");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let specs: Vec<String> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter(|line| focus.is_none_or(|focus| line.contains(focus)))
        .map(str::to_owned)
        .collect();
    if specs.is_empty() {
        bail!("no spec has this in its name");
    }
    Ok(specs)
}

struct Cluster {
    work: PathBuf,
    kubeconfig: PathBuf,
    parts: Vec<Background>,
}

impl Cluster {
    fn start(work: &Path) -> Result<Self> {
        let data = work.join("data");
        let kubeconfig = data.join("kubeconfig");
        run::run("cargo", &["build", "--package", "trainyard"])?;
        let mut cluster = Self {
            work: work.to_owned(),
            kubeconfig: kubeconfig.clone(),
            parts: Vec::new(),
        };
        let server = run::root().join("target/debug/trainyard");
        cluster.add(
            "trainyard",
            Command::new(server)
                .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
                .arg(&data),
        )?;
        wait_until("the API server", Duration::from_secs(20), || {
            Ok(data.join("instance.json").exists())
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
        let stages = real_kubernetes::module_dir("sigs.k8s.io/kwok", "v0.8.0")?.join("kustomize/stage");
        let mut kwok = Command::new(real_kubernetes::ensure(Component::Kwok)?);
        kwok.arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--manage-all-nodes", "--node-lease-duration-seconds=40"]);
        for folder in ["node/fast", "node/heartbeat-with-lease", "pod/fast"] {
            for entry in fs::read_dir(stages.join(folder))? {
                let path = entry?.path();
                let name = path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                if path.extension().is_some_and(|extension| extension == "yaml")
                    && name != "kustomization.yaml"
                {
                    kwok.arg("--config").arg(path);
                }
            }
        }
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

    fn run_specs(&mut self, specs: &[String], procs: usize) -> Result<()> {
        let focus: Vec<String> = specs.iter().map(|spec| escape(spec)).collect();
        let report = self.work.join("junit.xml");
        let kubectl = real_kubernetes::ensure(Component::Kubectl)?;
        let mut ginkgo = Command::new(real_kubernetes::ensure(Component::Ginkgo)?);
        ginkgo
            .arg("run")
            .arg(format!("--procs={procs}"))
            .arg(format!("--focus={}", focus.join("|")))
            .arg(format!("--junit-report={}", report.display()))
            .args(["--timeout=40m", "--succinct"])
            .arg(real_kubernetes::ensure(Component::E2eTest)?)
            .arg("--")
            .arg(format!("--kubeconfig={}", self.kubeconfig.display()))
            .arg(format!("--kubectl-path={}", kubectl.display()))
            .args([
                "--provider=skeleton",
                "--allowed-not-ready-nodes=-1",
                "--minStartupPods=0",
            ])
            .current_dir(&self.work);
        run::check(&mut ginkgo)
    }

    /// The suite may pass although a part of the cluster died; that is a failure too.
    fn check(&mut self) -> Result<()> {
        self.parts.iter_mut().try_for_each(Background::check_alive)
    }
}

/// A name as a regular expression that matches just it.
fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len() * 2);
    for c in name.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
