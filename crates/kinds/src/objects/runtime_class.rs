//! RuntimeClass: which container runtime runs a pod, and on which nodes it is found.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    deprecated_labels,
    field::{Errors, Field},
    resource_names,
};
use crate::{label_selector, names, read, strategy::Strategy};

pub(crate) static STRATEGY: Strategy = Strategy {
    validate,
    validate_update: |class, old, errors| {
        validate(class, errors);
        Field::root(class)
            .child("handler")
            .immutable(read::get(old, "handler"), errors);
    },
    warnings_on_create: warnings,
    warnings_on_update: |class, _| warnings(class),
    ..Strategy::NONE
};

fn validate(class: &Value, errors: &mut Errors) {
    let root = Field::root(class);
    root.child("handler").syntax(names::dns_label, errors);
    // Errors name the overhead as the limits it is checked as.
    let path = root.path().child("overhead").child("limits");
    for (name, amount) in Field::at(read::at(class, &["overhead", "podFixed"]), &path).entries() {
        resource_names::validate_container(name, &amount, errors);
        resource_names::validate_amount(name, &amount, errors);
    }
    let selector = root.child("scheduling.nodeSelector");
    label_selector::validate_labels(selector.value, &selector.path(), errors);
    let tolerations = root.child("scheduling.tolerations");
    validate_tolerations(
        &Field::at(tolerations.value, &tolerations.path().child("tolerations")),
        errors,
    );
    validate_unique(&tolerations, errors);
}

fn validate_tolerations(tolerations: &Field<'_>, errors: &mut Errors) {
    for toleration in tolerations.items() {
        let (key, operator) = (toleration.child("key"), toleration.child("operator"));
        let (value, effect) = (toleration.child("value"), toleration.child("effect"));
        key.optional_syntax(names::qualified_name, errors);
        if key.is_empty() && operator.text() != "Exists" {
            operator.invalid_as(
                operator.text(),
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
                errors,
            );
        }
        if toleration.child("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            effect.invalid_as(effect.text(), detail, errors);
        }
        match operator.text() {
            "Equal" | "" => {
                let complaints = names::label_value(value.text());
                if !complaints.is_empty() {
                    operator.invalid_as(value.text(), complaints.join(";"), errors);
                }
            }
            "Exists" if !value.is_empty() => {
                operator.invalid_as(
                    value.text(),
                    "value must be empty when `operator` is 'Exists'",
                    errors,
                );
            }
            "Exists" => {}
            _ => operator.not_supported(&["Equal", "Exists"], errors),
        }
        if !effect.is_empty() {
            effect.one_of(&["NoSchedule", "PreferNoSchedule", "NoExecute"], errors);
        }
    }
}

fn validate_unique(tolerations: &Field<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for toleration in tolerations.items() {
        let identity =
            ["key", "operator", "value", "effect"].map(|field| read::text(toleration.value, field));
        if !seen.insert(identity) {
            toleration.duplicate_shown("Toleration", errors);
        }
    }
}

fn warnings(class: &Value) -> Vec<String> {
    let labels = read::at(class, &["scheduling", "nodeSelector"]).as_object();
    labels
        .into_iter()
        .flatten()
        .filter_map(|(label, _)| deprecated_labels::message(label))
        .map(|message| format!("scheduling.nodeSelector: {message}"))
        .collect()
}
