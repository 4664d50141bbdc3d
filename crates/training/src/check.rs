//! What is wrong with a job, with the path of each field. The rules are those of the kind's
//! definition, evaluated by the same engine as in the API server, so the words are the same
//! everywhere; the pod templates are checked as pods are.

use std::{
    borrow::Cow,
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
    check_with(object, &Settings::default())
}

/// The same of an operator that is known: what it adds to pods may be in the way of what the user has there.
pub fn check_with(object: &Value, settings: &Settings) -> Vec<FieldError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let Some(kind) = Kind::of(text("apiVersion"), text("kind")) else {
        return Vec::new();
    };
    let named = named(object);
    let mut errors = of_kind(&named, kind, settings);
    if let Cow::Owned(_) = named {
        let of_name = errors.iter_mut().filter(|error| error.field == "metadata.name");
        of_name.for_each(|error| "metadata.generateName".clone_into(&mut error.field));
    }
    errors
}

/// The object with a name such as the API server would make for it, where it asks for one.
pub(crate) fn named(object: &Value) -> Cow<'_, Value> {
    /// So much of it the server keeps, to have room for five letters.
    const KEPT: usize = 58;
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    if !text("name").is_empty() || text("generateName").is_empty() {
        return Cow::Borrowed(object);
    }
    let kept: String = text("generateName").chars().take(KEPT).collect();
    let mut named = object.clone();
    named["metadata"]["name"] = json!(kept + "xxxxx");
    Cow::Owned(named)
}

fn of_kind(object: &Value, kind: &'static Kind, settings: &Settings) -> Vec<FieldError> {
    if kind.kind == table::MX_JOB.kind {
        return standalone_mxnet::check(object, settings);
    }
    let canonical = canonical(object, kind);
    let mut errors = twice(object, kind);
    errors.extend(of_schema(&canonical, kind));
    if errors.is_empty() {
        of_read(&canonical, kind, settings, &mut errors);
    }
    errors
}

/// What keeps a job from being run that has begun. Words that its definition does not know any more are no reason to
/// give it up: the API server refuses new ones, and lets pass those that were there before.
pub(crate) fn of_begun(object: &Value, kind: &'static Kind, settings: &Settings) -> Vec<FieldError> {
    let mut errors = twice(object, kind);
    if errors.is_empty() {
        of_read(&canonical(object, kind), kind, settings, &mut errors);
    }
    errors
}

fn canonical(object: &Value, kind: &'static Kind) -> Value {
    let mut canonical = object.clone();
    canonical["spec"] = read::canonical(&object["spec"], kind);
    canonical
}

fn of_read(object: &Value, kind: &'static Kind, settings: &Settings, errors: &mut Vec<FieldError>) {
    match read::job(object, kind) {
        Ok(job) => of_job(object, &job, settings, errors),
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
fn of_job(object: &Value, job: &Job, settings: &Settings, errors: &mut Vec<FieldError>) {
    let replicas_path = Path::new("spec").child(job.kind.replicas_field);
    let written = object["spec"][job.kind.replicas_field].as_object();
    for (role, replica) in written.into_iter().flatten() {
        let path = replicas_path.key(role);
        if job.kind.role(role).is_none() {
            errors.push(FieldError::not_supported(&path, &json!(role), job.kind.roles));
        }
        // An empty word is none.
        if let Some(policy) = replica["restartPolicy"]
            .as_str()
            .filter(|policy| !policy.is_empty())
        {
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
        if elastic.nproc_per_node.is_some() && !object["spec"]["nprocPerNode"].is_null() {
            let path = spec.child("elasticPolicy").child("nProcPerNode");
            errors.push(FieldError::forbidden(
                &path,
                "must not be used with spec.nprocPerNode",
            ));
        }
    }
    bounds(job, errors);
    if let Some(mpi) = job.mpi() {
        slots(mpi, errors);
        workers(job, mpi, &replicas_path.key("Worker"), errors);
        ssh_path(mpi, errors);
    }
    if errors.is_empty() {
        deciding(job, &replicas_path, errors);
    }
    if errors.is_empty() {
        let may_clash = |replica: &&Replica| mounts_something(replica) || !settings.accelerators.is_empty();
        for replica in job.replicas.iter().filter(may_clash) {
            let path = replicas_path.key(replica.role).child("template");
            completed(job, replica, settings, &path, errors);
        }
    }
}

/// How many workers an elastic job has at least and at most.
fn bounds(job: &Job, errors: &mut Vec<FieldError>) {
    let (min, max) = match &job.framework {
        Framework::PyTorch {
            elastic: Some(elastic),
            ..
        } => (elastic.min_replicas, elastic.max_replicas),
        Framework::Paddle {
            elastic: Some(elastic),
        } => (elastic.min_replicas, elastic.max_replicas),
        _ => return,
    };
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        let path = Path::new("spec").child("elasticPolicy").child("minReplicas");
        let detail = "must not be greater than maxReplicas";
        errors.push(FieldError::invalid(&path, &json!(min), detail));
    }
}

/// One schema serves all versions, of which v2beta1 alone knows what to do with none.
fn slots(mpi: &Mpi, errors: &mut Vec<FieldError>) {
    if mpi.version != MpiVersion::V2Beta1 && mpi.slots < 1 {
        let path = Path::new("spec").child("slotsPerWorker");
        let detail = "spec.slotsPerWorker in body should be greater than or equal to 1";
        errors.push(FieldError::invalid(&path, &json!(mpi.slots), detail));
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
    } else {
        // Services may not begin with a number, pods may.
        let (made, problems) = if has_services(job) {
            ("pod and service", names::dns1035_label(&longest))
        } else {
            ("pod", names::dns_label(&longest))
        };
        let Some(problem) = problems.into_iter().next() else {
            return;
        };
        let longest = manifests::field::quoted(&longest);
        format!("will not able to create {made} with invalid DNS label {longest}: {problem}")
    };
    errors.push(FieldError::invalid(&path, &json!(job.name()), detail));
}

fn has_services(job: &Job) -> bool {
    job.mpi().is_none_or(|mpi| mpi.version == MpiVersion::V2Beta1)
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
fn completed(job: &Job, replica: &Replica, settings: &Settings, path: &Path, errors: &mut Vec<FieldError>) {
    let template = &replica.template;
    let before = errors.len();
    let main = children::main_container(job, template);
    let container = children::computing_container(job, &main);
    settings.accelerators.check(template, container, path, errors);
    let completed = children::completed_template(job, replica, 0, settings);
    let names = |template: &Value| {
        let volumes = template["spec"]["volumes"].as_array().into_iter().flatten();
        volumes
            .map(|volume| volume["name"].clone())
            .collect::<Vec<Value>>()
    };
    let (written, all) = (names(template), names(&completed));
    let added = all.get(written.len()..).unwrap_or_default();
    for (i, name) in written
        .iter()
        .enumerate()
        .filter(|(_, name)| added.contains(name))
    {
        let path = path.child("spec").child("volumes").index(i).child("name");
        errors.push(FieldError::invalid(
            &path,
            name,
            "is the name of a volume of the operator's own",
        ));
    }
    if errors.len() == before {
        pod_template(&completed, path, errors);
    }
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
