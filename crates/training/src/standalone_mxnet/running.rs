//! What runs of an MxJob whose specification cannot be relied upon: its batch Jobs say by their names what it was
//! when they were made.

use resources::{mxnet::MxJobStatus, run_policy::MOST_REPLICAS};
use serde_json::{Value, json};

use super::spec::{self, MxJob, ROLES, Replica};
use crate::{BatchJob, Observed, job::Identity, read};

/// The batch Jobs that a job controls.
pub(super) fn batch_jobs<'a>(
    identity: &'a Identity,
    observed: &'a Observed,
) -> impl Iterator<Item = &'a BatchJob> {
    let jobs = observed.jobs.iter();
    jobs.filter(|job| job.controller.as_deref() == Some(identity.uid.as_str()))
}

/// The job that was begun, as far as there is anything left of it.
pub(super) fn job(object: &Value, stored: &MxJobStatus, observed: &Observed) -> Option<MxJob> {
    let identity = read::identity(object, None);
    let written = spec::read(object).ok();
    let names: Vec<Name<'_>> = batch_jobs(&identity, observed)
        .filter_map(|job| Name::read(&identity.name, &job.name))
        .collect();
    let runtime_id = names.first()?.runtime_id.to_owned();
    let mut replicas: Vec<Replica> = Vec::new();
    for role in ROLES {
        let indexes = names.iter().filter(|name| name.role == role.to_lowercase());
        let Some(last) = indexes.map(|name| name.index).max() else {
            continue;
        };
        let written = written
            .as_ref()
            .and_then(|job| job.replicas.iter().find(|it| it.role == role));
        replicas.push(Replica {
            role: role.to_owned(),
            count: last.saturating_add(1),
            port: 0,
            // Only the name of its container is of interest.
            template: written.map_or(json!({}), |replica| replica.template.clone()),
        });
    }
    let told = stored
        .replica_statuses
        .iter()
        .map(|status| status.replica_type.as_str());
    let mut roles = replicas.iter().map(|replica| replica.role.as_str()).chain(told);
    let mode = if roles.any(|role| role != "WORKER") {
        "dist"
    } else {
        "local"
    };
    Some(MxJob {
        identity,
        runtime_id,
        has_own_runtime_id: true,
        mode: mode.to_owned(),
        replicas_field: "replicaSpecs",
        replicas,
        is_suspended: false,
    })
}

/// The parts of the name of a batch Job.
pub(super) struct Name<'a> {
    role: &'a str,
    pub(super) runtime_id: &'a str,
    index: u32,
}

impl<'a> Name<'a> {
    pub(super) fn read(job: &str, name: &'a str) -> Option<Self> {
        let (role, rest) = name.strip_prefix(job)?.strip_prefix('-')?.split_once('-')?;
        let (runtime_id, index) = rest.rsplit_once('-')?;
        Some(Self {
            role,
            runtime_id,
            index: index
                .parse()
                .ok()
                .filter(|index| *index < MOST_REPLICAS.unsigned_abs())?,
        })
    }
}
