//! Names, owners and labels of children.

use resources::names::labels;
use serde_json::{Map, Value, json};

use crate::job::{Framework, Job, MpiVersion, Replica};

/// The metadata of a child that has no labels of its own.
pub(crate) fn metadata(job: &Job, name: &str) -> Value {
    json!({
        "name": name,
        "namespace": job.namespace(),
        "ownerReferences": [job.identity.owner_reference()],
    })
}

/// The labels by which a replica is found.
pub(super) fn selector(job: &Job, role: &str, index: u32) -> Map<String, Value> {
    let operator = match job.mpi() {
        Some(mpi) if mpi.version == MpiVersion::V1 => "mpijob-controller",
        _ => job.kind.operator,
    };
    Map::from_iter([
        (labels::OPERATOR_NAME.to_owned(), json!(operator)),
        (labels::JOB_NAME.to_owned(), json!(job.name())),
        (labels::REPLICA_TYPE.to_owned(), json!(role.to_lowercase())),
        (labels::REPLICA_INDEX.to_owned(), json!(index.to_string())),
    ])
}

/// All labels of a replica's pod.
pub(super) fn labels(job: &Job, replica: &Replica, index: u32) -> Map<String, Value> {
    if let Some(mpi) = job.mpi() {
        return super::mpi::labels(job, mpi, replica.role, index);
    }
    let mut found = selector(job, replica.role, index);
    if is_master(job, replica.role, index) {
        found.insert(labels::JOB_ROLE.to_owned(), json!(labels::MASTER));
    }
    found
}

/// The replica whose logs people want to see.
pub(crate) fn is_master(job: &Job, role: &str, index: u32) -> bool {
    let has = |role: &str| job.replica(role).is_some();
    match job.framework {
        Framework::TensorFlow { .. } if has("Chief") || has("Master") => ["Chief", "Master"].contains(&role),
        Framework::PyTorch { .. } if has("Master") => role == "Master",
        Framework::TensorFlow { .. } | Framework::PyTorch { .. } => role == "Worker" && index == 0,
        Framework::XgBoost | Framework::Paddle { .. } => role == "Master",
        Framework::Jax => index == 0,
        Framework::Mxnet => role == "Server",
        Framework::Mpi(_) => role == "Launcher",
    }
}

/// The selector of a role as the scale subresource shows it.
pub(crate) fn role_selector(job: &Job, role: &str) -> String {
    let labels = selector(job, role, 0);
    let labels = labels.iter().filter(|(name, _)| *name != labels::REPLICA_INDEX);
    let texts: Vec<String> = labels
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
        .collect();
    texts.join(",")
}
