//! What is wrong with a job, with the path of each field. The rules are those of the kind's
//! definition, evaluated by the same engine as in the API server, so the words are the same
//! everywhere; the pod templates are checked as pods are.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use kinds::pods::{Options, template};
use manifests::{
    field::{FieldError, Path},
    names,
};
use resources::{Kind, LONGEST_NAME, TOO_LONG, definitions, kinds as table};
use schemas::Structural;
use serde_json::{Value, json};

use crate::{
    Settings, children,
    job::{Framework, Job, Mpi, MpiVersion, Replica},
    read, standalone_mxnet, template as templates, verdict,
};

/// Everything that keeps the job from being run; empty when it is fine. An object of another kind
/// has nothing wrong that this crate could tell.
pub fn check(object: &Value) -> Vec<FieldError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    match Kind::of(text("apiVersion"), text("kind")) {
        Some(kind) => of_kind(object, kind),
        None => Vec::new(),
    }
}

fn of_kind(object: &Value, kind: &'static Kind) -> Vec<FieldError> {
    if kind.kind == table::MX_JOB.kind {
        return standalone_mxnet::check(object);
    }
    let canonical = canonical(object, kind);
    let mut errors = twice(object, kind);
    errors.extend(of_schema(&canonical, kind));
    if errors.is_empty() {
        of_read(&canonical, kind, &mut errors);
    }
    errors
}

/// What keeps a job from being run that has begun. Words that its definition does not know any more are no reason to
/// give it up: the API server refuses new ones, and lets pass those that were there before.
pub(crate) fn of_begun(object: &Value, kind: &'static Kind) -> Vec<FieldError> {
    let mut errors = twice(object, kind);
    if errors.is_empty() {
        of_read(&canonical(object, kind), kind, &mut errors);
    }
    errors
}

fn canonical(object: &Value, kind: &'static Kind) -> Value {
    let mut canonical = object.clone();
    canonical["spec"] = read::canonical(&object["spec"], kind);
    canonical
}

fn of_read(object: &Value, kind: &'static Kind, errors: &mut Vec<FieldError>) {
    match read::job(object, kind) {
        Ok(job) => of_job(object, &job, errors),
        Err(error) => errors.push(error),
    }
}

/// Roles are read in any spelling, but each may be there once.
fn twice(object: &Value, kind: &Kind) -> Vec<FieldError> {
    let path = Path::new("spec").child(kind.replicas_field);
    let mut seen = BTreeSet::new();
    let roles = object["spec"][kind.replicas_field].as_object();
    let roles = roles
        .into_iter()
        .flatten()
        .filter(|(_, replica)| !replica.is_null());
    roles
        .filter(|(role, _)| kind.role(role).is_some_and(|known| !seen.insert(known)))
        .map(|(role, _)| FieldError::duplicate(&path.key(role), &json!(role)))
        .collect()
}

/// What the definition says of an object.
pub(crate) fn of_schema(object: &Value, kind: &Kind) -> Vec<FieldError> {
    static SCHEMAS: LazyLock<BTreeMap<String, Structural>> = LazyLock::new(|| {
        let schema = |kind: &&Kind| {
            let definition = definitions::definition(kind);
            Structural::new(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
        };
        table::ALL
            .iter()
            .map(|kind| (kind.definition(), schema(kind)))
            .collect()
    });
    let mut errors = Vec::new();
    if let Some(schema) = SCHEMAS.get(&kind.definition()) {
        schemas::validate(object, schema, &mut errors);
    }
    errors
}

/// What no rule of a definition can say.
fn of_job(object: &Value, job: &Job, errors: &mut Vec<FieldError>) {
    let replicas_path = Path::new("spec").child(job.kind.replicas_field);
    let written = object["spec"][job.kind.replicas_field].as_object();
    for (role, replica) in written.into_iter().flatten() {
        let path = replicas_path.key(role);
        if job.kind.role(role).is_none() {
            errors.push(FieldError::not_supported(&path, &json!(role), job.kind.roles));
        }
        if let Some(policy) = replica["restartPolicy"].as_str() {
            one_of(
                &path.child("restartPolicy"),
                policy,
                restart_policies(job),
                errors,
            );
        }
    }
    run_policy(object, job, errors);
    name(job, errors);
    for replica in &job.replicas {
        let path = replicas_path.key(replica.role);
        pod_template(&replica.template, &path.child("template"), errors);
    }
    if let Framework::PyTorch {
        elastic: Some(elastic),
        ..
    } = &job.framework
    {
        let spec = Path::new("spec");
        if job.replica("Worker").is_none() {
            let detail = "must be configured if elastic policy is used";
            errors.push(FieldError::required(&replicas_path.key("Worker"), detail));
        }
        if let (Some(min), Some(max)) = (elastic.min_replicas, elastic.max_replicas)
            && min > max
        {
            let path = spec.child("elasticPolicy").child("minReplicas");
            let detail = "must not be greater than maxReplicas";
            errors.push(FieldError::invalid(&path, &json!(min), detail));
        }
        if elastic.nproc_per_node.is_some() && !object["spec"]["nprocPerNode"].is_null() {
            let path = spec.child("elasticPolicy").child("nProcPerNode");
            errors.push(FieldError::forbidden(
                &path,
                "must not be used with spec.nprocPerNode",
            ));
        }
    }
    if let Some(mpi) = job.mpi() {
        workers(job, mpi, &replicas_path.key("Worker"), errors);
        ssh_path(mpi, errors);
    }
    if errors.is_empty() {
        deciding(job, &replicas_path, errors);
    }
    if errors.is_empty() {
        for replica in job.replicas.iter().filter(|replica| mounts_something(replica)) {
            completed(
                job,
                replica,
                &replicas_path.key(replica.role).child("template"),
                errors,
            );
        }
    }
}

/// Pods are named after their job. The definition says so too, to jobs that are new.
fn name(job: &Job, errors: &mut Vec<FieldError>) {
    let path = Path::new("metadata").child("name");
    let replicas = job.replicas.iter();
    let longest = replicas.map(|replica| job.child_name(replica.role, replica.count.saturating_sub(1)));
    let Some(longest) = longest.max_by_key(String::len) else {
        return;
    };
    let detail = if longest.len() > LONGEST_NAME {
        TOO_LONG.to_owned()
    } else if let Some(problem) = names::dns1035_label(&longest).into_iter().next() {
        let longest = manifests::field::quoted(&longest);
        format!("will not able to create pod and service with invalid DNS label {longest}: {problem}")
    } else {
        return;
    };
    errors.push(FieldError::invalid(&path, &json!(job.name()), detail));
}

/// A job without those who decide would never end.
fn deciding(job: &Job, path: &Path, errors: &mut Vec<FieldError>) {
    let roles = verdict::deciding_roles(job);
    match roles.iter().find_map(|role| job.replica(role)) {
        Some(replica) if replica.count == 0 => {
            let path = path.key(replica.role).child("replicas");
            let detail = "must be at least 1, as the job ends with it";
            errors.push(FieldError::forbidden(&path, detail));
        }
        Some(_) => {}
        None => {
            let detail = format!("must have one of {}, as the job ends with it", roles.join(", "));
            errors.push(FieldError::required(path, detail));
        }
    }
}

fn ssh_path(mpi: &Mpi, errors: &mut Vec<FieldError>) {
    if mpi.ssh_path.contains(':') {
        let path = Path::new("spec").child("sshAuthMountPath");
        let detail = "must not contain ':'";
        errors.push(FieldError::invalid(&path, &json!(mpi.ssh_path), detail));
    }
}

/// Only where the user mounts something can it be in the way of what the operator mounts.
fn mounts_something(replica: &Replica) -> bool {
    let spec = &replica.template["spec"];
    let containers = spec["containers"].as_array().into_iter().flatten();
    let mut mounts = containers.map(|container| &container["volumeMounts"]);
    !templates::is_empty_list(&spec["volumes"]) || mounts.any(|mounts| !templates::is_empty_list(mounts))
}

/// What the operator adds is part of the pod that the API server is asked for. It stands behind the user's own,
/// so that the paths are those of the user's template.
fn completed(job: &Job, replica: &Replica, path: &Path, errors: &mut Vec<FieldError>) {
    let completed = children::completed_template(job, replica, 0, &Settings::default());
    pod_template(&completed, path, errors);
}

fn restart_policies(job: &Job) -> &'static [&'static str] {
    match job.mpi() {
        Some(mpi) if mpi.version == MpiVersion::V2Beta1 => &["Never", "OnFailure"],
        _ => &["Always", "OnFailure", "Never", "ExitCode"],
    }
}

/// Workers may only be missing where the launcher is one.
fn workers(job: &Job, mpi: &Mpi, path: &Path, errors: &mut Vec<FieldError>) {
    match job.replica("Worker") {
        None if mpi.version == MpiVersion::V1Alpha2 => {
            errors.push(FieldError::required(path, "must have Worker replica spec"));
        }
        Some(worker) if worker.count == 0 && !mpi.launcher_works => {
            let detail = "must be greater than or equal to 1";
            errors.push(FieldError::invalid(&path.child("replicas"), &json!(0), detail));
        }
        _ => {}
    }
}

fn run_policy(object: &Value, job: &Job, errors: &mut Vec<FieldError>) {
    let path = Path::new("spec").child("runPolicy");
    if let Some(manager) = object["spec"]["runPolicy"]["managedBy"].as_str() {
        let own = if job.mpi().is_some() {
            resources::names::MPI_MANAGED_BY
        } else {
            resources::names::MANAGED_BY
        };
        let allowed = &[own, resources::names::MULTIKUEUE];
        if job.mpi().is_none() || manager != resources::names::MANAGED_BY {
            one_of(&path.child("managedBy"), manager, allowed, errors);
        }
    }
}

fn one_of(path: &Path, value: &str, allowed: &[&str], errors: &mut Vec<FieldError>) {
    if !allowed.contains(&value) {
        errors.push(FieldError::not_supported(path, &json!(value), allowed));
    }
}

/// Checks a template as the API server checks a pod that is made of it.
pub(crate) fn pod_template(value: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let mut value = value.clone();
    if let Some(ty) = kinds::types::by_name("io.k8s.api.core.v1.PodTemplateSpec")
        && let Err(error) = kinds::decode::normalize(ty, &mut value)
    {
        errors.push(FieldError::invalid_unshown(path, error.to_string()));
        return;
    }
    template::default(&mut value);
    // The operator says what the pod's restart policy is.
    value["spec"]["restartPolicy"] = json!("Never");
    template::validate(&value, Options::NEW, path, errors);
}
