//! The operators, and what each needs on a cluster before it works.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

use super::scrape;
use crate::{
    processes::{Background, wait_until},
    real_kubernetes::{self, Component},
    servers::free_ports,
};

const PATIENCE: Duration = Duration::from_mins(2);
/// Where the webhook server of training-operator looks for its certificate; nothing changes that.
const CERTIFICATES: &str = "/tmp/k8s-webhook-server/serving-certs";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Contender {
    Ours,
    /// 1.9.4.
    TrainingOperator {
        is_raised: bool,
    },
    /// 0.8.2.
    MpiOperator {
        is_raised: bool,
    },
}

/// An operator that runs.
pub(super) struct Running {
    process: Background,
    metrics: Option<u16>,
}

impl Running {
    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(super) fn check_alive(&mut self) -> Result<()> {
        self.process.check_alive()
    }

    pub(super) fn stop(self) -> Result<()> {
        self.process.stop()
    }

    /// In milliseconds, where it is told.
    pub(super) fn reconcile_p99(&self) -> Option<f64> {
        scrape::quantile(&scrape::get(self.metrics?).ok()?, 0.99).map(|seconds| seconds * 1e3)
    }
}

impl Contender {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::TrainingOperator { is_raised: true } => "training-operator, limits raised",
            Self::TrainingOperator { is_raised: false } => "training-operator, as shipped",
            Self::MpiOperator { is_raised: true } => "mpi-operator, limits raised",
            Self::MpiOperator { is_raised: false } => "mpi-operator, as shipped",
        }
    }

    pub(super) fn start(self, binaries: &Path, kubeconfig: &Path, logs: &Path) -> Result<Running> {
        let cluster = Cluster { kubeconfig };
        match self {
            Self::Ours => start_ours(binaries, kubeconfig, logs),
            Self::TrainingOperator { is_raised } => cluster.start_training_operator(is_raised, logs),
            Self::MpiOperator { is_raised } => cluster.start_mpi_operator(is_raised, logs),
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

struct Cluster<'a> {
    kubeconfig: &'a Path,
}

impl Cluster<'_> {
    fn start_training_operator(&self, is_raised: bool, logs: &Path) -> Result<Running> {
        let source = real_kubernetes::source_dir(Component::TrainingOperator)?;
        self.install(&source.join("manifests/base/crds"))?;
        // It does nothing before its webhook has a certificate, also where no webhook is registered.
        self.apply(
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
        if is_raised {
            command.args([
                "--kube-api-qps=10000",
                "--kube-api-burst=10000",
                "--controller-threads=16",
            ]);
        }
        let process = Background::start("training-operator", &mut command, logs)?;
        self.bring_certificate()?;
        let metrics = Some(metrics);
        Ok(Running { process, metrics })
    }

    fn start_mpi_operator(&self, is_raised: bool, logs: &Path) -> Result<Running> {
        let source = real_kubernetes::source_dir(Component::MpiOperator)?;
        self.install(&source.join("manifests/base/kubeflow.org_mpijobs.yaml"))?;
        self.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: mpi-operator}\n")?;
        let mut command = Command::new(real_kubernetes::ensure(Component::MpiOperator)?);
        command.arg("--kubeConfig").arg(self.kubeconfig);
        if is_raised {
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

    /// The operator writes its certificate into the Secret; a kubelet would bring it to the pod.
    fn bring_certificate(&self) -> Result<()> {
        fs::create_dir_all(CERTIFICATES).with_context(|| format!("cannot create `{CERTIFICATES}`"))?;
        for file in ["tls.crt", "tls.key"] {
            let path = format!("jsonpath={{.data.{}}}", file.replace('.', "\\."));
            let secret = [
                "get",
                "secret",
                "training-operator-webhook-cert",
                "-n",
                "kubeflow",
                "-o",
                &path,
            ];
            wait_until("the certificate of training-operator", PATIENCE, || {
                let text = self.kubectl(&secret)?.output()?;
                let decoded = decode(&String::from_utf8_lossy(&text.stdout))?;
                let is_there = !decoded.is_empty();
                if is_there {
                    fs::write(PathBuf::from(CERTIFICATES).join(file), decoded)?;
                }
                Ok(is_there)
            })?;
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
            self.run(&["apply", "--server-side", "-f", &file])?;
        }
        self.run(&[
            "wait",
            "--for=condition=established",
            "crd",
            "--all",
            "--timeout=60s",
        ])
    }

    fn apply(&self, text: &str) -> Result<()> {
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), text)?;
        self.run(&["apply", "-f", &file.path().to_string_lossy()])
    }

    fn run(&self, arguments: &[&str]) -> Result<()> {
        let output = self.kubectl(arguments)?.stdin(Stdio::null()).output()?;
        if !output.status.success() {
            bail!(
                "kubectl {}: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(())
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(real_kubernetes::ensure(Component::Kubectl)?);
        command.arg("--kubeconfig").arg(self.kubeconfig).args(arguments);
        Ok(command)
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
