//! Objects of built-in kinds, through all that happens to them around a write: reading them by their
//! type, defaults, validation, warnings, and their row in a table.

use jiff::Timestamp;
use kinds::{columns, decode::normalize, resources, strategy_of, types};
use serde_json::Value;

use crate::cost;

pub(super) const WORDS: &[&str] = &[
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "creationTimestamp",
    "2024-02-29T12:00:00Z",
    "0001-01-01T00:00:00Z",
    "spec",
    "status",
    "template",
    "containers",
    "initContainers",
    "image",
    "ports",
    "containerPort",
    "protocol",
    "TCP",
    "env",
    "valueFrom",
    "resources",
    "requests",
    "limits",
    "cpu",
    "memory",
    "1Gi",
    "100m",
    "-1",
    "volumes",
    "volumeMounts",
    "mountPath",
    "configMap",
    "secret",
    "selector",
    "matchLabels",
    "matchExpressions",
    "operator",
    "In",
    "values",
    "type",
    "clusterIP",
    "10.96.0.5",
    "replicas",
    "strategy",
    "schedule",
    "* * * * *",
    "*/5 1-2 * * 1",
    "rules",
    "conditions",
    "25%",
    "data",
    "AAAA",
];

pub(super) fn run(input: &[u8]) {
    let mut lines = input.splitn(2, |byte| *byte == b'\n');
    let read = |bytes: &[u8]| Some(manifests::json::parse(bytes).ok()?.value);
    let Some(mut object) = lines.next().and_then(read) else {
        return;
    };
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let Some(ty) = resources::type_of(&api_version, &kind) else {
        return;
    };
    let Some(()) = normal(ty, &mut object) else { return };
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    cost::within(input.len(), 100_000, || check(group, &kind, &mut object));

    let Some(mut newer) = lines.next().and_then(read) else {
        return;
    };
    let Some(()) = normal(ty, &mut newer) else { return };
    cost::within(input.len(), 100_000, || {
        check(group, &kind, &mut newer);
        update(group, &kind, newer, &object);
    });
}

fn normal(ty: types::TypeRef, object: &mut Value) -> Option<()> {
    normalize(ty, object).ok()?;
    let mut again = object.clone();
    let unknown = normalize(ty, &mut again).expect("what is normal can be read");
    assert!(unknown.is_empty(), "{unknown:?} in {object}");
    assert_eq!(&again, object);
    Some(())
}

fn check(group: &str, kind: &str, object: &mut Value) {
    let now = Timestamp::UNIX_EPOCH;
    columns::cells(group, kind, object, now);
    columns::conditions(group, kind, object);
    let Some(strategy) = strategy_of(group, kind) else {
        return;
    };
    (strategy.default)(object);
    let defaulted = object.clone();
    (strategy.default)(object);
    assert_eq!(*object, defaulted, "defaults change what they have filled in");
    (strategy.prepare_for_create)(object);
    (strategy.validate)(object, &mut Vec::new());
    (strategy.warnings_on_create)(object);
    columns::cells(group, kind, object, now);
}

fn update(group: &str, kind: &str, newer: Value, old: &Value) {
    let Some(strategy) = strategy_of(group, kind) else {
        return;
    };
    let mut status = newer.clone();
    (strategy.prepare_for_status_update)(&mut status, old);
    (strategy.validate_status_update)(&status, old, &mut Vec::new());
    let mut newer = newer;
    (strategy.prepare_for_update)(&mut newer, old);
    (strategy.validate_update)(&newer, old, &mut Vec::new());
    (strategy.warnings_on_update)(&newer, old);
}
