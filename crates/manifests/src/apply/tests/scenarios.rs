//! Runs of writes with what Kubernetes made of them.
//!
//! The expectations in `testdata/apply` are recorded from the field manager of Kubernetes 1.34 with
//! the types of `types.txt`; each file holds cases, each case the writes to one object.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write as _};

use serde::Deserialize;
use serde_json::{Value, json};

use super::types::Place;
use crate::apply::{ApplyError, FieldSet, Reset, Version, Versions, Write, apply, update};

#[derive(Deserialize)]
struct Case {
    #[serde(default)]
    blank: Option<Value>,
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
    version: Option<String>,
    #[serde(default)]
    reset: Vec<Vec<String>>,
    object: Option<Value>,
    #[serde(default)]
    edit: Vec<Edit>,
    now: String,
    error: Option<String>,
    #[serde(default)]
    causes: Vec<BTreeMap<String, String>>,
    expect: Option<Value>,
}

#[derive(Deserialize)]
struct Edit {
    path: Vec<Value>,
    value: Value,
    #[serde(default)]
    drop: bool,
}

/// The versions of the scenarios, which differ in nothing but their name.
struct SameVersions(Place);

impl Versions<Place> for SameVersions {
    fn version(&self, api_version: &str) -> Option<Version<'_, Place>> {
        let known = ["v1", "apps/v1", "example.com/v1", "example.com/v2"];
        known.contains(&api_version).then_some(Version {
            shape: self.0,
            reset: &Reset::Nothing,
        })
    }

    fn convert<'v>(&self, object: &'v Value, api_version: &str) -> Cow<'v, Value> {
        let mut object = object.clone();
        object["apiVersion"] = json!(api_version);
        Cow::Owned(object)
    }
}

#[test]
fn ownership_is_recorded_as_recorded_from_kubernetes() {
    replay(include_str!("../../../testdata/apply/ownership.json"));
}

#[test]
fn configurations_are_applied_as_recorded_from_kubernetes() {
    replay(include_str!("../../../testdata/apply/apply.json"));
}

#[test]
fn lists_are_applied_as_recorded_from_kubernetes() {
    replay(include_str!("../../../testdata/apply/lists.json"));
}

#[test]
fn objects_are_applied_as_recorded_from_kubernetes() {
    replay(include_str!("../../../testdata/apply/objects.json"));
}

#[test]
fn records_of_clients_are_read_as_recorded_from_kubernetes() {
    replay(include_str!("../../../testdata/apply/record.json"));
}

#[test]
fn versions_are_told_apart_as_recorded_from_kubernetes() {
    replay(include_str!("../../../testdata/apply/versions.json"));
}

#[test]
fn client_side_apply_is_taken_over_as_recorded_from_kubernetes() {
    replay(include_str!("../../../testdata/apply/last_applied.json"));
}

fn replay(text: &str) {
    let cases: BTreeMap<String, Case> = serde_json::from_str(text).expect("scenarios can be read");
    let mut failures = String::new();
    for (name, case) in &cases {
        if let Err(failure) = replay_case(case) {
            let _ = write!(failures, "\n{name}: {failure}");
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

fn replay_case(case: &Case) -> Result<(), String> {
    let blank = case.blank.clone().unwrap_or(json!({}));
    let mut live: Option<Value> = None;
    for (i, step) in case.steps.iter().enumerate() {
        let done = run(live.as_ref(), step, &blank);
        let outcome = match &done {
            Ok(object) => json!({"object": object}),
            Err(error) => json!({"error": error.to_string(), "causes": causes(error)}),
        };
        let expected = match &step.expect {
            Some(object) => json!({"object": object}),
            None => json!({"error": step.error, "causes": sorted(step.causes.clone())}),
        };
        if outcome != expected {
            return Err(format!("step {i}:\n{outcome:#}\nexpected:\n{expected:#}"));
        }
        if let Ok(object) = done {
            live = Some(object);
        }
    }
    Ok(())
}

fn run(live: Option<&Value>, step: &Step, blank: &Value) -> Result<Value, ApplyError> {
    let mut object = step
        .object
        .clone()
        .unwrap_or_else(|| edited(live.expect("an object to edit"), &step.edit));
    let first = live.unwrap_or(&object);
    let kind = first["kind"].as_str().expect("a kind").to_owned();
    let version = step
        .version
        .clone()
        .unwrap_or(first["apiVersion"].as_str().expect("a version").to_owned());
    let shape = Place::of(&kind);
    let paths: Vec<Vec<&str>> = step
        .reset
        .iter()
        .map(|path| path.iter().map(String::as_str).collect())
        .collect();
    let paths: Vec<&[&str]> = paths.iter().map(Vec::as_slice).collect();
    let write = Write {
        shape,
        manager: &step.manager,
        api_version: &version,
        kind: &kind,
        subresource: &step.subresource,
        now: &step.now,
        force: step.force,
        reset: &Reset::Fields(FieldSet::of_fields(&paths)),
        blank,
        versions: &SameVersions(shape),
    };
    let live = live.map(|live| write.convert(live, &version));
    let mut done = if step.op == "apply" {
        apply(live.as_deref(), &object, &write)?
    } else {
        object["apiVersion"] = json!(version);
        update(live.as_deref(), &mut object, &write);
        object
    };
    if live.is_none() && done["metadata"]["uid"].is_null() {
        done["metadata"]["uid"] = json!("uid-1");
    }
    Ok(done)
}

fn edited(object: &Value, edits: &[Edit]) -> Value {
    let mut object = object.clone();
    for Edit { path, value, drop } in edits {
        let (last, parents) = path.split_last().expect("a path");
        let mut place = &mut object;
        for step in parents {
            place = match step {
                Value::String(name) => &mut place[name],
                index => &mut place[index.as_u64().expect("an index") as usize],
            };
        }
        match last {
            Value::String(name) if *drop => {
                place.as_object_mut().expect("an object").remove(name);
            }
            Value::String(name) => place[name] = value.clone(),
            index => {
                let (items, index) = (
                    place.as_array_mut().expect("a list"),
                    index.as_u64().expect("an index") as usize,
                );
                if *drop {
                    items.remove(index);
                } else if index == items.len() {
                    items.push(value.clone());
                } else {
                    items[index] = value.clone();
                }
            }
        }
    }
    object
}

fn causes(error: &ApplyError) -> Vec<BTreeMap<String, String>> {
    let ApplyError::Conflict(conflicts) = error else {
        return Vec::new();
    };
    let causes = conflicts.iter().map(|conflict| {
        BTreeMap::from([
            ("reason".to_owned(), "FieldManagerConflict".to_owned()),
            ("message".to_owned(), conflict.message()),
            ("field".to_owned(), conflict.field.clone()),
        ])
    });
    sorted(causes.collect())
}

/// Kubernetes lists the causes of different managers in no particular order.
fn sorted(mut causes: Vec<BTreeMap<String, String>>) -> Vec<BTreeMap<String, String>> {
    causes.sort();
    causes
}
