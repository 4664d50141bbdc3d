//! kwok: keeps nodes that are only objects ready, and pretends to run their pods.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::real_kubernetes::{self, Component};

const MODULE: &str = "sigs.k8s.io/kwok";
const VERSION: &str = "v0.8.0";
/// Those of its stages that make nodes ready at once, pods run at once, and what is deleted go at once. Pods of
/// Jobs would succeed at once; here nothing ends by itself.
const STAGES: [&str; 4] = [
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-delete.yaml",
];

/// The program, to look after all nodes of a cluster.
pub(crate) fn kwok(kubeconfig: &Path) -> Result<Command> {
    let stages = real_kubernetes::module_dir(MODULE, VERSION)?.join("kustomize/stage");
    let mut command = Command::new(real_kubernetes::ensure(Component::Kwok)?);
    command
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--manage-all-nodes", "--node-lease-duration-seconds=40"]);
    for stage in STAGES {
        command.arg("--config").arg(stages.join(stage));
    }
    Ok(command)
}
