//! The operators, and what each needs on a cluster before it works.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result};

use super::{Name, scrape};
use crate::{
    processes::{Background, wait_until},
    real_kubernetes::{self, Component},
    servers::{Kubectl, free_ports},
};

const PATIENCE: Duration = Duration::from_mins(2);
/// So much of a log is shown when an operator does not work.
const LAST_LINES: usize = 5;
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
    /// Nobody: the client makes the pods itself.
    Client,
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

    /// The end of its log.
    pub(super) fn last_words(&self, logs: &Path) -> String {
        let log = fs::read_to_string(self.process.log(logs)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }

    /// In milliseconds, where it is told.
    pub(super) fn reconcile_p99(&self) -> Option<f64> {
        scrape::quantile(&scrape::get(self.metrics?).ok()?, 0.99).map(|seconds| seconds * 1e3)
    }
}

impl Contender {
    pub(super) fn operator(self) -> Name {
        match self {
            Self::Ours => Name::Ours,
            Self::TrainingOperator { .. } => Name::TrainingOperator,
            Self::MpiOperator { .. } => Name::MpiOperator,
            Self::Client => Name::Client,
        }
    }

    /// Whether it keeps to a few requests a second, as the originals do unless told otherwise.
    pub(super) fn is_throttled(self) -> bool {
        matches!(
            self,
            Self::TrainingOperator { is_raised: false } | Self::MpiOperator { is_raised: false }
        )
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::TrainingOperator { is_raised: true } => "training-operator, limits raised",
            Self::TrainingOperator { is_raised: false } => "training-operator, as shipped",
            Self::MpiOperator { is_raised: true } => "mpi-operator, limits raised",
            Self::MpiOperator { is_raised: false } => "mpi-operator, as shipped",
            Self::Client => "a client alone",
        }
    }

    pub(super) fn start(self, binaries: &Path, kubeconfig: &Path, logs: &Path) -> Result<Running> {
        let cluster = || -> Result<Cluster<'_>> {
            let kubectl = Kubectl::new(kubeconfig.to_owned())?;
            Ok(Cluster { kubeconfig, kubectl })
        };
        match self {
            Self::Ours | Self::Client => start_ours(binaries, kubeconfig, logs),
            Self::TrainingOperator { is_raised } => cluster()?.start_training_operator(is_raised, logs),
            Self::MpiOperator { is_raised } => cluster()?.start_mpi_operator(is_raised, logs),
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
    fn start_training_operator(&self, is_raised: bool, logs: &Path) -> Result<Running> {
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
        if is_raised {
            command.args([
                "--kube-api-qps=10000",
                "--kube-api-burst=10000",
                "--controller-threads=16",
            ]);
        }
        // Another's certificate would be taken for its own.
        let _ = fs::remove_dir_all(CERTIFICATES);
        let process = Background::start("training-operator", &mut command, logs)?;
        self.bring_certificate()?;
        let metrics = Some(metrics);
        Ok(Running { process, metrics })
    }

    fn start_mpi_operator(&self, is_raised: bool, logs: &Path) -> Result<Running> {
        let source = real_kubernetes::source_dir(Component::MpiOperator)?;
        self.install(&source.join("manifests/base/kubeflow.org_mpijobs.yaml"))?;
        self.kubectl
            .apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: mpi-operator}\n")?;
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

    /// The operator writes its certificate into the Secret; a kubelet would bring it to the pod. The key goes
    /// first: the certificate is what is waited for.
    fn bring_certificate(&self) -> Result<()> {
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
        fs::create_dir_all(CERTIFICATES).with_context(|| format!("cannot create `{CERTIFICATES}`"))?;
        for (name, content) in ["tls.key", "tls.crt"].into_iter().zip(files) {
            fs::write(Path::new(CERTIFICATES).join(name), content)?;
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
