//! MxJob of `mxnet.mlkube.io/v1beta1`: a batch Job for each replica, a Service for the scheduler,
//! and a status with phases. Everything but templates and accelerators differs from the other kinds.

mod children;
mod group;
mod running;
mod spec;
mod state;
mod suspension;

use jiff::Timestamp;
use manifests::field::{FieldError, Path};
use resources::{Kind, mxnet::MxJobStatus};
use serde_json::Value;

use crate::{
    Child, Event, Existing, Observed, Plan, Settings, check as schema, job::Warning, plan::mend, read, why,
};
use group::POD_GROUP;
use spec::MxJob;

/// How the reason begins of a job whose specification cannot be run.
const INVALID: &str = "invalid job spec: ";

pub(crate) fn check(object: &Value, settings: &Settings) -> Vec<FieldError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let kind = Kind::of(text("apiVersion"), text("kind"));
    let errors = kind
        .map(|kind| schema::of_schema(object, kind))
        .unwrap_or_default();
    if !errors.is_empty() {
        return errors;
    }
    of_begun(object, settings)
}

/// What keeps a job from being run that has begun. What its definition has come to refuse since is no reason.
fn of_begun(object: &Value, settings: &Settings) -> Vec<FieldError> {
    match spec::read(object) {
        Ok(job) => spec::check(&job, settings),
        Err(error) => vec![error],
    }
}

/// What is read otherwise than the user may think.
pub(crate) fn warnings(object: &Value) -> Vec<Warning> {
    spec::read(object).map(|job| left_out(&job)).unwrap_or_default()
}

/// Fields that its pods do not have.
fn left_out(job: &MxJob) -> Vec<Warning> {
    let path = Path::new("spec").child(job.replicas_field);
    let templates = job.replicas.iter().enumerate();
    let found = templates.map(|(i, replica)| {
        let path = path.index(i).child("template");
        read::unknown_fields(&replica.template, &path)
    });
    found.flatten().collect()
}

pub(crate) fn render(object: &Value, settings: &Settings) -> Vec<Value> {
    let children = spec::read(object).map(|job| children::all(&job, settings));
    children
        .unwrap_or_default()
        .into_iter()
        .map(|child| child.object)
        .collect()
}

pub(crate) fn names(object: &Value, settings: &Settings) -> Vec<(&'static str, String)> {
    let Ok(job) = spec::read(object) else {
        return Vec::new();
    };
    let mut names: Vec<_> = group::reference(&job, settings).into_iter().collect();
    for replica in &job.replicas {
        for index in job.indexes(replica) {
            let name = job.child_name(&replica.role, index);
            if job.is_distributed() && replica.role == "SCHEDULER" {
                names.push(("Service", name.clone()));
            }
            names.push(("Job", name));
        }
    }
    names
}

pub(crate) fn plan(object: &Value, observed: &Observed, settings: &Settings, _now: Timestamp) -> Plan {
    let identity = read::identity(object, None);
    let stored: MxJobStatus = serde_json::from_value(object["status"].clone()).unwrap_or_default();
    if identity.is_being_deleted {
        return Plan::default();
    }
    // A job that has ended stays as it has ended.
    if ["Done", "Failed"].contains(&stored.phase.as_str()) {
        return Plan {
            delete: group::give_back(&identity, observed),
            ..Plan::default()
        };
    }
    let mut plan = Plan::default();
    let has_begun = !stored.phase.is_empty() || running::batch_jobs(&identity, observed).next().is_some();
    let is_new = stored.observed_generation != Some(identity.generation);
    let errors = match has_begun {
        true if is_new || stored.reason.starts_with(INVALID) => of_begun(object, settings),
        // What was fine stays fine, whatever is asked of others since.
        true => spec::read(object).err().into_iter().collect(),
        false => check(object, settings),
    };
    let status = match spec::read(object) {
        Ok(job) if errors.is_empty() => {
            if is_new {
                tell_warnings(object, &mut plan);
            }
            let settings = group::as_begun(&identity, observed, settings);
            carry_on(&job, &stored, observed, &settings, &mut plan)
        }
        _ if has_begun => doubt(object, &errors, &stored, observed, &mut plan),
        _ => refuse(&errors, &mut plan),
    };
    let status = MxJobStatus {
        observed_generation: Some(identity.generation),
        ..status
    };
    let status = serde_json::to_value(status).unwrap_or_default();
    plan.status = (object["status"] != status).then_some(status);
    plan
}

fn tell_warnings(object: &Value, plan: &mut Plan) {
    let warnings = warnings(object).into_iter();
    plan.events.extend(warnings.map(|warning| Event {
        severity: "Warning",
        reason: warning.reason.to_owned(),
        message: warning.message,
    }));
}

fn findings(errors: &[FieldError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    format!("{INVALID}{}", texts.join("; "))
}

fn tell_findings(reason: &str, plan: &mut Plan) {
    plan.events.push(Event {
        severity: "Warning",
        reason: "MxJobFailedValidation".to_owned(),
        message: reason.to_owned(),
    });
}

fn refuse(errors: &[FieldError], plan: &mut Plan) -> MxJobStatus {
    let reason = findings(errors);
    tell_findings(&reason, plan);
    MxJobStatus {
        phase: "Failed".to_owned(),
        state: "Failed".to_owned(),
        reason,
        ..MxJobStatus::default()
    }
}

/// A job that has begun is looked after as far as its batch Jobs go, and nothing is made of a specification that
/// cannot be run. It stays in its phase until they have ended.
fn doubt(
    object: &Value,
    errors: &[FieldError],
    stored: &MxJobStatus,
    observed: &Observed,
    plan: &mut Plan,
) -> MxJobStatus {
    let mut status = match running::job(object, stored, observed) {
        Some(job) => {
            let status = state::status(&job, observed);
            if !status.state.is_empty() {
                tell_end(&job.identity.name, &status, plan);
                return status;
            }
            status
        }
        None => stored.clone(),
    };
    if !stored.phase.is_empty() {
        status.phase.clone_from(&stored.phase);
    }
    status.reason = findings(errors);
    if status.reason != stored.reason {
        tell_findings(&status.reason, plan);
    }
    status
}

fn tell_end(name: &str, status: &MxJobStatus, plan: &mut Plan) {
    let severity = if status.state == "Succeeded" {
        "Normal"
    } else {
        "Warning"
    };
    let message = match status.reason.as_str() {
        "" => format!("MxJob {name} {}", status.state.to_lowercase()),
        reason => format!("MxJob {name} {}: {reason}", status.state.to_lowercase()),
    };
    plan.events.push(Event {
        severity,
        reason: format!("MxJob{}", status.state),
        message,
    });
}

fn carry_on(
    job: &MxJob,
    stored: &MxJobStatus,
    observed: &Observed,
    settings: &Settings,
    plan: &mut Plan,
) -> MxJobStatus {
    let mut status = state::status(job, observed);
    // Programs that were stopped decide nothing.
    let was_suspended = suspension::is_told(stored);
    if !status.state.is_empty() && !was_suspended {
        tell_end(&job.identity.name, &status, plan);
        return status;
    }
    if job.is_suspended || suspension::is_stopping(job, stored, observed) {
        return suspension::suspend(job, stored, observed, plan);
    }
    if was_suspended {
        suspension::tell_resumed(job, plan);
    }
    let wanted = children::all(job, settings).into_iter();
    let missing = wanted.filter_map(|child| to_make(child, observed));
    let queued = group::queued(job, observed, settings);
    let is_held = |child: &Child| queued.is_some() && child.kind() == "Job";
    let (held, missing): (Vec<Child>, Vec<Child>) = missing.partition(is_held);
    if let Some(group) = queued.as_ref()
        && status.reason.is_empty()
        && !held.is_empty()
    {
        status.reason = why::queued(held.len(), group);
    }
    // As long as nothing is in its way, what is left out of its pods is told.
    if status.reason.is_empty() {
        let left_out: Vec<String> = left_out(job).into_iter().map(|field| field.message).collect();
        status.reason = left_out.join("; ");
    }
    plan.delete = group::left_over(job, observed, settings);
    match foreign(job, observed, settings) {
        Some(message) => {
            status.reason.clone_from(&message);
            plan.events.push(Event {
                severity: "Warning",
                reason: "ErrResourceExists".to_owned(),
                message,
            });
        }
        None => plan.make = missing,
    }
    status
}

/// What is not there is made, and what is there is made what it should be where it can be.
fn to_make(child: Child, observed: &Observed) -> Option<Child> {
    if child.kind() == "Job" {
        let is_there = observed.jobs.iter().any(|job| job.name == child.name());
        return (!is_there).then_some(child);
    }
    let mut others = observed.others.iter();
    match others.find(|other| other.kind == child.kind() && other.name == child.name()) {
        Some(existing) => mend(existing, &child),
        None => Some(child),
    }
}

fn foreign(job: &MxJob, observed: &Observed, settings: &Settings) -> Option<String> {
    let is_foreign = |controller: &Option<String>| controller.as_deref() != Some(job.identity.uid.as_str());
    let jobs = observed
        .jobs
        .iter()
        .filter(|found| is_foreign(&found.controller))
        .map(|found| ("Job", &found.name));
    // A job that has begun without a group does not mind who has one of its name.
    let is_minded = |found: &&Existing| found.kind != POD_GROUP || group::reference(job, settings).is_some();
    let others = observed.others.iter().filter(is_minded);
    let others = others.filter(|found| is_foreign(&found.controller));
    let others = others.map(|found| (found.kind.as_str(), &found.name));
    let (kind, name) = jobs.chain(others).next()?;
    Some(format!(
        "Resource {name:?} of Kind {kind:?} already exists and is not managed by MxJob"
    ))
}
