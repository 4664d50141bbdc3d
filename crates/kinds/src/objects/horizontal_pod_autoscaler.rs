//! HorizontalPodAutoscaler: how many replicas a workload gets for its load. Stored and checked as
//! `autoscaling/v2`; `autoscaling/v1` is another view of the same object.

mod metrics;
pub mod v1;

use serde_json::{Value, json};

use super::field::{Errors, Field};
use crate::{names, read, resource_list::amount_of, strategy::Strategy};

const DEFAULT_CPU_UTILIZATION: i64 = 80;
const MAX_WINDOW_SECONDS: i64 = 3600;
const MAX_PERIOD_SECONDS: i64 = 1800;

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    prepare_for_create: |autoscaler| {
        autoscaler["status"] = json!({"currentMetrics": null, "desiredReplicas": 0});
        drop_tolerances(autoscaler, &Value::Null);
    },
    prepare_for_update: |autoscaler, old| {
        super::keep_status(autoscaler, old);
        drop_tolerances(autoscaler, old);
    },
    validate: |autoscaler, errors| validate_spec(autoscaler, &Value::Null, errors),
    validate_update: validate_spec,
    prepare_for_status_update: super::keep_spec,
    validate_status_update: |autoscaler, _, errors| {
        let root = Field::root(autoscaler);
        root.child("status.currentReplicas").not_negative(errors);
        root.child("status.desiredReplicas").not_negative(errors);
    },
    ..Strategy::NONE
};

fn default(autoscaler: &mut Value) {
    let spec = super::spec_mut(autoscaler);
    read::default(spec, "minReplicas", 1);
    if read::list(spec, "metrics").is_empty() {
        spec["metrics"] = json!([cpu_metric(DEFAULT_CPU_UTILIZATION)]);
    }
    if let Some(behavior) = spec.get_mut("behavior").filter(|behavior| behavior.is_object()) {
        let up = json!({
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
        });
        let down = json!({
            "selectPolicy": "Max",
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        });
        for (direction, rules) in [("scaleUp", up), ("scaleDown", down)] {
            read::object_mut(behavior, direction);
            for (name, value) in rules.as_object().into_iter().flatten() {
                read::default(&mut behavior[direction], name, value.clone());
            }
        }
    }
}

fn cpu_metric(utilization: i64) -> Value {
    json!({
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": utilization}},
    })
}

/// Tolerances are not enabled; an autoscaler that has one keeps it.
fn drop_tolerances(autoscaler: &mut Value, old: &Value) {
    const PATHS: [&str; 2] = ["scaleDown", "scaleUp"];
    let before = read::at(old, &["spec", "behavior"]);
    if PATHS
        .iter()
        .any(|direction| !read::at(before, &[direction, "tolerance"]).is_null())
    {
        return;
    }
    for direction in PATHS {
        let rules = autoscaler.pointer_mut(&format!("/spec/behavior/{direction}"));
        rules
            .and_then(Value::as_object_mut)
            .map(|rules| rules.remove("tolerance"));
    }
}

fn validate_spec(autoscaler: &Value, old: &Value, errors: &mut Errors) {
    let root = Field::root(autoscaler);
    let spec = root.child("spec");
    let (min, max) = (spec.child("minReplicas"), spec.child("maxReplicas"));
    let lowest = i64::from(read::at(old, &["spec", "minReplicas"]) != 0);
    if min.int().is_some_and(|replicas| replicas < lowest) {
        min.invalid(format!("must be greater than or equal to {lowest}"), errors);
    }
    let most = max.int().unwrap_or_default();
    if most < 1 {
        max.invalid_as(most, "must be greater than 0", errors);
    }
    if min.int().is_some_and(|replicas| most < replicas) {
        max.invalid_as(most, "must be greater than or equal to `minReplicas`", errors);
    }
    let target = spec.child("scaleTargetRef");
    validate_reference(
        &target,
        target_rule(target.value, read::at(old, &["spec", "scaleTargetRef"])),
        errors,
    );
    metrics::validate(&spec, old, errors);
    for direction in ["behavior.scaleUp", "behavior.scaleDown"] {
        let rules = spec.child(direction);
        if rules.is_set() {
            validate_rules(&rules, errors);
        }
    }
}

/// What an `apiVersion` in a reference may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VersionRule {
    Any,
    MayBeCore,
    NeedsGroup,
}

/// References that stay as they were stay accepted; of the core group only one kind scales.
fn target_rule(target: &Value, before: &Value) -> VersionRule {
    let unchanged = |field| read::get(target, field) == read::get(before, field);
    if !before.is_null() && unchanged("apiVersion") && unchanged("kind") {
        VersionRule::Any
    } else if read::text(target, "kind") == "ReplicationController" {
        VersionRule::MayBeCore
    } else {
        VersionRule::NeedsGroup
    }
}

fn validate_reference(reference: &Field<'_>, rule: VersionRule, errors: &mut Errors) {
    reference
        .child("kind")
        .require_syntax(names::path_segment, errors);
    reference
        .child("name")
        .require_syntax(names::path_segment, errors);
    let version = reference.child("apiVersion");
    if let Some(complaint) = version_complaint(version.text(), rule) {
        version.invalid_as(version.text(), complaint, errors);
    }
}

fn version_complaint(version: &str, rule: VersionRule) -> Option<String> {
    match version.matches('/').count() {
        _ if rule == VersionRule::Any => None,
        0 if rule == VersionRule::NeedsGroup => Some("apiVersion must specify API group".to_owned()),
        0 | 1 => None,
        _ => Some(format!("unexpected GroupVersion string: {version}")),
    }
}

fn validate_rules(rules: &Field<'_>, errors: &mut Errors) {
    let window = rules.child("stabilizationWindowSeconds");
    match window.int() {
        Some(..0) => window.invalid("must be greater than or equal to zero", errors),
        Some(seconds) if seconds > MAX_WINDOW_SECONDS => {
            window.invalid(
                format!("must be less than or equal to {MAX_WINDOW_SECONDS}"),
                errors,
            );
        }
        _ => {}
    }
    rules
        .child("selectPolicy")
        .optional_one_of(&["Disabled", "Max", "Min"], errors);
    let policies = rules.child("policies");
    if policies.is_empty() {
        policies.required_because("must specify at least one Policy", errors);
    }
    for policy in policies.items() {
        policy.child("type").one_of(&["Percent", "Pods"], errors);
        policy.child("value").positive(errors);
        let period = policy.child("periodSeconds");
        if period.positive(errors) && period.int() > Some(MAX_PERIOD_SECONDS) {
            period.invalid(
                format!("must be less than or equal to {MAX_PERIOD_SECONDS}"),
                errors,
            );
        }
    }
    let tolerance = rules.child("tolerance");
    if tolerance.is_set() && amount_of(tolerance.value).is_negative() {
        tolerance.invalid("must be greater than or equal to 0", errors);
    }
}
