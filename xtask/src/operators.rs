//! The training operators, ours and the originals, and what each needs on a cluster before it works.

use std::{
    fs,
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
        let cluster = || -> Result<Cluster<'_>> {
            let kubectl = Kubectl::new(kubeconfig.to_owned())?;
            Ok(Cluster { kubeconfig, kubectl })
        };
        match self {
            Self::Ours => start_ours(binaries, kubeconfig, logs),
            Self::Training(limits) => cluster()?.start_training_operator(limits, logs),
            Self::Mpi(limits) => cluster()?.start_mpi_operator(limits, logs),
        }
    }
}

fn start_ours(binaries: &Path, kubeconfig: &Path, logs: &Path) -> Result<Running> {
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
        .arg(kubeconfig);
    Ok(Running {
        process: Background::start("operator", &mut command, logs)?,
        metrics: Some(metrics),
    })
}

/// Where the originals run.
struct Cluster<'a> {
    kubeconfig: &'a Path,
    kubectl: Kubectl,
}

impl Cluster<'_> {
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
        Ok(Running {
            process: Background::start("mpi-operator", &mut command, logs)?,
            metrics: None,
        })
    }

    /// The operator writes its certificate into the Secret; a kubelet would bring it to the pod. The key goes
    /// first: the certificate is what is waited for.
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
        fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        for (name, content) in ["tls.key", "tls.crt"].into_iter().zip(files) {
            fs::write(folder.join(name), content)?;
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
