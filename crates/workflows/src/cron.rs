//! Workflows that begin by the clock: which are due, which give way, which are kept.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use kinds::workloads::timetable::{self, Timetable};
use serde_json::{Map, Value, json};

use crate::{expression, model::Number, names, scope::Scope};

/// A CronWorkflow that can be followed.
#[derive(Clone, Debug)]
pub struct Cron {
    tables: Vec<Timetable>,
    zone: TimeZone,
    concurrency: Concurrency,
    /// A start may be so late.
    deadline: Option<i64>,
    keep_succeeded: usize,
    keep_failed: usize,
    is_suspended: bool,
    when: String,
    stop: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Concurrency {
    Allow,
    Forbid,
    Replace,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronError {
    /// Below `spec`.
    pub field: String,
    pub message: String,
}

/// A workflow that a CronWorkflow has made.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    pub name: String,
    pub uid: String,
    pub phase: crate::node::Phase,
    pub finished_at: Option<Timestamp>,
    pub is_being_deleted: bool,
    pub is_being_stopped: bool,
}

/// What is to be done for a CronWorkflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CronPlan {
    /// Workflows that give way to the next, by name.
    pub terminate: Vec<String>,
    pub make: Option<Value>,
    /// The whole object as it should be stored, if that is other than it is.
    pub object: Option<Value>,
    /// Finished workflows that are more than are to be kept, by name and uid.
    pub delete: Vec<(String, String)>,
    pub wake_at: Option<Timestamp>,
}

impl Cron {
    pub fn read(object: &Value) -> Result<Self, CronError> {
        let spec = &object["spec"];
        let error = |field: &str, message: String| CronError {
            field: field.to_owned(),
            message,
        };
        let zone = match spec["timezone"].as_str().unwrap_or_default() {
            "" => TimeZone::UTC,
            name => timetable::zone(name)
                .ok_or_else(|| error("timezone", format!("there is no time zone '{name}'")))?,
        };
        let several = spec["schedules"].as_array().cloned().unwrap_or_default();
        let mut schedules: Vec<(String, String)> = several
            .iter()
            .enumerate()
            .map(|(index, text)| {
                (
                    format!("schedules[{index}]"),
                    text.as_str().unwrap_or_default().to_owned(),
                )
            })
            .collect();
        if schedules.is_empty() {
            let one = spec["schedule"].as_str().unwrap_or_default();
            schedules.push(("schedule".to_owned(), one.to_owned()));
        }
        let mut tables = Vec::new();
        for (field, text) in schedules {
            let table = Timetable::read(&text, zone.clone()).map_err(|message| {
                error(&field, format!("cron schedule '{text}' is malformed: {message}"))
            })?;
            tables.push(table);
        }
        let concurrency = match spec["concurrencyPolicy"].as_str().unwrap_or_default() {
            "" | "Allow" => Concurrency::Allow,
            "Forbid" => Concurrency::Forbid,
            "Replace" => Concurrency::Replace,
            other => {
                return Err(error(
                    "concurrencyPolicy",
                    format!(
                        "'{other}' is not a valid concurrencyPolicy: there are Allow, Forbid and Replace"
                    ),
                ));
            }
        };
        let number = |field: &str| {
            let number: Option<Number> = serde_json::from_value(spec[field].clone()).unwrap_or_default();
            number.and_then(|number| number.integer())
        };
        let deadline = number("startingDeadlineSeconds");
        if deadline.is_some_and(|seconds| seconds < 0) {
            return Err(error(
                "startingDeadlineSeconds",
                "startingDeadlineSeconds must be positive".to_owned(),
            ));
        }
        let keep = |field: &str, default: usize| {
            number(field).map_or(default, |count| usize::try_from(count).unwrap_or_default())
        };
        Ok(Self {
            tables,
            zone,
            concurrency,
            deadline,
            keep_succeeded: keep("successfulJobsHistoryLimit", 3),
            keep_failed: keep("failedJobsHistoryLimit", 1),
            is_suspended: spec["suspend"] == true,
            when: spec["when"].as_str().unwrap_or_default().to_owned(),
            stop: spec["stopStrategy"]["expression"]
                .as_str()
                .or_else(|| spec["stopStrategy"]["condition"].as_str())
                .unwrap_or_default()
                .to_owned(),
        })
    }

    fn next(&self, after: Timestamp) -> Option<Timestamp> {
        self.tables.iter().filter_map(|table| table.next(after)).min()
    }

    /// The most recent time that is due and not too late.
    fn due(&self, since: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let oldest = self
            .deadline
            .and_then(|seconds| now.checked_sub(SignedDuration::from_secs(seconds)).ok());
        let mut at = self.next(oldest.map_or(since, |oldest| oldest.max(since)))?;
        let mut found = None;
        // A clock that was wrong for years must not keep us busy.
        for _ in 0..10_000 {
            if at > now {
                break;
            }
            found = Some(at);
            at = self.next(at)?;
        }
        found
    }
}

/// Decides what to do next for a CronWorkflow.
pub fn plan(object: &Value, children: &[Child], now: Timestamp) -> CronPlan {
    let mut plan = CronPlan::default();
    let mut updated = object.clone();
    let cron = match Cron::read(object) {
        Ok(cron) => cron,
        Err(error) => {
            let message = format!("spec.{}: {}", error.field, error.message);
            set_condition(&mut updated, Some(&message), now);
            plan.object = (updated != *object).then_some(updated);
            return plan;
        }
    };
    set_condition(&mut updated, None, now);
    count(&mut updated, children);
    if stopped(&cron, &mut updated) {
        plan.object = (updated != *object).then_some(updated);
        forget(&cron, children, &mut plan);
        return plan;
    }
    let time = |value: &Value| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let last = time(&object["status"]["lastScheduledTime"])
        .or_else(|| time(&object["metadata"]["creationTimestamp"]));
    let since = last.unwrap_or(now);
    if let Some(at) = cron.due(since, now).filter(|_| !cron.is_suspended) {
        start(&cron, object, children, at, now, &mut updated, &mut plan);
    }
    plan.wake_at = cron.next(now);
    forget(&cron, children, &mut plan);
    plan.object = (updated != *object).then_some(updated);
    plan
}

fn start(
    cron: &Cron,
    object: &Value,
    children: &[Child],
    at: Timestamp,
    now: Timestamp,
    updated: &mut Value,
    plan: &mut CronPlan,
) {
    let name = child_name(object, at);
    if children.iter().any(|child| child.name == name) {
        updated["status"]["lastScheduledTime"] = json!(at);
        return;
    }
    let active: Vec<&Child> = children
        .iter()
        .filter(|child| !child.phase.is_completed())
        .collect();
    match cron.concurrency {
        Concurrency::Forbid if !active.is_empty() => {
            updated["status"]["lastScheduledTime"] = json!(at);
            return;
        }
        Concurrency::Replace => {
            let others = active.iter().filter(|child| !child.is_being_stopped);
            plan.terminate.extend(others.map(|child| child.name.clone()));
        }
        _ => {}
    }
    if !cron.when.is_empty() && !is_wanted(cron, object, at, now) {
        updated["status"]["lastScheduledTime"] = json!(at);
        return;
    }
    plan.make = Some(child(cron, object, &name, at));
    updated["status"]["lastScheduledTime"] = json!(at);
    let mut entries = updated["status"]["active"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    entries.push(json!({
        "apiVersion": names::API_VERSION,
        "kind": "Workflow",
        "name": name,
        "namespace": object["metadata"]["namespace"],
    }));
    updated["status"]["active"] = json!(entries);
}

fn is_wanted(cron: &Cron, object: &Value, at: Timestamp, now: Timestamp) -> bool {
    let mut scope = Scope::default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    scope.set("cronworkflow.name", text(&object["metadata"]["name"]));
    scope.set("cronworkflow.namespace", text(&object["metadata"]["namespace"]));
    scope.set("cronworkflow.scheduledTime", at.to_string());
    scope.set(
        "cronworkflow.lastScheduledTime",
        text(&object["status"]["lastScheduledTime"]),
    );
    for side in ["failed", "succeeded"] {
        let count = object["status"][side].as_i64().unwrap_or_default();
        scope.set(format!("cronworkflow.{side}"), count.to_string());
    }
    let _ = now;
    let body = cron.when.trim().trim_start_matches("{{=").trim_end_matches("}}");
    expression::holds(body, &scope.environment()).unwrap_or_default()
}

/// One name for one time, so that no workflow is started twice for it.
fn child_name(object: &Value, at: Timestamp) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{name}-{}", at.as_second())
}

fn child(cron: &Cron, object: &Value, name: &str, at: Timestamp) -> Value {
    let meta = &object["metadata"];
    let metadata = &object["spec"]["workflowMetadata"];
    let map = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut labels: Map<String, Value> = map(&metadata["labels"]);
    labels.insert(names::CRON_WORKFLOW.to_owned(), meta["name"].clone());
    let mut annotations = map(&metadata["annotations"]);
    let local = at.to_zoned(cron.zone.clone());
    let shown = if local.offset().is_zero() {
        local.strftime("%Y-%m-%dT%H:%M:%SZ")
    } else {
        local.strftime("%Y-%m-%dT%H:%M:%S%:z")
    };
    annotations.insert(names::SCHEDULED_TIME.to_owned(), json!(shown.to_string()));
    json!({
        "apiVersion": names::API_VERSION,
        "kind": "Workflow",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": annotations,
            "finalizers": metadata["finalizers"],
            "ownerReferences": [{
                "apiVersion": names::API_VERSION,
                "kind": "CronWorkflow",
                "name": meta["name"],
                "uid": meta["uid"],
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "spec": object["spec"]["workflowSpec"],
    })
}

/// Who is active, and how many have succeeded and failed so far.
fn count(object: &mut Value, children: &[Child]) {
    let status = &mut object["status"];
    let known = status["active"].as_array().cloned().unwrap_or_default();
    let mut succeeded = status["succeeded"].as_i64().unwrap_or_default();
    let mut failed = status["failed"].as_i64().unwrap_or_default();
    let mut active = Vec::new();
    for entry in known {
        let child = children.iter().find(|child| entry["name"] == child.name.as_str());
        match child.map(|child| child.phase) {
            Some(crate::node::Phase::Succeeded) => succeeded += 1,
            Some(phase) if phase.is_completed() => failed += 1,
            Some(_) => active.push(entry),
            // Deleted before its end: nobody knows.
            None => {}
        }
    }
    for child in children.iter().filter(|child| !child.phase.is_completed()) {
        if !active.iter().any(|entry| entry["name"] == child.name.as_str()) {
            active.push(json!({
                "apiVersion": names::API_VERSION, "kind": "Workflow", "name": child.name, "uid": child.uid,
            }));
        }
    }
    status["active"] = json!(active);
    status["succeeded"] = json!(succeeded);
    status["failed"] = json!(failed);
    if status["phase"].as_str().unwrap_or_default().is_empty() {
        status["phase"] = json!("Active");
    }
}

/// Whether it has done what it was to do.
fn stopped(cron: &Cron, object: &mut Value) -> bool {
    if cron.stop.is_empty() {
        return false;
    }
    let mut scope = Scope::default();
    for side in ["failed", "succeeded"] {
        let count = object["status"][side].as_i64().unwrap_or_default();
        scope.set(format!("cronworkflow.{side}"), count.to_string());
    }
    let mut environment = scope.environment();
    for side in ["failed", "succeeded"] {
        environment.set(&format!("cronworkflow.{side}"), object["status"][side].clone());
    }
    let is_over = expression::holds(&cron.stop, &environment).unwrap_or_default();
    if is_over {
        object["status"]["phase"] = json!("Stopped");
        object["metadata"]["labels"]["workflows.argoproj.io/cron-workflow-completed"] = json!("true");
    }
    is_over
}

fn forget(cron: &Cron, children: &[Child], plan: &mut CronPlan) {
    let mut keep = |is_success: bool, limit: usize| {
        let mut finished: Vec<&Child> = children
            .iter()
            .filter(|child| child.phase.is_completed() && !child.is_being_deleted)
            .filter(|child| (child.phase == crate::node::Phase::Succeeded) == is_success)
            .collect();
        finished.sort_by_key(|child| std::cmp::Reverse(child.finished_at));
        let superfluous = finished.into_iter().skip(limit);
        plan.delete
            .extend(superfluous.map(|child| (child.name.clone(), child.uid.clone())));
    };
    keep(true, cron.keep_succeeded);
    keep(false, cron.keep_failed);
}

fn set_condition(object: &mut Value, error: Option<&str>, _now: Timestamp) {
    let conditions = object["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut others: Vec<Value> = conditions
        .into_iter()
        .filter(|known| known["type"] != "SpecError")
        .collect();
    if let Some(message) = error {
        others.push(json!({"type": "SpecError", "status": "True", "message": message}));
    }
    if !others.is_empty() || !object["status"]["conditions"].is_null() {
        object["status"]["conditions"] = json!(others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Phase;

    fn cron(spec: Value) -> Value {
        let mut object = json!({
            "metadata": {"name": "c", "namespace": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:30Z"},
            "spec": {"schedules": ["*/5 * * * *"], "workflowSpec": {"entrypoint": "e"}},
        });
        for (key, value) in spec.as_object().unwrap() {
            object["spec"][key] = value.clone();
        }
        object
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn child(name: &str, phase: Phase) -> Child {
        Child {
            name: name.to_owned(),
            uid: format!("uid-{name}"),
            phase,
            finished_at: None,
            is_being_deleted: false,
            is_being_stopped: false,
        }
    }

    #[test]
    fn one_workflow_is_made_for_one_time() {
        let object = cron(json!({}));
        let early = plan(&object, &[], at("2026-01-01T00:04:00Z"));
        assert_eq!(early.make, None);
        assert_eq!(early.wake_at, Some(at("2026-01-01T00:05:00Z")));
        let due = plan(&object, &[], at("2026-01-01T00:05:01Z"));
        let made = due.make.unwrap();
        assert_eq!(made["metadata"]["name"], "c-1767225900");
        assert_eq!(
            made["metadata"]["annotations"][names::SCHEDULED_TIME],
            "2026-01-01T00:05:00Z"
        );
        let stored = due.object.unwrap();
        assert_eq!(stored["status"]["lastScheduledTime"], "2026-01-01T00:05:00Z");
        let children = [child("c-1767225900", Phase::Running)];
        assert_eq!(plan(&stored, &children, at("2026-01-01T00:05:02Z")).make, None);
        // A crash before the status was stored does not make it twice.
        assert_eq!(plan(&object, &children, at("2026-01-01T00:05:02Z")).make, None);
    }

    #[test]
    fn what_runs_forbids_or_gives_way() {
        let children = [child("c-old", Phase::Running)];
        let now = at("2026-01-01T00:05:01Z");
        let forbidden = plan(&cron(json!({"concurrencyPolicy": "Forbid"})), &children, now);
        assert_eq!(forbidden.make, None);
        let replaced = plan(&cron(json!({"concurrencyPolicy": "Replace"})), &children, now);
        assert_eq!(replaced.terminate, ["c-old"]);
        assert!(replaced.make.is_some());
        assert_eq!(plan(&cron(json!({"suspend": true})), &[], now).make, None);
        assert_eq!(
            plan(
                &cron(json!({"when": "{{= cronworkflow.name == 'x' }}"})),
                &[],
                now
            )
            .make,
            None
        );
    }

    #[test]
    fn finished_ones_are_counted_and_the_oldest_go() {
        let mut object = cron(
            json!({"successfulJobsHistoryLimit": 1, "stopStrategy": {"expression": "cronworkflow.failed >= 2"}}),
        );
        object["status"] = json!({"active": [{"name": "a"}, {"name": "b"}, {"name": "c"}]});
        let mut children = [
            child("a", Phase::Succeeded),
            child("b", Phase::Failed),
            child("c", Phase::Error),
        ];
        children[0].finished_at = Some(at("2026-01-01T00:01:00Z"));
        let planned = plan(&object, &children, at("2026-01-01T00:05:01Z"));
        let status = &planned.object.unwrap()["status"];
        assert_eq!((&status["succeeded"], &status["failed"]), (&json!(1), &json!(2)));
        assert_eq!(status["phase"], "Stopped");
        assert_eq!(planned.make, None);
        assert_eq!(planned.delete.len(), 1);
    }

    #[test]
    fn a_schedule_that_is_none_is_told() {
        let planned = plan(
            &cron(json!({"schedules": ["x"]})),
            &[],
            at("2026-01-01T00:05:01Z"),
        );
        let condition = &planned.object.unwrap()["status"]["conditions"][0];
        assert!(
            condition["message"]
                .as_str()
                .unwrap()
                .starts_with("spec.schedules[0]: cron schedule 'x' is malformed")
        );
    }
}
