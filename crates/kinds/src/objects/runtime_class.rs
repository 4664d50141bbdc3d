//! RuntimeClass: which container runtime runs a pod, and on which nodes it is found.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    deprecated_labels,
    field::{Errors, Field},
    resource_names,
};
use crate::{label_selector, names, pods, read, strategy::Strategy};

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
        amount.named(name, resource_names::of_containers, errors);
        resource_names::validate_amount(name, &amount, errors);
    }
    let selector = root.child("scheduling.nodeSelector");
    label_selector::validate_labels(selector.value, &selector.path(), errors);
    let tolerations = root.child("scheduling.tolerations");
    // Errors name the list twice.
    let path = tolerations.path().child("tolerations");
    pods::validate_tolerations(tolerations.list(), &path, errors);
    validate_unique(&tolerations, errors);
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
