//! MxJob of `mxnet.mlkube.io/v1beta1`: a batch Job for each replica, a Service for the scheduler,
//! and a status with phases. Everything but templates and accelerators differs from the other kinds.

mod children;
mod spec;
mod state;

use jiff::Timestamp;
use manifests::field::FieldError;
use resources::{Kind, mxnet::MxJobStatus};
use serde_json::Value;

use crate::{Child, Event, Observed, Plan, Settings, check as schema, read};
use spec::MxJob;

pub(crate) fn check(object: &Value) -> Vec<FieldError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let kind = Kind::of(text("apiVersion"), text("kind"));
    let errors = kind
        .map(|kind| schema::of_schema(object, kind))
        .unwrap_or_default();
    if !errors.is_empty() {
        return errors;
    }
    match spec::read(object) {
        Ok(job) => spec::check(&job),
        Err(error) => vec![error],
    }
}

pub(crate) fn render(object: &Value, settings: &Settings) -> Vec<Value> {
    let children = spec::read(object).map(|job| children::all(&job, settings));
    children
        .unwrap_or_default()
        .into_iter()
        .map(|child| child.object)
        .collect()
}

pub(crate) fn names(object: &Value) -> Vec<(&'static str, String)> {
    let Ok(job) = spec::read(object) else {
        return Vec::new();
    };
    let mut names = Vec::new();
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
    // A job that has ended stays as it has ended.
    if identity.is_being_deleted || ["Done", "Failed"].contains(&stored.phase.as_str()) {
        return Plan::default();
    }
    let mut plan = Plan::default();
    let errors = check(object);
    let status = match spec::read(object) {
        Ok(job) if errors.is_empty() => carry_on(&job, observed, settings, &mut plan),
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

fn refuse(errors: &[FieldError], plan: &mut Plan) -> MxJobStatus {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let reason = format!("invalid job spec: {}", texts.join("; "));
    plan.events.push(Event {
        severity: "Warning",
        reason: "MxJobFailedValidation".to_owned(),
        message: reason.clone(),
    });
    MxJobStatus {
        phase: "Failed".to_owned(),
        state: "Failed".to_owned(),
        reason,
        ..MxJobStatus::default()
    }
}

fn carry_on(job: &MxJob, observed: &Observed, settings: &Settings, plan: &mut Plan) -> MxJobStatus {
    let mut status = state::status(job, observed);
    if !status.state.is_empty() {
        let severity = if status.state == "Succeeded" {
            "Normal"
        } else {
            "Warning"
        };
        let name = &job.identity.name;
        let message = match status.reason.as_str() {
            "" => format!("MxJob {name} {}", status.state.to_lowercase()),
            reason => format!("MxJob {name} {}: {reason}", status.state.to_lowercase()),
        };
        plan.events.push(Event {
            severity,
            reason: format!("MxJob{}", status.state),
            message,
        });
        return status;
    }
    let missing: Vec<Child> = children::all(job, settings)
        .into_iter()
        .filter(|child| !is_there(child, observed))
        .collect();
    match foreign(job, observed) {
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

fn is_there(child: &Child, observed: &Observed) -> bool {
    match child.kind() {
        "Job" => observed.jobs.iter().any(|job| job.name == child.name()),
        kind => observed
            .others
            .iter()
            .any(|other| other.kind == kind && other.name == child.name()),
    }
}

fn foreign(job: &MxJob, observed: &Observed) -> Option<String> {
    let is_foreign = |controller: &Option<String>| controller.as_deref() != Some(job.identity.uid.as_str());
    let jobs = observed
        .jobs
        .iter()
        .filter(|found| is_foreign(&found.controller))
        .map(|found| ("Job", &found.name));
    let others = observed
        .others
        .iter()
        .filter(|found| is_foreign(&found.controller));
    let others = others.map(|found| (found.kind.as_str(), &found.name));
    let (kind, name) = jobs.chain(others).next()?;
    Some(format!(
        "Resource {name:?} of Kind {kind:?} already exists and is not managed by MxJob"
    ))
}
