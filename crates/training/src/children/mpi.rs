//! MPIJobs: a launcher whose `mpirun` reaches into workers. Our own program is the remote shell, so
//! an image needs neither sshd nor keys nor kubectl; a v2beta1 job whose workers start something of
//! their own (sshd, as a rule) is left to talk by SSH.

mod config;
mod pods;
mod rights;

use resources::names::{labels, mpi_v1alpha2_labels};
use serde_json::{Map, Value, json};

use super::{Child, Make, metadata};
use crate::{
    Settings,
    job::{Job, Mpi, MpiVersion, Replica},
    template,
};

pub(super) use pods::complete;

/// Service, ConfigMap, rights where our own program is the remote shell, and the key of v2beta1, which
/// is made for every job as scripts look for it, though only SSH reads it.
pub(super) fn supports(job: &Job, mpi: &Mpi, settings: &Settings, running_workers: &[String]) -> Vec<Child> {
    let mut children = Vec::new();
    if mpi.version == MpiVersion::V2Beta1 {
        children.push(Child::create(service(job)));
    }
    children.push(Child::create(config::config_map(
        job,
        mpi,
        settings,
        running_workers,
    )));
    if uses_own_shell(job, mpi) {
        children.extend(rights::all(job, mpi));
    }
    if mpi.version == MpiVersion::V2Beta1 {
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": labelled(job, &format!("{}-ssh", job.name())),
            "type": "kubernetes.io/ssh-auth",
        });
        children.push(Child {
            object: secret,
            make: Make::CreateWithSshKey,
        });
    }
    children
}

/// The launcher of v1alpha2 and v2beta1; retries and deadline are the Job's. It has no time to live: one
/// that is gone before it was seen to end would be made again.
pub(super) fn launcher_job(job: &Job, launcher: &Replica, settings: &Settings) -> Value {
    let mut meta = labelled(job, &job.child_name(launcher.role, 0));
    let template = super::pods::template(job, launcher, 0, settings);
    let mut spec = json!({});
    if let Some(limit) = job.policy.backoff_limit {
        // What those before it have used is not there any more.
        let used = job.status.restarts.as_ref().map_or(0, |restarts| restarts.count);
        spec["backoffLimit"] = json!(limit.saturating_sub(used).max(0));
    }
    if let Some(seconds) = job.policy.deadline_seconds {
        spec["activeDeadlineSeconds"] = json!(seconds);
    }
    if let Some(mpi) = job.mpi().filter(|mpi| mpi.version == MpiVersion::V1Alpha2) {
        meta["labels"] = json!(labels(job, mpi, launcher.role, 0));
    } else if job.policy.suspend {
        spec["suspend"] = json!(true);
    }
    // One that is asked to stop has yet to end: there are never two.
    spec["podReplacementPolicy"] = json!("Failed");
    let restart = template["metadata"]["annotations"][resources::names::annotations::RESTART].clone();
    if !restart.is_null() {
        meta["annotations"] = json!({resources::names::annotations::RESTART: restart});
    }
    spec["template"] = template;
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})
}

/// Whether the launcher reaches its workers by our own program.
pub(super) fn uses_own_shell(job: &Job, mpi: &Mpi) -> bool {
    let starts_something = |worker: &Replica| {
        let container = &worker.template["spec"]["containers"][0];
        !template::is_empty_list(&container["command"]) || !template::is_empty_list(&container["args"])
    };
    mpi.version != MpiVersion::V2Beta1 || !job.replica("Worker").is_some_and(starts_something)
}

pub(super) fn labels(job: &Job, mpi: &Mpi, role: &str, index: u32) -> Map<String, Value> {
    let is_launcher = role == "Launcher";
    let role = role.to_lowercase();
    let mut found: Vec<(&str, String)> = match mpi.version {
        MpiVersion::V1Alpha2 => vec![
            (mpi_v1alpha2_labels::GROUP_NAME, "kubeflow.org".to_owned()),
            (mpi_v1alpha2_labels::JOB_NAME, job.name().to_owned()),
            (mpi_v1alpha2_labels::ROLE, role),
        ],
        MpiVersion::V1 => vec![
            (labels::OPERATOR_NAME, "mpijob-controller".to_owned()),
            (labels::JOB_NAME, job.name().to_owned()),
            (labels::REPLICA_TYPE, role),
        ],
        MpiVersion::V2Beta1 => vec![
            (labels::OPERATOR_NAME, "mpi-operator".to_owned()),
            (labels::JOB_NAME, job.name().to_owned()),
            (labels::JOB_ROLE, role),
        ],
    };
    let number = match (mpi.version, is_launcher) {
        (MpiVersion::V1, false) => Some(index),
        (MpiVersion::V2Beta1, true) => mpi.launcher_works.then_some(0),
        (MpiVersion::V2Beta1, false) => Some(index + u32::from(mpi.launcher_works)),
        (MpiVersion::V1Alpha2, _) | (MpiVersion::V1, true) => None,
    };
    found.extend(number.map(|number| (labels::REPLICA_INDEX, number.to_string())));
    if mpi.version == MpiVersion::V1 && is_launcher {
        found.push((labels::JOB_ROLE, labels::MASTER.to_owned()));
    }
    found
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect()
}

/// The metadata of what pods need.
fn labelled(job: &Job, name: &str) -> Value {
    let mut meta = metadata::metadata(job, name);
    meta["labels"] = json!({"app": job.name()});
    meta
}

fn service(job: &Job) -> Value {
    let selector = json!({labels::OPERATOR_NAME: "mpi-operator", labels::JOB_NAME: job.name()});
    // A launcher that has just started is called back by name at once.
    let spec = json!({"clusterIP": "None", "publishNotReadyAddresses": true, "selector": selector});
    json!({"apiVersion": "v1", "kind": "Service", "metadata": labelled(job, job.name()), "spec": spec})
}
