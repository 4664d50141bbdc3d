//! Rows of every kind against cells recorded from Kubernetes v1.34.4, printed at noon of one day.

use std::{collections::BTreeMap, fs, path::PathBuf};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{Column, cells, columns, conditions, order};
use crate::read::text;

const NOON: &str = "2025-06-01T12:00:00Z";

#[derive(Deserialize)]
struct Recorded {
    case: String,
    object: Value,
    cells: Vec<Value>,
    #[serde(default)]
    conditions: Vec<Value>,
}

#[test]
fn rows_have_the_cells_of_the_real_server() {
    let now: Timestamp = NOON.parse().unwrap();
    let mut wrong = Vec::new();
    for Recorded {
        case,
        object,
        cells: expected,
        ..
    } in cases()
    {
        let (group, kind) = group_and_kind(&object);
        let actual = cells(group, kind, &object, now);
        if actual != expected {
            wrong.push(format!(
                "{kind}, {case}:\n  expected {expected:?}\n  actual   {actual:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn finished_pods_have_a_completed_condition() {
    for Recorded {
        case,
        object,
        conditions: expected,
        ..
    } in cases()
    {
        let (group, kind) = group_and_kind(&object);
        assert_eq!(conditions(group, kind, &object), expected, "{kind}, {case}");
    }
}

#[test]
fn columns_are_defined_as_by_the_real_server() {
    type Definition = (String, String, String, i32);
    let definitions: BTreeMap<String, Vec<Definition>> = read("definitions.json");
    for (id, expected) in definitions {
        let (group, kind) = id.split_once('/').unwrap();
        let definition = |column: &Column| {
            (
                column.name.to_owned(),
                column.r#type.to_owned(),
                column.format.to_owned(),
                column.priority,
            )
        };
        let actual: Vec<Definition> = columns(group, kind).iter().map(definition).collect();
        assert_eq!(actual, expected, "{id}");
    }
}

#[test]
fn every_column_has_a_cell_and_a_description() {
    for Recorded {
        case, object, cells, ..
    } in cases()
    {
        let (group, kind) = group_and_kind(&object);
        let columns = columns(group, kind);
        let without_column = usize::from(kind == "IPAddress");
        assert_eq!(cells.len(), columns.len() + without_column, "{kind}, {case}");
        assert!(
            columns.iter().all(|column| column.description.ends_with('.')),
            "{kind}"
        );
    }
}

#[test]
fn other_kinds_show_name_and_creation_time() {
    let object = serde_json::json!({"metadata": {"name": "x", "creationTimestamp": "2025-05-30T01:02:03Z"}});
    let names: Vec<&str> = columns("example.com", "Widget")
        .iter()
        .map(|column| column.name)
        .collect();
    assert_eq!(names, ["Name", "Created At"]);
    let row = cells("example.com", "Widget", &object, NOON.parse().unwrap());
    assert_eq!(row, ["x", "2025-05-30T01:02:03Z"]);
}

#[test]
fn flow_schemas_are_listed_in_the_order_they_are_tried() {
    let schema = |name, precedence| serde_json::json!({"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}});
    let mut schemas = [
        schema("b", 900),
        schema("catch-all", 10_000),
        schema("a", 900),
        schema("exempt", 1),
    ];
    schemas.sort_by(order("flowcontrol.apiserver.k8s.io", "FlowSchema").unwrap());
    let names: Vec<&str> = schemas
        .iter()
        .map(|schema| text(&schema["metadata"], "name"))
        .collect();
    assert_eq!(names, ["exempt", "a", "b", "catch-all"]);
    assert!(order("", "Pod").is_none());
}

fn group_and_kind(object: &Value) -> (&str, &str) {
    let group = text(object, "apiVersion")
        .split_once('/')
        .map_or("", |(group, _)| group);
    (group, text(object, "kind"))
}

fn cases() -> Vec<Recorded> {
    let files = [
        "api",
        "apps",
        "autoscaling",
        "batch",
        "core",
        "devices",
        "event",
        "networking",
        "node",
        "pod",
        "policy",
        "service",
        "storage",
    ];
    files
        .iter()
        .flat_map(|file| read::<Vec<Recorded>>(&format!("{file}.json")))
        .collect()
}

fn read<T: for<'de> Deserialize<'de>>(file: &str) -> T {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/columns")
        .join(file);
    let content = fs::read_to_string(&path).unwrap();
    serde_json::from_str(&content).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
