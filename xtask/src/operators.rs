//! The training operators, ours and the originals, and what each needs on a cluster before it works.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result};

use crate::{
    processes::{Background, wait_until},
    real_kubernetes::{self, Component},
    servers::{Kubectl, free_ports},
};

const PATIENCE: Duration = Duration::from_mins(2);
/// So much of a log is shown when an operator does not work.
const LAST_LINES: usize = 5;
/// Where the webhook server of training-operator looks for its certificate, below the folder for temporary files.
const CERTIFICATES: &str = "k8s-webhook-server/serving-certs";
/// Where its rotator looks whether there is one, whatever the folder for temporary files is.
const FIXED_CERTIFICATES: &str = "/tmp/k8s-webhook-server/serving-certs";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Ours,
    /// 1.9.4.
    Training(Limits),
    /// 0.8.2.
    Mpi(Limits),
}

/// How much an original asks of the server at most.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    AsShipped,
    Raised,
}

/// Who places the pods of a job together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gangs {
    Nobody,
    Volcano,
    /// The coscheduling plugin of scheduler-plugins.
    Plugins,
}

impl Gangs {
    /// The scheduler's name, as operators are told it.
    pub(crate) fn scheduler(self) -> Option<&'static str> {
        match self {
            Self::Nobody => None,
            Self::Volcano => Some("volcano"),
            Self::Plugins => Some("coscheduler"),
        }
    }

    /// Group and version of its PodGroups.
    fn api(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Nobody => None,
            Self::Volcano => Some(("scheduling.volcano.sh", "v1beta1")),
            Self::Plugins => Some(("scheduling.x-k8s.io", "v1alpha1")),
        }
    }

    /// Its PodGroups, as kubectl is asked for them.
    pub(crate) fn groups(self) -> Option<String> {
        self.api().map(|(group, _)| format!("podgroups.{group}"))
    }

    /// The definition of its PodGroups, which takes whatever is written.
    fn definition(self) -> Option<String> {
        let (group, version) = self.api()?;
        let schema = "openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}";
        Some(format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
             metadata: {{name: podgroups.{group}, annotations: {{api-approved.kubernetes.io: unapproved}}}}\n\
             spec:\n  group: {group}\n  scope: Namespaced\n\
             \x20 names: {{kind: PodGroup, plural: podgroups, singular: podgroup}}\n\
             \x20 versions: [{{name: {version}, served: true, storage: true, schema: {{{schema}}}}}]\n"
        ))
    }
}

/// An operator that runs.
pub(crate) struct Running {
    process: Background,
    /// The port of its metrics, where it has one.
    pub(crate) metrics: Option<u16>,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn check_alive(&mut self) -> Result<()> {
        self.process.check_alive()
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.process.stop()
    }

    /// The end of its log.
    pub(crate) fn last_words(&self, logs: &Path) -> String {
        let log = fs::read_to_string(self.process.log(logs)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Operator {
    /// Starts it with the definitions of its kinds. Ours is taken from the folder of binaries.
    pub(crate) fn start(self, binaries: &Path, kubeconfig: &Path, logs: &Path) -> Result<Running> {
        self.start_with(Gangs::Nobody, binaries, kubeconfig, logs)
    }

    /// The same on a cluster with such a scheduler, of which only the definition is there.
    pub(crate) fn start_with(
        self,
        gangs: Gangs,
        binaries: &Path,
        kubeconfig: &Path,
        logs: &Path,
    ) -> Result<Running> {
        let cluster = Cluster {
            gangs,
            kubeconfig,
            kubectl: Kubectl::new(kubeconfig.to_owned())?,
        };
        if let Some(definition) = gangs.definition() {
            cluster.kubectl.apply(&definition)?;
            cluster.until_served()?;
        }
        match self {
            Self::Ours => cluster.start_ours(binaries, logs),
            Self::Training(limits) => cluster.start_training_operator(limits, logs),
            Self::Mpi(limits) => cluster.start_mpi_operator(limits, logs),
        }
    }
}

/// Where they run.
struct Cluster<'a> {
    gangs: Gangs,
    kubeconfig: &'a Path,
    kubectl: Kubectl,
}

impl Cluster<'_> {
    fn start_ours(&self, binaries: &Path, logs: &Path) -> Result<Running> {
        let [metrics] = free_ports()?;
        let mut command = Command::new(binaries.join("trainyard"));
        command
            .args([
                "operator",
                "--install-definitions",
                "--health-probe-bind-address=0",
            ])
            .arg(format!("--metrics-bind-address=127.0.0.1:{metrics}"))
            .arg("--kubeconfig")
            .arg(self.kubeconfig);
        if let Some(scheduler) = self.gangs.scheduler() {
            command.arg(format!("--gang-scheduler-name={scheduler}"));
        }
        Ok(Running {
            process: Background::start("operator", &mut command, logs)?,
            metrics: Some(metrics),
        })
    }

    fn start_training_operator(&self, limits: Limits, logs: &Path) -> Result<Running> {
        let source = real_kubernetes::source_dir(Component::TrainingOperator)?;
        self.install(&source.join("manifests/base/crds"))?;
        // It does nothing before its webhook has a certificate, also where no webhook is registered.
        self.kubectl.apply(
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: kubeflow}\n---\n\
             apiVersion: v1\nkind: Secret\nmetadata: {name: training-operator-webhook-cert, namespace: kubeflow}\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: validator.training-operator.kubeflow.org}\n",
        )?;
        let [metrics, health, webhook] = free_ports()?;
        let mut command = Command::new(real_kubernetes::ensure(Component::TrainingOperator)?);
        command
            .arg("--kubeconfig")
            .arg(self.kubeconfig)
            .arg(format!("--metrics-bind-address=127.0.0.1:{metrics}"))
            .arg(format!("--health-probe-bind-address=127.0.0.1:{health}"))
            .arg(format!("--webhook-server-port={webhook}"));
        if limits == Limits::Raised {
            command.args([
                "--kube-api-qps=10000",
                "--kube-api-burst=10000",
                "--controller-threads=16",
            ]);
        }
        if let Some(scheduler) = self.gangs.scheduler() {
            command.arg(format!("--gang-scheduler-name={scheduler}"));
        }
        // One of before would be taken for its own, which it would not find.
        let fixed = Path::new(FIXED_CERTIFICATES).join("tls.crt");
        match fs::remove_file(&fixed) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove `{}`", fixed.display()));
            }
            _ => {}
        }
        // In the place that all share, another's certificate would be taken for its own.
        command.env("TMPDIR", logs);
        let process = Background::start("training-operator", &mut command, logs)?;
        self.bring_certificate(&logs.join(CERTIFICATES))?;
        let metrics = Some(metrics);
        Ok(Running { process, metrics })
    }

    fn start_mpi_operator(&self, limits: Limits, logs: &Path) -> Result<Running> {
        let source = real_kubernetes::source_dir(Component::MpiOperator)?;
        self.install(&source.join("manifests/base/kubeflow.org_mpijobs.yaml"))?;
        self.kubectl
            .apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: mpi-operator}\n")?;
        let mut command = Command::new(real_kubernetes::ensure(Component::MpiOperator)?);
        command.arg("--kubeConfig").arg(self.kubeconfig);
        if limits == Limits::Raised {
            command.args([
                "--kube-api-qps=10000",
                "--kube-api-burst=10000",
                "--threadiness=16",
            ]);
            command.args([
                "--controller-queue-rate-limit=10000",
                "--controller-queue-burst=10000",
            ]);
        }
        if let Some(scheduler) = self.gangs.scheduler() {
            command.arg(format!("--gang-scheduling={scheduler}"));
        }
        Ok(Running {
            process: Background::start("mpi-operator", &mut command, logs)?,
            metrics: None,
        })
    }

    /// The operator writes its certificate into the Secret; a kubelet would bring it to the pod. The key goes
    /// first: the certificate is what is waited for. Last comes the one that only has to be there.
    fn bring_certificate(&self, folder: &Path) -> Result<()> {
        let path = "jsonpath={.data.tls\\.key} {.data.tls\\.crt}";
        let name = "training-operator-webhook-cert";
        let mut files = Vec::new();
        wait_until("the certificate of training-operator", PATIENCE, || {
            let text = self
                .kubectl
                .run(&["get", "secret", name, "-n", "kubeflow", "-o", path])?;
            files = text.split_whitespace().map(decode).collect::<Result<_>>()?;
            Ok(files.len() == 2)
        })?;
        let fixed = Path::new(FIXED_CERTIFICATES);
        let places = [
            (folder, "tls.key", 0),
            (folder, "tls.crt", 1),
            (fixed, "tls.crt", 1),
        ];
        for (folder, name, content) in places {
            fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
            let file = folder.join(name);
            fs::write(&file, &files[content])
                .with_context(|| format!("cannot write `{}`", file.display()))?;
        }
        Ok(())
    }

    fn install(&self, definitions: &Path) -> Result<()> {
        let files: Vec<PathBuf> = if definitions.is_dir() {
            let entries = fs::read_dir(definitions)?.collect::<Result<Vec<_>, _>>()?;
            entries.into_iter().map(|entry| entry.path()).collect()
        } else {
            vec![definitions.to_owned()]
        };
        for file in files.iter().filter(|file| !file.ends_with("kustomization.yaml")) {
            let file = file.to_string_lossy();
            self.kubectl.run(&["apply", "--server-side", "-f", &file])?;
        }
        self.until_served()
    }

    fn until_served(&self) -> Result<()> {
        let wait = [
            "wait",
            "--for=condition=established",
            "crd",
            "--all",
            "--timeout=5s",
        ];
        // kubectl gives up where a definition has no conditions yet.
        wait_until("the definitions are served", PATIENCE, || {
            Ok(self.kubectl.run(&wait).is_ok())
        })
    }
}

/// Base64, as Secrets have it.
fn decode(text: &str) -> Result<Vec<u8>> {
    let mut child = Command::new("base64")
        .arg("-d")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start base64")?;
    if let Some(mut stdin) = child.stdin.take() {
        std::io::Write::write_all(&mut stdin, text.as_bytes())?;
    }
    Ok(child.wait_with_output()?.stdout)
}
