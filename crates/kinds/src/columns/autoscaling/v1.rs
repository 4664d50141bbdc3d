//! Autoscalers of `autoscaling/v1`: one CPU target in a field, all other metrics as JSON in annotations.
//! Both are put into the words of `autoscaling/v2` here.

use serde_json::{Map, Value, json};

use super::super::row::Row;
use crate::read::{get, int, text};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";

/// The CPU share aimed at when nothing else is.
const DEFAULT_CPU_SHARE: i64 = 80;

/// An amount of a metric: its name in v2, its field in v1, and whether v1 takes a missing one for zero.
type Amount = (&'static str, &'static str, bool);

pub(super) fn metrics(row: &Row<'_>) -> Vec<Value> {
    let mut metrics: Vec<Value> = annotated(row, METRICS)
        .unwrap_or_default()
        .iter()
        .map(|metric| convert(metric, "target"))
        .collect();
    let share = int(row.spec(), "targetCPUUtilizationPercentage");
    if share.is_some() || metrics.is_empty() {
        metrics.push(cpu("target", share.unwrap_or(DEFAULT_CPU_SHARE)));
    }
    metrics
}

pub(super) fn current_metrics(row: &Row<'_>) -> Vec<Value> {
    if let Some(metrics) = annotated(row, CURRENT_METRICS) {
        return metrics.iter().map(|metric| convert(metric, "current")).collect();
    }
    let share = int(row.status(), "currentCPUUtilizationPercentage");
    share.map(|share| cpu("current", share)).into_iter().collect()
}

fn annotated(row: &Row<'_>, annotation: &str) -> Option<Vec<Value>> {
    serde_json::from_str(get(get(row.metadata(), "annotations"), annotation).as_str()?).ok()
}

fn cpu(side: &str, share: i64) -> Value {
    json!({"type": "Resource", "resource": {"name": "cpu", side: {"averageUtilization": share}}})
}

/// A metric with the amounts of its source gathered under `target` or `current`.
fn convert(metric: &Value, side: &str) -> Value {
    let r#type = text(metric, "type");
    let Some(key) = super::source_key(r#type) else {
        return metric.clone();
    };
    let source = get(metric, key);
    let mut gathered = Map::new();
    for (name, field, zero_when_missing) in amounts(key, side) {
        match get(source, field) {
            Value::Null if *zero_when_missing => gathered.insert((*name).to_owned(), "0".into()),
            Value::Null => None,
            amount => gathered.insert((*name).to_owned(), amount.clone()),
        };
    }
    json!({"type": r#type, key: {"name": text(source, "name"), side: gathered}})
}

fn amounts(source: &str, side: &str) -> &'static [Amount] {
    match (source, side) {
        ("external", "target") => &[
            ("value", "targetValue", false),
            ("averageValue", "targetAverageValue", false),
        ],
        ("external", _) => &[
            ("value", "currentValue", true),
            ("averageValue", "currentAverageValue", false),
        ],
        ("object", "target") => &[
            ("value", "targetValue", true),
            ("averageValue", "averageValue", false),
        ],
        ("object", _) => &[
            ("value", "currentValue", true),
            ("averageValue", "averageValue", false),
        ],
        ("pods", "target") => &[("averageValue", "targetAverageValue", true)],
        ("pods", _) => &[("averageValue", "currentAverageValue", true)],
        (_, "target") => &[
            ("averageValue", "targetAverageValue", false),
            ("averageUtilization", "targetAverageUtilization", false),
        ],
        _ => &[
            ("averageValue", "currentAverageValue", true),
            ("averageUtilization", "currentAverageUtilization", false),
        ],
    }
}
