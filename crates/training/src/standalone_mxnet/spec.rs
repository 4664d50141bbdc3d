//! The specification of an MxJob: read, completed, checked.

use manifests::field::{FieldError, Path};
use resources::{LONGEST_NAME, TOO_LONG, kinds::OLD_MX_JOB, mxnet::MxJobSpec};
use serde_json::{Value, json};

use super::children;
use crate::{Settings, check::pod_template, job::Identity, read, template};

pub(super) const CONTAINER: &str = "mxnet";
const DEFAULT_PORT: i32 = 9091;
/// A batch Job accepts no others.
const RESTART_POLICIES: [&str; 2] = ["OnFailure", "Never"];
pub(super) const ROLES: [&str; 3] = ["SCHEDULER", "SERVER", "WORKER"];

pub(super) struct MxJob {
    pub identity: Identity,
    pub runtime_id: String,
    /// Whether the user has chosen it.
    pub has_own_runtime_id: bool,
    pub mode: String,
    /// The field that holds the replicas, in the user's spelling.
    pub replicas_field: &'static str,
    pub replicas: Vec<Replica>,
    pub is_suspended: bool,
}

pub(super) struct Replica {
    pub role: String,
    pub count: u32,
    pub port: i32,
    pub template: Value,
}

pub(super) fn read(object: &Value) -> Result<MxJob, FieldError> {
    let spec: MxJobSpec = read::decode(&object["spec"])?;
    let identity = read::identity(object, None);
    let is_old = identity
        .api_version
        .starts_with(&format!("{}/", OLD_MX_JOB.group));
    let replicas: Vec<Replica> = spec
        .replica_specs
        .into_iter()
        .map(|replica| Replica {
            role: role(replica.mx_replica_type, is_old),
            count: u32::try_from(replica.replicas.unwrap_or(1)).unwrap_or_default(),
            port: replica.ps_root_port.unwrap_or(DEFAULT_PORT),
            template: replica.template,
        })
        .collect();
    let has_own_runtime_id = !spec.runtime_id.is_empty();
    let runtime_id = if spec.runtime_id.is_empty() {
        runtime_id(&identity.uid)
    } else {
        spec.runtime_id
    };
    let mode = if spec.job_mode.is_empty() && is_old {
        mode(&replicas)
    } else {
        spec.job_mode
    };
    Ok(MxJob {
        identity,
        runtime_id,
        has_own_runtime_id,
        mode,
        replicas_field: if object["spec"]["replica_specs"].is_null() {
            "replicaSpecs"
        } else {
            "replica_specs"
        },
        replicas,
        is_suspended: spec.run_policy.and_then(|policy| policy.suspend) == Some(true),
    })
}

/// The README of the old group calls a lone worker `MASTER`.
fn role(role: Option<String>, is_old: bool) -> String {
    match role {
        Some(role) if is_old && role == "MASTER" => "WORKER".to_owned(),
        Some(role) if !role.is_empty() => role,
        _ => "WORKER".to_owned(),
    }
}

/// ... and knows no modes.
fn mode(replicas: &[Replica]) -> String {
    let is_distributed = replicas.iter().any(|replica| replica.role != "WORKER");
    if is_distributed { "dist" } else { "local" }.to_owned()
}

/// Four letters from the uid, so that they need not be stored before they are used.
fn runtime_id(uid: &str) -> String {
    const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut hash = uid.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut letters = String::new();
    for _ in 0..4 {
        letters.push(char::from(LETTERS[(hash % 36) as usize]));
        hash /= 36;
    }
    letters
}

impl MxJob {
    pub(super) fn is_distributed(&self) -> bool {
        self.mode == "dist"
    }

    pub(super) fn count(&self, role: &str) -> u32 {
        self.replicas
            .iter()
            .filter(|replica| replica.role == role)
            .map(|replica| replica.count)
            .sum()
    }

    /// A local job is one worker, whatever it says.
    pub(super) fn indexes(&self, replica: &Replica) -> std::ops::Range<u32> {
        if self.is_distributed() {
            0..replica.count
        } else {
            0..1
        }
    }

    pub(super) fn child_name(&self, role: &str, index: u32) -> String {
        format!(
            "{}-{}-{}-{index}",
            self.identity.name,
            role.to_lowercase(),
            self.runtime_id
        )
    }
}

impl Replica {
    /// The container of the framework: the one of that name, or the only one under the old group.
    pub(super) fn container(&self) -> &str {
        let container = template::container(&self.template, CONTAINER);
        container
            .and_then(|container| container["name"].as_str())
            .unwrap_or(CONTAINER)
    }
}

/// In the order of the original.
pub(super) fn check(job: &MxJob, settings: &Settings) -> Vec<FieldError> {
    let path = Path::new("spec").child(job.replicas_field);
    let mut errors = Vec::new();
    for (i, replica) in job.replicas.iter().enumerate() {
        replica_errors(job, replica, &path.index(i), &mut errors);
        if errors.is_empty() {
            completed(
                job,
                replica,
                settings,
                &path.index(i).child("template"),
                &mut errors,
            );
        }
        // The names of both would be the same, and each would be told of the other's workers.
        if job.replicas[..i].iter().any(|other| other.role == replica.role) {
            let path = path.index(i).child("mxReplicaType");
            errors.push(FieldError::duplicate(&path, &json!(replica.role)));
        }
    }
    name(job, &mut errors);
    let has = |role: &str| job.count(role) > 0;
    let mode = Path::new("spec").child("jobMode");
    match job.mode.as_str() {
        "local" if has("SCHEDULER") || has("SERVER") => {
            errors.push(FieldError::forbidden(
                &path,
                "a local job must not have SCHEDULER or SERVER replicas",
            ));
        }
        "local" if job.count("WORKER") != 1 => {
            errors.push(FieldError::forbidden(
                &path,
                "a local job has exactly 1 WORKER replica",
            ));
        }
        "local" => {}
        "dist" => {
            for role in ROLES.into_iter().filter(|role| !has(role)) {
                errors.push(FieldError::required(
                    &path,
                    format!("a dist job must have {role} replicas"),
                ));
            }
            if job.count("SCHEDULER") > 1 {
                errors.push(FieldError::forbidden(&path, "SCHEDULER replicas must be 1"));
            }
        }
        other => errors.push(FieldError::not_supported(
            &mode,
            &json!(other),
            &["local", "dist"],
        )),
    }
    errors
}

fn replica_errors(job: &MxJob, replica: &Replica, path: &Path, errors: &mut Vec<FieldError>) {
    let template = path.child("template");
    if !replica.template.is_object() {
        errors.push(FieldError::required(&template, "must be specified"));
        return;
    }
    if !ROLES.contains(&replica.role.as_str()) {
        errors.push(FieldError::not_supported(
            &path.child("mxReplicaType"),
            &json!(replica.role),
            &ROLES,
        ));
    }
    let containers = replica.template["spec"]["containers"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let is_named = containers.iter().any(|container| container["name"] == CONTAINER);
    let is_old = job
        .identity
        .api_version
        .starts_with(&format!("{}/", OLD_MX_JOB.group));
    let is_the_only_one = is_old && containers.len() == 1;
    if !is_named && !is_the_only_one {
        let detail = format!(
            "Replica type {} is missing a container for {CONTAINER}",
            replica.role
        );
        errors.push(FieldError::required(
            &template.child("spec").child("containers"),
            detail,
        ));
        return;
    }
    let policy = &replica.template["spec"]["restartPolicy"];
    if let Some(policy) = policy.as_str().filter(|policy| !policy.is_empty())
        && !RESTART_POLICIES.contains(&policy)
    {
        let path = template.child("spec").child("restartPolicy");
        errors.push(FieldError::not_supported(
            &path,
            &json!(policy),
            &RESTART_POLICIES,
        ));
    }
    pod_template(&replica.template, &template, errors);
}

/// Batch Jobs and the scheduler's Service are named after the job and its runtime id.
fn name(job: &MxJob, errors: &mut Vec<FieldError>) {
    let replicas = job.replicas.iter();
    let longest = replicas.map(|replica| (replica.role.as_str(), replica.count.saturating_sub(1)));
    let Some((role, index)) = longest.max_by_key(|(role, index)| job.child_name(role, *index).len()) else {
        return;
    };
    let longest = job.child_name(role, index);
    let Some(problem) = manifests::names::dns1035_label(&longest).into_iter().next() else {
        return;
    };
    let metadata = Path::new("metadata").child("name");
    if longest.len() > LONGEST_NAME {
        errors.push(FieldError::invalid(
            &metadata,
            &json!(job.identity.name),
            TOO_LONG,
        ));
        return;
    }
    let detail =
        format!("will not able to create job and service with invalid DNS label {longest:?}: {problem}");
    let is_of_the_id = job.has_own_runtime_id && !manifests::names::is_dns_label(&job.runtime_id);
    let (path, value) = if is_of_the_id {
        (Path::new("spec").child("RuntimeId"), &job.runtime_id)
    } else {
        (metadata, &job.identity.name)
    };
    errors.push(FieldError::invalid(&path, &json!(value), detail));
}

/// What accelerators bring is part of the pod that the API server is asked for.
fn completed(job: &MxJob, replica: &Replica, settings: &Settings, path: &Path, errors: &mut Vec<FieldError>) {
    let accelerators = &settings.accelerators;
    accelerators.check(&replica.template, replica.container(), path, errors);
    if errors.is_empty() && !accelerators.is_empty() {
        pod_template(&children::pod_template(job, replica, 0, settings), path, errors);
    }
}
