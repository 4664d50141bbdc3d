//! The objects a job is made of, as the original operators make them.

mod delivery;
mod groups;
mod jax;
mod metadata;
pub(crate) mod mpi;
mod mxnet;
mod paddle;
mod pods;
mod pytorch;
mod services;
mod tensorflow;
mod xgboost;

use manifests::field::FieldError;
use resources::Kind;
use serde_json::Value;

use crate::{
    Settings,
    check::{check_with, named},
    job::{Framework, Job},
    read, standalone_mxnet,
};

pub(crate) use groups::{Membership, members, needs_of, of_mpi_operator};
pub(crate) use metadata::{is_master, metadata, role_selector};
pub(crate) use pods::{computing_container, main_container, pod, template as completed_template};
pub(crate) use services::service;

/// An object to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    pub object: Value,
    pub make: Make,
}

/// How an object is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// If there is none of that name.
    Create,
    /// Never: its fields are merged into the one of that name and uid (RFC 7396: those that are null are taken
    /// out), and into no other.
    Patch,
    /// If there is none of that name, with a new SSH key pair in its data: `ssh-privatekey` (PEM) and
    /// `ssh-publickey` (one line of an `authorized_keys` file).
    CreateWithSshKey,
}

impl Child {
    pub(crate) fn create(object: Value) -> Self {
        Self {
            object,
            make: Make::Create,
        }
    }

    pub(crate) fn patch(object: Value) -> Self {
        Self {
            object,
            make: Make::Patch,
        }
    }

    pub fn kind(&self) -> &str {
        self.object["kind"].as_str().unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }
}

/// Every object that a job would have when it runs, without a cluster: `trainyard render`.
pub fn render(object: &Value, settings: &Settings) -> Result<Vec<Value>, Vec<FieldError>> {
    let errors = check_with(object, settings);
    if !errors.is_empty() {
        return Err(errors);
    }
    let object = &*named(object);
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let Some(kind) = Kind::of(text("apiVersion"), text("kind")) else {
        return Ok(Vec::new());
    };
    if kind.kind == resources::kinds::MX_JOB.kind {
        return Ok(standalone_mxnet::render(object, settings));
    }
    let job = read::job(object, kind).map_err(|error| vec![error])?;
    let mut children: Vec<Value> = supports(&job, settings, &[])
        .into_iter()
        .map(|child| child.object)
        .collect();
    for replica in &job.replicas {
        for index in 0..replica.count {
            children.extend(service(&job, replica, index));
            children.push(replica_object(&job, replica, index, settings));
        }
    }
    Ok(children)
}

/// The kinds and names of everything a job makes, so that a caller knows where to look for what is in
/// the way. Cheaper than `render`: no pod is written out.
pub fn names(object: &Value, settings: &Settings) -> Vec<(&'static str, String)> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let Some(kind) = Kind::of(text("apiVersion"), text("kind")) else {
        return Vec::new();
    };
    if kind.kind == resources::kinds::MX_JOB.kind {
        return standalone_mxnet::names(object, settings);
    }
    let Ok(job) = read::job(object, kind) else {
        return Vec::new();
    };
    let supports = supports(&job, settings, &[]);
    let mut names: Vec<(&'static str, String)> = supports
        .iter()
        .filter_map(|child| {
            let kind = SUPPORTS.into_iter().find(|kind| *kind == child.kind())?;
            Some((kind, child.name().to_owned()))
        })
        .collect();
    for replica in &job.replicas {
        let is_batch = replica.role == "Launcher" && job.launches_by_batch_job();
        for name in (0..replica.count).map(|index| job.child_name(replica.role, index)) {
            if job.kind.port.is_some() {
                names.push(("Service", name.clone()));
            }
            names.push((if is_batch { "Job" } else { "Pod" }, name));
        }
    }
    names
}

/// Kinds of what pods need.
const SUPPORTS: [&str; 8] = [
    "ConfigMap",
    "Secret",
    "Service",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "PodGroup",
    "HorizontalPodAutoscaler",
];

/// What pods need: made before them.
pub(crate) fn supports(job: &Job, settings: &Settings, running_workers: &[String]) -> Vec<Child> {
    let mut children = match &job.framework {
        Framework::Mpi(mpi) => mpi::supports(job, mpi, settings, running_workers),
        _ => Vec::new(),
    };
    children.extend(groups::pod_group(job, settings).map(Child::create));
    children.extend(autoscaler(job).map(Child::create));
    children
}

/// The pod or batch Job of a replica.
pub(crate) fn replica_object(
    job: &Job,
    replica: &crate::job::Replica,
    index: u32,
    settings: &Settings,
) -> Value {
    if replica.role == "Launcher" && job.launches_by_batch_job() {
        return mpi::launcher_job(job, replica, settings);
    }
    pod(job, replica, index, settings)
}

fn autoscaler(job: &Job) -> Option<Value> {
    let (min, max, metrics) = match &job.framework {
        Framework::PyTorch {
            elastic: Some(elastic),
            ..
        } => (elastic.min_replicas, elastic.max_replicas, &elastic.metrics),
        Framework::Paddle {
            elastic: Some(elastic),
        } => (elastic.min_replicas, elastic.max_replicas, &elastic.metrics),
        _ => return None,
    };
    if metrics.is_empty() {
        return None;
    }
    let mut metadata = metadata(job, job.name());
    metadata.as_object_mut()?.remove("labels");
    Some(serde_json::json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": {
            "scaleTargetRef": {
                "apiVersion": job.identity.api_version,
                "kind": job.kind.kind,
                "name": job.name(),
            },
            "minReplicas": min,
            "maxReplicas": max.unwrap_or(1),
            "metrics": metrics,
        },
    }))
}
