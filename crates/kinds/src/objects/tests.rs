//! What a real API server answered to the objects in `testdata`, checked against what we answer.
//! Each case names what it is about; complaints are compared as sets, since the real server goes
//! through maps in any order.

use std::collections::BTreeSet;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{
    event,
    field::Errors,
    service::{
        allocation::{self, Ask},
        cluster_ips::{self, Family},
    },
    strategy,
};
use crate::{decode, read, resources, types};

#[test]
fn objects_are_filled_in_and_refused_as_by_a_real_server() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/objects/testdata");
    let mut failures = Vec::new();
    let mut cases = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let data: Value = serde_json::from_str(&text).unwrap();
        for case in read::list(&data, "cases") {
            cases += 1;
            let name = format!("{} {}: {}", data["apiVersion"], data["kind"], case["case"]);
            failures.extend(
                check(&data, case)
                    .into_iter()
                    .map(|failure| format!("{name}\n{failure}")),
            );
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {cases} cases differ:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

#[test]
fn a_config_map_holds_at_most_a_mebibyte() {
    let mut errors = Vec::new();
    let strategy = strategy("", "ConfigMap").unwrap();
    (strategy.validate)(&json!({"data": {"a": "x".repeat(1024 * 1024 + 1)}}), &mut errors);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].body(), "Too long: may not be more than 1048576 bytes");
}

/// How our answer to a case differs from the recorded one.
fn check(data: &Value, case: &Value) -> Vec<String> {
    let group = data["apiVersion"]
        .as_str()
        .unwrap()
        .split_once('/')
        .map_or("", |(group, _)| group);
    let written = Written {
        group,
        kind: data["kind"].as_str().unwrap(),
        case,
    };
    let (object, errors, warnings) = written.answer();
    let mut failures = Vec::new();
    let expected: BTreeSet<String> = texts(&case["errors"]);
    let found: BTreeSet<String> = errors.iter().map(ToString::to_string).collect();
    if expected != found {
        let missing: Vec<_> = expected.difference(&found).collect();
        let unexpected: Vec<_> = found.difference(&expected).collect();
        failures.push(format!("  missing: {missing:#?}\n  unexpected: {unexpected:#?}"));
    }
    if case.get("stored").is_some() && texts(&case["warnings"]) != warnings.iter().cloned().collect() {
        failures.push(format!(
            "  warnings: {} but ours are {warnings:?}",
            case["warnings"]
        ));
    }
    if let Some(stored) = case.get("stored") {
        failures.extend(differences(&object, stored));
    }
    failures
}

fn texts(list: &Value) -> BTreeSet<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

fn differences(object: &Value, stored: &Value) -> Option<String> {
    let content = |object: &Value| {
        let mut object = object.clone();
        let fields = object.as_object_mut().unwrap();
        for field in ["metadata", "apiVersion", "kind"] {
            fields.remove(field);
        }
        fields
            .get_mut("status")
            .and_then(Value::as_object_mut)
            .map(|s| s.remove("lastPhaseTransitionTime"));
        object
    };
    let (ours, theirs) = (content(object), content(stored));
    (ours != theirs).then(|| format!("  stored: {theirs}\n  ours:   {ours}"))
}

/// One write of an object of some kind.
struct Written<'a> {
    group: &'a str,
    kind: &'a str,
    case: &'a Value,
}

impl Written<'_> {
    /// Brings an object into the form decoding gives it.
    fn normalize(&self, object: &mut Value) {
        let version = object["apiVersion"].as_str().unwrap();
        let version = version.rsplit_once('/').map_or(version, |(_, version)| version);
        let resource = resources::of_kind(self.group, version, self.kind).unwrap();
        let unknown = decode::normalize(types::by_name(resource.type_name).unwrap(), object).unwrap();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    fn answer(&self) -> (Value, Errors, Vec<String>) {
        let strategy = strategy(self.group, self.kind).unwrap();
        let (mut object, mut old) = (self.case["object"].clone(), self.case["old"].clone());
        self.normalize(&mut object);
        if !old.is_null() {
            self.normalize(&mut old);
        }
        let is_newer_event = self.group == "events.k8s.io";
        if is_newer_event {
            event::to_core(&mut object);
            event::to_core(&mut old);
        }
        let mut errors = Vec::new();
        (strategy.default)(&mut object);
        if self.case["subresource"] == "status" {
            (strategy.prepare_for_status_update)(&mut object, &old);
            (strategy.validate_status_update)(&object, &old, &mut errors);
            return (object, errors, Vec::new());
        }
        if self.kind == "Service" {
            errors = cluster_ips::settle(&mut object, &old, &[Family::V4]);
            if !errors.is_empty() {
                return (object, errors, Vec::new());
            }
            errors = allocate(&mut object, &old, &self.case["stored"]);
            if !errors.is_empty() {
                return (object, errors, Vec::new());
            }
        }
        let warnings = if old.is_null() {
            (strategy.prepare_for_create)(&mut object);
            (strategy.validate)(&object, &mut errors);
            (strategy.warnings_on_create)(&object)
        } else {
            (strategy.prepare_for_update)(&mut object, &old);
            (strategy.validate_update)(&object, &old, &mut errors);
            (strategy.warnings_on_update)(&object, &old)
        };
        if is_newer_event {
            event::from_core(&mut object);
        }
        self.normalize(&mut object);
        (object, errors, warnings)
    }
}

/// Gives a Service what it asks for: what the real server gave it, or anything.
fn allocate(service: &mut Value, old: &Value, stored: &Value) -> Errors {
    let (mut errors, mut given_ports) = (Vec::new(), BTreeSet::new());
    let plan = if old.is_null() {
        allocation::plan_create(service)
    } else {
        allocation::plan_update(service, old)
    };
    let given = read::get(stored, "spec").clone();
    let spec = &mut service["spec"];
    for place in plan.cluster_ips {
        let wanted = place.wanted.map(Value::from);
        let ip = wanted.or_else(|| given["clusterIPs"].get(place.index).cloned());
        let ip = ip.unwrap_or_else(|| "10.96.0.77".into());
        if place.index == 0 {
            spec["clusterIP"] = ip.clone();
        }
        match &mut spec["clusterIPs"] {
            Value::Array(ips) if place.index < ips.len() => ips[place.index] = ip,
            Value::Array(ips) => ips.push(ip),
            missing => *missing = json!([ip]),
        }
    }
    for (offset, place) in plan.node_ports.into_iter().enumerate() {
        let port = match place.ask {
            Ask::Any => match given["ports"][place.index].get("nodePort") {
                Some(port) => port.clone(),
                None => json!(31000 + offset),
            },
            Ask::Exactly(port) => {
                if !given_ports.insert(port) {
                    let path = Path::new("spec")
                        .child("ports")
                        .index(place.index)
                        .child("nodePort");
                    errors.push(FieldError::invalid(
                        &path,
                        &port.into(),
                        "provided port is already allocated",
                    ));
                }
                port.into()
            }
            Ask::SameAs(index) => spec["ports"][index]["nodePort"].clone(),
        };
        spec["ports"][place.index]["nodePort"] = port;
    }
    match plan.health_check {
        Some(Ask::Exactly(port)) => spec["healthCheckNodePort"] = port.into(),
        Some(_) => {
            let port = given.get("healthCheckNodePort").cloned();
            spec["healthCheckNodePort"] = port.unwrap_or_else(|| 32000.into());
        }
        None => {}
    }
    errors
}
