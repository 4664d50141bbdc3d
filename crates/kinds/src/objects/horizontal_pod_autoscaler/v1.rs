//! The `autoscaling/v1` view of an autoscaler: one CPU percentage in the spec, and everything else
//! it has no field for in annotations, so that a round trip loses nothing.

use serde_json::{Map, Value, json};

use super::{DEFAULT_CPU_UTILIZATION, cpu_metric};
use crate::{internal_form, read};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const ROUND_TRIP: [&str; 6] = [
    METRICS,
    BEHAVIOR,
    CURRENT_METRICS,
    CONDITIONS,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// What the two versions call the parts of a metric: the source, then where `v1` has in it what
/// `v2` has under a path.
type Names = &'static [(&'static str, &'static [&'static str])];

const OBJECT: Names = &[
    ("target", &["describedObject"]),
    ("metricName", &["metric", "name"]),
    ("selector", &["metric", "selector"]),
    ("targetValue", &["target", "value"]),
    ("averageValue", &["target", "averageValue"]),
];
const PODS: Names = &[
    ("metricName", &["metric", "name"]),
    ("selector", &["metric", "selector"]),
    ("targetAverageValue", &["target", "averageValue"]),
];
const RESOURCE: Names = &[
    ("name", &["name"]),
    ("container", &["container"]),
    ("targetAverageUtilization", &["target", "averageUtilization"]),
    ("targetAverageValue", &["target", "averageValue"]),
];
const EXTERNAL: Names = &[
    ("metricName", &["metric", "name"]),
    ("metricSelector", &["metric", "selector"]),
    ("targetValue", &["target", "value"]),
    ("targetAverageValue", &["target", "averageValue"]),
];
const OBJECT_STATUS: Names = &[
    ("target", &["describedObject"]),
    ("metricName", &["metric", "name"]),
    ("selector", &["metric", "selector"]),
    ("currentValue", &["current", "value"]),
    ("averageValue", &["current", "averageValue"]),
];
const PODS_STATUS: Names = &[
    ("metricName", &["metric", "name"]),
    ("selector", &["metric", "selector"]),
    ("currentAverageValue", &["current", "averageValue"]),
];
const RESOURCE_STATUS: Names = &[
    ("name", &["name"]),
    ("container", &["container"]),
    ("currentAverageUtilization", &["current", "averageUtilization"]),
    ("currentAverageValue", &["current", "averageValue"]),
];
const EXTERNAL_STATUS: Names = &[
    ("metricName", &["metric", "name"]),
    ("metricSelector", &["metric", "selector"]),
    ("currentValue", &["current", "value"]),
    ("currentAverageValue", &["current", "averageValue"]),
];

const SPECS: [(&str, Names); 5] = [
    ("object", OBJECT),
    ("pods", PODS),
    ("resource", RESOURCE),
    ("containerResource", RESOURCE),
    ("external", EXTERNAL),
];
const STATUSES: [(&str, Names); 5] = [
    ("object", OBJECT_STATUS),
    ("pods", PODS_STATUS),
    ("resource", RESOURCE_STATUS),
    ("containerResource", RESOURCE_STATUS),
    ("external", EXTERNAL_STATUS),
];

/// Shows a stored (`v2`) autoscaler as `v1`.
pub fn from_v2(autoscaler: &mut Value) {
    autoscaler["apiVersion"] = "autoscaling/v1".into();
    let spec = take(autoscaler, "spec");
    let status = take(autoscaler, "status");
    drop_annotations(autoscaler);

    let metrics = read::list(&spec, "metrics");
    let is_cpu = |metric: &&Value| {
        read::text(metric, "type") == "Resource"
            && read::at(metric, &["resource", "name"]) == "cpu"
            && !read::at(metric, &["resource", "target", "averageUtilization"]).is_null()
    };
    let others: Vec<Value> = metrics
        .iter()
        .filter(|metric| !is_cpu(metric))
        .map(|metric| flatten(metric, &SPECS))
        .collect();
    if !others.is_empty() {
        annotate(autoscaler, METRICS, &Value::Array(others).to_string());
    }
    let current = read::list(&status, "currentMetrics");
    if !current.is_empty() {
        let shown: Vec<Value> = current.iter().map(|metric| flatten(metric, &STATUSES)).collect();
        annotate(autoscaler, CURRENT_METRICS, &Value::Array(shown).to_string());
    }
    if read::has(&spec, "behavior") {
        // The annotation has always held the form of the server's own type.
        let behavior =
            internal_form::compact(read::get(&spec, "behavior"), "HorizontalPodAutoscalerBehavior");
        annotate(autoscaler, BEHAVIOR, &behavior);
    }
    if !read::list(&status, "conditions").is_empty() {
        annotate(
            autoscaler,
            CONDITIONS,
            &read::get(&status, "conditions").to_string(),
        );
    }

    let mut new_spec = pick(&spec, &["scaleTargetRef", "minReplicas", "maxReplicas"]);
    if let Some(cpu) = metrics.iter().find(is_cpu) {
        let utilization = read::at(cpu, &["resource", "target", "averageUtilization"]).clone();
        new_spec.insert("targetCPUUtilizationPercentage".to_owned(), utilization);
    }
    let mut new_status = pick(
        &status,
        &[
            "observedGeneration",
            "lastScaleTime",
            "currentReplicas",
            "desiredReplicas",
        ],
    );
    for required in ["currentReplicas", "desiredReplicas"] {
        new_status.entry(required).or_insert_with(|| 0.into());
    }
    let used = |metric: &&Value| read::at(metric, &["resource", "name"]) == "cpu";
    if let Some(cpu) = current.iter().rfind(used) {
        let utilization = read::at(cpu, &["resource", "current", "averageUtilization"]);
        if !utilization.is_null() {
            new_status.insert("currentCPUUtilizationPercentage".to_owned(), utilization.clone());
        }
    }
    autoscaler["spec"] = new_spec.into();
    autoscaler["status"] = new_status.into();
}

/// Reads an autoscaler written as `v1` into the stored (`v2`) form.
pub fn to_v2(autoscaler: &mut Value) {
    autoscaler["apiVersion"] = "autoscaling/v2".into();
    let spec = take(autoscaler, "spec");
    let status = take(autoscaler, "status");
    let noted = |name: &str| -> Option<Value> {
        let text = read::at(autoscaler, &["metadata", "annotations", name]).as_str()?;
        serde_json::from_str(text).ok()
    };
    let (metrics, behavior, current, conditions) = (
        noted(METRICS),
        noted(BEHAVIOR),
        noted(CURRENT_METRICS),
        noted(CONDITIONS),
    );

    let mut new_spec = pick(&spec, &["scaleTargetRef", "minReplicas", "maxReplicas"]);
    new_spec.insert("metrics".to_owned(), to_metrics(&spec, metrics.as_ref()).into());
    if let Some(behavior) = behavior
        .as_ref()
        .map(lower_behavior)
        .filter(|rules| !rules.is_empty())
    {
        new_spec.insert("behavior".to_owned(), behavior.into());
    }
    let mut new_status = pick(
        &status,
        &[
            "observedGeneration",
            "lastScaleTime",
            "currentReplicas",
            "desiredReplicas",
        ],
    );
    if let Some(Value::Array(current)) = current {
        let raised: Vec<Value> = current
            .iter()
            .map(|metric| unflatten(metric, &STATUSES))
            .collect();
        new_status.insert("currentMetrics".to_owned(), raised.into());
    } else if let Some(utilization) = read::int(&status, "currentCPUUtilizationPercentage") {
        let metric = json!({
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": utilization}},
        });
        new_status.insert("currentMetrics".to_owned(), json!([metric]));
    }
    if let Some(conditions) = conditions {
        new_status.insert("conditions".to_owned(), conditions);
    }
    drop_annotations(autoscaler);
    autoscaler["spec"] = new_spec.into();
    autoscaler["status"] = new_status.into();
}

fn to_metrics(spec: &Value, noted: Option<&Value>) -> Vec<Value> {
    let mut metrics: Vec<Value> = noted
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|metric| with_target_type(unflatten(metric, &SPECS)))
        .collect();
    if let Some(utilization) = read::int(spec, "targetCPUUtilizationPercentage") {
        metrics.push(cpu_metric(utilization));
    }
    if metrics.is_empty() {
        metrics.push(cpu_metric(DEFAULT_CPU_UTILIZATION));
    }
    metrics
}

/// `v2` says which kind of target a metric has; `v1` shows it by the fields that are set.
fn with_target_type(mut metric: Value) -> Value {
    for (source, _) in SPECS {
        let Some(target) = metric.pointer_mut(&format!("/{source}/target")) else {
            continue;
        };
        let kind = match source {
            "resource" | "containerResource" if read::has(target, "averageUtilization") => "Utilization",
            "external" if read::has(target, "value") => "Value",
            "object" if !read::has(target, "averageValue") => "Value",
            _ => "AverageValue",
        };
        target["type"] = kind.into();
    }
    metric
}

/// A `v2` metric in the words of `v1`.
fn flatten(metric: &Value, sources: &[(&str, Names)]) -> Value {
    let mut flat = pick(metric, &["type"]);
    for (source, names) in sources {
        let Some(from) = metric.get(*source) else { continue };
        let fields = names.iter().filter_map(|(flat, path)| {
            let value = read::at(from, path);
            (!value.is_null()).then(|| ((*flat).to_owned(), value.clone()))
        });
        flat.insert((*source).to_owned(), fields.collect::<Map<_, _>>().into());
    }
    flat.into()
}

/// A `v1` metric in the words of `v2`.
fn unflatten(metric: &Value, sources: &[(&str, Names)]) -> Value {
    let mut raised = Value::Object(pick(metric, &["type"]));
    for (source, names) in sources {
        let Some(from) = metric.get(*source) else { continue };
        let mut fields = json!({});
        for (flat, path) in *names {
            let value = read::get(from, flat);
            if value.is_null() {
                continue;
            }
            match path {
                [outer, inner] => fields[*outer][*inner] = value.clone(),
                [only] => fields[*only] = value.clone(),
                _ => {}
            }
        }
        raised[*source] = fields;
    }
    raised
}

/// The inverse of the form behaviour has in its annotation; names are recognised whatever their case.
fn lower_behavior(behavior: &Value) -> Map<String, Value> {
    fn lowered(value: &Value) -> Value {
        match value {
            Value::Object(fields) => fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (lower(name), lowered(value)))
                .collect::<Map<_, _>>()
                .into(),
            Value::Array(items) => items.iter().map(lowered).collect(),
            other => other.clone(),
        }
    }
    match lowered(behavior) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn lower(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_ascii_lowercase())
        .into_iter()
        .chain(letters)
        .collect()
}

fn take(object: &mut Value, field: &str) -> Value {
    object.get_mut(field).map(Value::take).unwrap_or_default()
}

fn pick(object: &Value, fields: &[&str]) -> Map<String, Value> {
    let present = fields.iter().filter(|field| read::has(object, field));
    present
        .map(|field| ((*field).to_owned(), read::get(object, field).clone()))
        .collect()
}

fn annotate(autoscaler: &mut Value, name: &str, text: &str) {
    let annotations = read::object_mut(&mut autoscaler["metadata"], "annotations");
    annotations.insert(name.to_owned(), text.into());
}

fn drop_annotations(autoscaler: &mut Value) {
    let Some(Value::Object(metadata)) = autoscaler.get_mut("metadata") else {
        return;
    };
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.retain(|name, _| !ROUND_TRIP.contains(&name.as_str()));
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::same;

    #[test]
    fn a_round_trip_through_v1_loses_nothing() {
        let stored = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 1, "maxReplicas": 3,
                "metrics": [
                    {"type": "Pods", "pods": {"metric": {"name": "qps"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
                    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
                ],
                "behavior": {"scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}},
            },
            "status": {"currentReplicas": 2, "desiredReplicas": 2, "conditions": [{"type": "AbleToScale", "status": "True"}]},
        });
        let mut view = stored.clone();
        from_v2(&mut view);
        assert_eq!(view["spec"]["targetCPUUtilizationPercentage"], 50);
        assert_eq!(
            view["metadata"]["annotations"][METRICS],
            r#"[{"pods":{"metricName":"qps","targetAverageValue":"10"},"type":"Pods"}]"#
        );
        to_v2(&mut view);
        assert_eq!(view, stored);
    }

    /// What a real server shows of autoscalers written in either version.
    #[test]
    fn both_versions_show_what_a_real_server_shows() {
        let cases: Value = serde_json::from_str(include_str!("testdata/versions.json")).unwrap();
        for case in cases.as_array().unwrap() {
            let mut view = case["v2"].clone();
            from_v2(&mut view);
            assert_eq!(
                without_order(&view),
                without_order(&case["v1"]),
                "{} as v1",
                case["case"]
            );
            let mut written = case["written"].clone();
            if written["apiVersion"] == "autoscaling/v1" {
                to_v2(&mut written);
                read::default(&mut written["spec"], "minReplicas", 1);
                assert!(
                    same(&written["spec"], &case["v2"]["spec"]),
                    "{} as v2",
                    case["case"]
                );
            }
        }
    }

    /// Annotations hold JSON, whose fields have no order that counts.
    fn without_order(autoscaler: &Value) -> Value {
        let mut autoscaler = autoscaler.clone();
        if let Some(Value::Object(annotations)) = autoscaler.pointer_mut("/metadata/annotations") {
            for text in annotations.values_mut() {
                if let Ok(parsed) = serde_json::from_str(text.as_str().unwrap()) {
                    *text = parsed;
                }
            }
        }
        autoscaler
    }

    #[test]
    fn v1_without_a_percentage_means_eighty() {
        let mut autoscaler = json!({"spec": {"maxReplicas": 3}});
        to_v2(&mut autoscaler);
        assert_eq!(autoscaler["spec"]["metrics"], json!([cpu_metric(80)]));
    }
}
