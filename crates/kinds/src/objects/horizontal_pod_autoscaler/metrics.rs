//! The metrics an autoscaler looks at: exactly one source each, with a target that fits it.

use serde_json::Value;

use super::{VersionRule, validate_reference, version_complaint};
use crate::{
    names,
    objects::{
        field::{Errors, Field},
        resource_names,
    },
    read,
};

const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

type Check = fn(&Field<'_>, VersionRule, &mut Errors);

/// The sources in the order the real server looks at them.
const SOURCES: [(&str, &str, Check); 5] = [
    ("object", "Object", validate_object),
    ("external", "External", |source, _, errors| {
        validate_external(source, errors);
    }),
    ("pods", "Pods", |source, _, errors| validate_pods(source, errors)),
    ("resource", "Resource", |source, _, errors| {
        validate_resource(source, errors);
    }),
    ("containerResource", "ContainerResource", |source, _, errors| {
        validate_container(source, errors);
    }),
];

pub(super) fn validate(spec: &Field<'_>, old: &Value, errors: &mut Errors) {
    let metrics = spec.child("metrics");
    let rule = object_rule(old);
    for metric in metrics.items() {
        validate_metric(&metric, rule, errors);
    }
    let outside = metrics
        .items()
        .any(|metric| matches!(metric.child("type").text(), "Object" | "External"));
    if spec.child("minReplicas").int() == Some(0) && !outside {
        metrics.forbidden(
            "must specify at least one Object or External metric to support scaling to zero replicas",
            errors,
        );
    }
}

/// Versions that were wrong before may stay wrong.
fn object_rule(old: &Value) -> VersionRule {
    let was_wrong = read::list(read::get(old, "spec"), "metrics")
        .iter()
        .any(|metric| {
            let version = read::at(metric, &["object", "describedObject", "apiVersion"]);
            version_complaint(version.as_str().unwrap_or_default(), VersionRule::MayBeCore).is_some()
        });
    if was_wrong {
        VersionRule::Any
    } else {
        VersionRule::MayBeCore
    }
}

fn validate_metric(metric: &Field<'_>, rule: VersionRule, errors: &mut Errors) {
    let kind = metric.child("type");
    if kind.is_empty() {
        kind.required_because("must specify a metric source type", errors);
    }
    kind.one_of(&TYPES, errors);
    let present: Vec<_> = SOURCES
        .iter()
        .filter(|(field, ..)| metric.child(field).is_set())
        .collect();
    if let Some((field, _, check)) = present.first() {
        check(&metric.child(field), rule, errors);
    }
    let expected = SOURCES.iter().find(|(_, name, _)| *name == kind.text());
    match expected {
        Some((field, ..)) if !metric.child(field).is_set() => {
            metric
                .child(field)
                .required_because("must populate information for the given metric source", errors);
        }
        Some(_) => {}
        None => kind.not_supported(&TYPES, errors),
    }
    if present.len() > 1 {
        for (field, name, _) in present {
            if *name != kind.text() {
                metric
                    .child(field)
                    .forbidden("must populate the given metric source only", errors);
            }
        }
    }
}

fn validate_object(source: &Field<'_>, rule: VersionRule, errors: &mut Errors) {
    validate_reference(&source.child("describedObject"), rule, errors);
    validate_identifier(source, errors);
    let target = source.child("target");
    validate_target(&target, errors);
    if !target.child("value").is_set() && !target.child("averageValue").is_set() {
        target
            .child("averageValue")
            .required_because("must set either a target value or averageValue", errors);
    }
}

fn validate_external(source: &Field<'_>, errors: &mut Errors) {
    validate_identifier(source, errors);
    let target = source.child("target");
    validate_target(&target, errors);
    let (value, average) = (target.child("value"), target.child("averageValue"));
    match (value.is_set(), average.is_set()) {
        (false, false) => average.required_because(
            "must set either a target value for metric or a per-pod target",
            errors,
        ),
        (true, true) => {
            value.forbidden(
                "may not set both a target value for metric and a per-pod target",
                errors,
            );
        }
        _ => {}
    }
}

fn validate_pods(source: &Field<'_>, errors: &mut Errors) {
    validate_identifier(source, errors);
    let target = source.child("target");
    validate_target(&target, errors);
    let average = target.child("averageValue");
    if !average.is_set() {
        average.required_because("must specify a positive target averageValue", errors);
    }
}

fn validate_resource(source: &Field<'_>, errors: &mut Errors) {
    let name = source.child("name");
    if name.is_empty() {
        name.required_because("must specify a resource name", errors);
    }
    validate_utilization(&source.child("target"), errors);
}

fn validate_container(source: &Field<'_>, errors: &mut Errors) {
    let (name, container) = (source.child("name"), source.child("container"));
    if name.is_empty() {
        name.required_because("must specify a resource name", errors);
    } else {
        name.syntax(resource_names::of_containers, errors);
    }
    if container.is_empty() {
        container.required_because("must specify a container", errors);
    } else {
        container.syntax(names::dns_label, errors);
    }
    validate_utilization(&source.child("target"), errors);
}

fn validate_utilization(target: &Field<'_>, errors: &mut Errors) {
    validate_target(target, errors);
    let (utilization, average) = (target.child("averageUtilization"), target.child("averageValue"));
    match (utilization.is_set(), average.is_set()) {
        (false, false) => utilization.required_because(
            "must set either a target raw value or a target utilization",
            errors,
        ),
        (true, true) => {
            average.forbidden(
                "may not set both a target raw value and a target utilization",
                errors,
            );
        }
        _ => {}
    }
}

fn validate_target(target: &Field<'_>, errors: &mut Errors) {
    let kind = target.child("type");
    if kind.is_empty() {
        kind.required_because("must specify a metric target type", errors);
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind.text()) {
        kind.invalid_as(
            kind.text(),
            "must be either Utilization, Value, or AverageValue",
            errors,
        );
    }
    for field in ["value", "averageValue"] {
        let amount = target.child(field);
        if amount.is_set() && crate::resource_list::amount_of(amount.value) <= crate::quantity::Quantity::ZERO
        {
            amount.invalid("must be positive", errors);
        }
    }
    let utilization = target.child("averageUtilization");
    if utilization.int().is_some_and(|percent| percent < 1) {
        utilization.invalid("must be greater than 0", errors);
    }
}

fn validate_identifier(source: &Field<'_>, errors: &mut Errors) {
    let name = source.child("metric.name");
    if name.is_empty() {
        name.required_because("must specify a metric name", errors);
    } else {
        name.syntax(names::path_segment, errors);
    }
}
