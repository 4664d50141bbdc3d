//! Requests to a real API server of Kubernetes 1.34 with what it answered.
//!
//! The server fills in defaults between the request and its answer, so only the record is compared:
//! for updates from the answered object without its record, for applies from the configuration.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::types::Place;
use crate::apply::{ApplyError, FieldSet, Reset, Write, apply, restore_times, update};

#[derive(Deserialize)]
struct Case {
    blank: Value,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    op: String,
    manager: String,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    reset: Vec<Vec<String>>,
    /// The configuration of an apply.
    object: Option<Value>,
    /// The record that an update sent.
    record: Option<Value>,
    /// What the server set after it had made the record.
    #[serde(default)]
    unowned: Vec<Vec<String>>,
    expect: Option<Value>,
    status: Option<Value>,
}

#[test]
fn records_are_those_of_the_server() {
    let cases: BTreeMap<String, Case> =
        serde_json::from_str(include_str!("../../../testdata/apply/server.json")).expect("cases can be read");
    for (name, case) in &cases {
        let mut live: Option<&Value> = None;
        for (i, step) in case.steps.iter().enumerate() {
            let outcome = run(live, step, &case.blank);
            let expected = match (&step.expect, &step.status) {
                (Some(object), _) => object["metadata"]["managedFields"].clone(),
                (None, status) => sorted(status.clone().expect("an answer")),
            };
            assert_eq!(
                outcome, expected,
                "{name}, step {i}: {outcome:#} instead of {expected:#}"
            );
            live = step.expect.as_ref().or(live);
        }
    }
}

/// The record of the object, or the parts of a Status.
fn run(live: Option<&Value>, step: &Step, blank: &Value) -> Value {
    let known = live.or(step.expect.as_ref()).expect("an object");
    let kind = known["kind"].as_str().expect("a kind");
    let paths: Vec<Vec<&str>> = step
        .reset
        .iter()
        .map(|path| path.iter().map(String::as_str).collect())
        .collect();
    let paths: Vec<&[&str]> = paths.iter().map(Vec::as_slice).collect();
    let write = Write {
        shape: Place::of(kind),
        manager: &step.manager,
        api_version: known["apiVersion"].as_str().expect("a version"),
        kind,
        subresource: &step.subresource,
        now: latest_time(step.expect.as_ref()),
        force: step.force,
        reset: &Reset::Fields(FieldSet::of_fields(&paths)),
        blank,
        versions: &(),
    };
    let mut answered = step.expect.clone().unwrap_or_default();
    if step.op == "apply" {
        match apply(live, step.object.as_ref().expect("a configuration"), &write) {
            Err(error) => return status(&error),
            Ok(applied) => {
                answered["metadata"]["managedFields"] = applied["metadata"]["managedFields"].clone();
            }
        }
    } else {
        without(&mut answered, &["metadata", "managedFields"]);
        if let Some(record) = &step.record {
            answered["metadata"]["managedFields"] = record.clone();
        }
        for path in &step.unowned {
            without(
                &mut answered,
                &path.iter().map(String::as_str).collect::<Vec<_>>(),
            );
        }
        update(live, &mut answered, &write);
    }
    if let Some(live) = live {
        restore_times(live, &mut answered);
    }
    answered["metadata"]["managedFields"].clone()
}

fn latest_time(object: Option<&Value>) -> &str {
    let entries = object.and_then(|object| object["metadata"]["managedFields"].as_array());
    entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["time"].as_str())
        .max()
        .unwrap_or_default()
}

fn without(object: &mut Value, path: &[&str]) {
    let (last, parents) = path.split_last().expect("a path");
    let parent = parents.iter().fold(object, |place, name| &mut place[*name]);
    parent.as_object_mut().expect("an object").remove(*last);
}

fn status(error: &ApplyError) -> Value {
    let (code, reason, causes) = match error {
        ApplyError::BadRequest(_) => (400, Some("BadRequest"), Vec::new()),
        ApplyError::Malformed(_) => (500, None, Vec::new()),
        ApplyError::Conflict(conflicts) => {
            let causes = conflicts.iter().map(|conflict| {
                json!({"reason": "FieldManagerConflict", "message": conflict.message(), "field": conflict.field})
            });
            (409, Some("Conflict"), causes.collect())
        }
    };
    let mut status = json!({"code": code, "message": error.to_string(), "causes": causes});
    if let Some(reason) = reason {
        status["reason"] = json!(reason);
    }
    sorted(status)
}

/// Kubernetes lists the causes of different managers in no particular order.
fn sorted(mut status: Value) -> Value {
    if let Some(causes) = status["causes"].as_array_mut() {
        causes.sort_by_key(Value::to_string);
    }
    status
}
