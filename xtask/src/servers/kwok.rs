//! kwok: keeps nodes that are only objects ready, and pretends to run their pods.

use std::{ffi::OsStr, fs, path::Path, process::Command};

use anyhow::Result;

use crate::real_kubernetes::{self, Component};

const MODULE: &str = "sigs.k8s.io/kwok";
const VERSION: &str = "v0.8.0";
/// Those of its stages that make nodes ready at once and pods run at once.
const STAGES: [&str; 3] = ["node/fast", "node/heartbeat-with-lease", "pod/fast"];

/// The program, to look after all nodes of a cluster.
pub(crate) fn kwok(kubeconfig: &Path) -> Result<Command> {
    let stages = real_kubernetes::module_dir(MODULE, VERSION)?.join("kustomize/stage");
    let mut command = Command::new(real_kubernetes::ensure(Component::Kwok)?);
    command
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--manage-all-nodes", "--node-lease-duration-seconds=40"]);
    for folder in STAGES {
        for entry in fs::read_dir(stages.join(folder))? {
            let path = entry?.path();
            let is_stage = path.extension() == Some(OsStr::new("yaml"))
                && path.file_name() != Some(OsStr::new("kustomization.yaml"));
            if is_stage {
                command.arg("--config").arg(path);
            }
        }
    }
    Ok(command)
}
