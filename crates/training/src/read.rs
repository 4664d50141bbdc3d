//! From a custom resource to the model: canonical spellings, old layouts, defaults. What is wrong
//! with a job is found by `check`; reading assumes the best.

mod frameworks;
mod mpi;
mod old_labels;
mod quoted_numbers;
mod run_policy;
mod unknown_fields;

use manifests::field::{FieldError, Path};
use resources::{JobStatus, Kind, ReplicaSpec, kinds::MX_JOB, names::annotations, specs::Replicas};
use serde_json::{Map, Value, json};

use crate::{
    job::{Framework, Identity, Job, MpiVersion, Policy, Replica, RestartPolicy, Warning},
    standalone_mxnet, template,
};

pub(crate) use old_labels::OldLabel;
pub(crate) use unknown_fields::{UNKNOWN_FIELD, of_template as unknown_fields};

/// What a job says that is read otherwise than its user may think, or not at all: told by events when the job is new.
pub fn warnings(object: &Value) -> Vec<String> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let warnings = match Kind::of(text("apiVersion"), text("kind")) {
        Some(kind) if kind.kind == MX_JOB.kind => standalone_mxnet::warnings(object),
        Some(kind) => job(object, kind).map(|job| job.warnings).unwrap_or_default(),
        None => Vec::new(),
    };
    warnings.into_iter().map(|warning| warning.message).collect()
}

/// Reads a job of any kind but the standalone MxJob.
pub(crate) fn job(object: &Value, kind: &'static Kind) -> Result<Job, FieldError> {
    let mut warnings = Vec::new();
    let spec = &canonical(&object["spec"], kind);
    let read = frameworks::read(object, kind, spec)?;
    let policy = run_policy::read(spec, read.run_policy, read.mpi_version, &mut warnings);
    let replicas = kind.roles.iter().filter_map(|role| {
        let spec = read.replicas.get(*role)?;
        Some(replica(kind, role, spec, read.mpi_version))
    });
    let mut replicas: Vec<Replica> = replicas.collect();
    warnings.extend(unknown(object, kind));
    warnings.extend(replicas.iter_mut().filter_map(quoted_numbers));
    let mut job = Job {
        kind,
        identity: identity(object, read.mpi_version),
        replicas,
        policy,
        framework: read.framework,
        status: status(object),
        old_labels: Vec::new(),
        warnings,
    };
    if job.restarts_together() {
        restart_ranks(&mut job, &read.replicas);
    }
    job.old_labels = old_labels::known(&job);
    job.warnings
        .extend(job.old_labels.iter().map(|label| label.warning()));
    let overwritten: Vec<Warning> = job
        .replicas
        .iter()
        .filter_map(|replica| overwritten_restart_policy(&job, replica))
        .collect();
    job.warnings.extend(overwritten);
    Ok(job)
}

/// Whoever wants all to be restarted when one fails wants restarts: where nothing is said, a rank that fails is worth
/// one, whatever the kind has for its replicas otherwise.
fn restart_ranks(job: &mut Job, specs: &Replicas) {
    let never = job.replicas.iter_mut();
    let never = never.filter(|replica| replica.restart == RestartPolicy::Never && replica.role != "Launcher");
    for replica in never {
        let said = specs
            .get(replica.role)
            .and_then(|spec| spec.restart_policy.as_deref());
        if said.is_none_or(str::is_empty) {
            replica.restart = RestartPolicy::OnFailure;
        } else {
            job.warnings.push(Warning {
                reason: "NoGangRestart",
                message: format!(
                    "`{}` has no effect where a {} fails: its restartPolicy is Never",
                    annotations::GANG_RESTART,
                    replica.role
                ),
            });
        }
    }
}

/// Fields that pods do not have, in the user's spelling of the roles.
fn unknown(object: &Value, kind: &Kind) -> Vec<Warning> {
    let path = Path::new("spec").child(kind.replicas_field);
    let roles = object["spec"][kind.replicas_field].as_object();
    let found = roles.into_iter().flatten().map(|(role, replica)| {
        let path = path.key(role).child("template");
        unknown_fields(&replica["template"], &path)
    });
    found.flatten().collect()
}

/// A job whose specification cannot be read: enough of it to say so.
pub(crate) fn unreadable(object: &Value, kind: &'static Kind) -> Job {
    Job {
        kind,
        identity: identity(object, None),
        replicas: Vec::new(),
        policy: Policy::default(),
        framework: Framework::Jax,
        status: status(object),
        old_labels: Vec::new(),
        warnings: Vec::new(),
    }
}

fn status(object: &Value) -> JobStatus {
    serde_json::from_value(without_nulls(object["status"].clone())).unwrap_or_default()
}

/// What a kind's specification says, before defaults.
pub(crate) struct Read {
    pub run_policy: resources::RunPolicy,
    pub replicas: Replicas,
    pub framework: Framework,
    pub mpi_version: Option<MpiVersion>,
}

pub(crate) fn identity(object: &Value, mpi_version: Option<MpiVersion>) -> Identity {
    let meta = &object["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let annotations = meta["annotations"].as_object().into_iter().flatten();
    let namespace = text(&meta["namespace"]);
    Identity {
        api_version: mpi_version
            .map_or_else(|| text(&object["apiVersion"]), |it| it.api_version().to_owned()),
        kind: text(&object["kind"]),
        name: text(&meta["name"]),
        namespace: if namespace.is_empty() {
            "default".to_owned()
        } else {
            namespace
        },
        uid: text(&meta["uid"]),
        generation: meta["generation"].as_i64().unwrap_or_default(),
        annotations: annotations
            .map(|(name, value)| (name.clone(), text(value)))
            .collect(),
        is_being_deleted: !meta["deletionTimestamp"].is_null(),
    }
}

/// Operators written in Go store lists and maps that are empty as nulls.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.into_iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        Value::Array(list) => list.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// The specification with the roles in the spelling of the table.
pub(crate) fn canonical(spec: &Value, kind: &Kind) -> Value {
    let mut spec = without_nulls(spec.clone());
    if let Some(replicas) = spec.get_mut(kind.replicas_field).and_then(Value::as_object_mut) {
        let renamed: Map<String, Value> = std::mem::take(replicas)
            .into_iter()
            .map(|(role, replica)| (kind.role(&role).map_or(role, str::to_owned), replica))
            .collect();
        *replicas = renamed;
    }
    spec
}

pub(crate) fn decode<T: serde::de::DeserializeOwned>(spec: &Value) -> Result<T, FieldError> {
    T::deserialize(spec).map_err(|error| FieldError::invalid_unshown(&Path::new("spec"), error.to_string()))
}

fn replica(kind: &Kind, role: &'static str, spec: &ReplicaSpec, mpi_version: Option<MpiVersion>) -> Replica {
    let (count, restart) = match mpi_version {
        Some(version) => mpi::defaults(role, spec, version),
        None => (
            spec.replicas.unwrap_or(1),
            spec.restart_policy.as_deref().unwrap_or_default(),
        ),
    };
    let restart = RestartPolicy::named(restart).or_else(|| RestartPolicy::named(kind.restart_policy));
    let mut replica = Replica {
        role,
        count: u32::try_from(count).unwrap_or_default(),
        restart: restart.unwrap_or(RestartPolicy::Never),
        template: spec.template.clone(),
    };
    add_port(kind, &mut replica.template);
    replica
}

/// A framework container has its port; where the user has none, it stands behind the user's others.
fn add_port(kind: &Kind, template: &mut Value) {
    let Some(port) = kind.port else { return };
    let Some(container) = template::container_mut(template, kind.container) else {
        return;
    };
    if template::port(container, port.name).is_none() {
        let added = json!({"name": port.name, "containerPort": port.number, "protocol": "TCP"});
        template::list(container, "ports").push(added);
    }
}

fn quoted_numbers(replica: &mut Replica) -> Option<Warning> {
    quoted_numbers::mend(&mut replica.template).then(|| Warning {
        reason: "QuotedNumbers",
        message: format!(
            "the pod template of {} has numbers in quotes, which are read as numbers",
            replica.role
        ),
    })
}

fn overwritten_restart_policy(job: &Job, replica: &Replica) -> Option<Warning> {
    let policy = replica.template["spec"]["restartPolicy"].as_str()?;
    (policy != job.restart_policy_of_pod(replica)).then(|| Warning {
        reason: "SetPodTemplateRestartPolicy",
        message: "Restart policy in pod template will be overwritten by restart policy in replica spec"
            .to_owned(),
    })
}
