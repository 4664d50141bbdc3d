//! What to do about what keeps an operator from starting.

use operator::{ConnectError, ProcessError};

use crate::Advised;

pub(crate) fn connection(error: ConnectError) -> anyhow::Error {
    let hint = match &error {
        ConnectError::Nowhere => {
            "name one with `--kubeconfig FILE`, or start one with `trainyard up --detach`"
        }
        ConnectError::Kubeconfig { .. } => "`kubectl config view` shows what a kubeconfig says",
        ConnectError::ServiceAccount(_) => "the pod must mount the token of its service account",
        ConnectError::Client { .. } => "see the address and the certificates of the kubeconfig",
        ConnectError::Unreachable { .. } | ConnectError::Silent { .. } => {
            "see whether the cluster runs: `kubectl cluster-info`"
        }
        ConnectError::Unauthorized { .. } => "see the user of the kubeconfig's context",
    };
    advised(error, hint)
}

pub(crate) fn process(error: ProcessError) -> anyhow::Error {
    let hint = match &error {
        ProcessError::Listen(_) => {
            "choose another address with `--metrics-bind-address ADDRESS:PORT` (metrics) or `--health-probe-bind-address ADDRESS:PORT` (health); `0` serves none"
        }
        ProcessError::Cluster { .. } => {
            "see whether the cluster is well: `kubectl get --raw /readyz?verbose`"
        }
        ProcessError::NoKinds { .. } => {
            "`--install-definitions` installs them, or `trainyard operator --print-manifests | kubectl apply --server-side -f -`"
        }
        ProcessError::NoPodGroups { .. } => {
            "install that scheduler's definitions, or choose another with `--gang-scheduler-name`"
        }
        ProcessError::Forbidden { .. } => {
            "`trainyard operator --print-manifests` has the ClusterRole trainyard-operator, which allows it; bind it to this account"
        }
    };
    advised(error, hint)
}

fn advised<E: std::error::Error + Send + Sync + 'static>(error: E, hint: &str) -> anyhow::Error {
    let message = error.to_string();
    let hint = hint.to_owned();
    anyhow::Error::from(error).context(Advised { message, hint })
}
