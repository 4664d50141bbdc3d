//! Autoscalers: what they watch and how far they are from it.

mod v1;

use std::borrow::Cow;

use serde_json::Value;

use super::{
    AGE, NAME, Table, integer,
    row::{NONE, Row, UNKNOWN, UNSET, cells, first_few, number, quantity},
    string,
};
use crate::read::{get, int, list, text};

/// How many metrics are written out.
const SHOWN: usize = 2;

pub(super) static HORIZONTAL_POD_AUTOSCALER: Table = Table {
    columns: &[
        NAME,
        string("Reference", "Workload that is scaled."),
        string(
            "Targets",
            "Metrics watched: what they are, of what they should be.",
        ),
        string("MinPods", "Fewest pods there may be."),
        string("MaxPods", "Most pods there may be."),
        string("Replicas", "Pods there are."),
        AGE,
    ],
    cells: |row| {
        let spec = row.spec();
        let target = get(spec, "scaleTargetRef");
        cells![
            row.name(),
            format!("{}/{}", text(target, "kind"), text(target, "name")),
            targets(row),
            int(spec, "minReplicas").map_or_else(|| UNSET.to_owned(), |pods| pods.to_string()),
            number(spec, "maxReplicas"),
            number(row.status(), "currentReplicas"),
            row.age(),
        ]
    },
};

pub(super) static SCALE: Table = Table {
    columns: &[
        string("Name", "Name of the object."),
        integer("Desired", "Pods asked for."),
        integer("Available", "Pods there are."),
        AGE,
    ],
    cells: |row| {
        cells![
            row.name(),
            number(row.spec(), "replicas"),
            number(row.status(), "replicas"),
            row.age()
        ]
    },
};

fn targets(row: &Row<'_>) -> String {
    let (specs, statuses) = metrics(row);
    if specs.is_empty() {
        return NONE.to_owned();
    }
    first_few(specs.iter().enumerate(), SHOWN, ", ", |(i, spec)| {
        metric(spec, statuses.get(i))
    })
}

/// The metrics asked for and those measured, in the words of `autoscaling/v2`.
fn metrics<'a>(row: &Row<'a>) -> (Cow<'a, [Value]>, Cow<'a, [Value]>) {
    if text(row.object, "apiVersion") == "autoscaling/v1" {
        return (v1::metrics(row).into(), v1::current_metrics(row).into());
    }
    (
        list(row.spec(), "metrics").into(),
        list(row.status(), "currentMetrics").into(),
    )
}

/// One metric: `cpu: 40%/80%`, `12/100 (avg)`.
fn metric(spec: &Value, status: Option<&Value>) -> String {
    let Some(source_key) = source_key(text(spec, "type")) else {
        return "<unknown type>".to_owned();
    };
    let source = get(spec, source_key);
    let target = get(source, "target");
    let current = status
        .map(|status| get(status, source_key))
        .filter(|source| !source.is_null());
    let current = current.map(|source| get(source, "current"));
    match source_key {
        "resource" | "containerResource" => format!("{}: {}", text(source, "name"), of_pods(current, target)),
        "pods" => format!(
            "{}/{}",
            measured(current, "averageValue"),
            amount(get(target, "averageValue"))
        ),
        _ => of_value(current, target),
    }
}

fn source_key(r#type: &str) -> Option<&'static str> {
    Some(match r#type {
        "ContainerResource" => "containerResource",
        "External" => "external",
        "Object" => "object",
        "Pods" => "pods",
        "Resource" => "resource",
        _ => return None,
    })
}

/// A resource of pods, as an amount or as a share of what they request.
fn of_pods(current: Option<&Value>, target: &Value) -> String {
    let average = get(target, "averageValue");
    if !average.is_null() {
        return format!("{}/{}", measured(current, "averageValue"), amount(average));
    }
    let share = |holder: &Value| int(holder, "averageUtilization").map(|share| format!("{share}%"));
    let current = current.and_then(share).unwrap_or_else(|| UNKNOWN.to_owned());
    let target = share(target).unwrap_or_else(|| "<auto>".to_owned());
    format!("{current}/{target}")
}

/// A metric from elsewhere, as a whole or as an average over the pods.
fn of_value(current: Option<&Value>, target: &Value) -> String {
    let average = get(target, "averageValue");
    if average.is_null() {
        return format!("{}/{}", measured(current, "value"), amount(get(target, "value")));
    }
    let current = current.filter(|current| !get(current, "averageValue").is_null());
    format!("{}/{} (avg)", measured(current, "averageValue"), amount(average))
}

fn measured(current: Option<&Value>, key: &str) -> String {
    current.map_or_else(|| UNKNOWN.to_owned(), |current| amount(get(current, key)))
}

/// A quantity that should be there; the real server shows Go's word when it is not.
fn amount(value: &Value) -> String {
    if value.is_null() {
        "<nil>".to_owned()
    } else {
        quantity(value)
    }
}
