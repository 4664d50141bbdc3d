//! Affinity: which nodes and which neighbours a pod wants.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Options, label_keys};
use crate::{
    checks::{Errors, syntax, syntax_of},
    field::Field,
    label_selector, names, node_selector,
    read::{get, has, int, list, text},
};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Checks the affinity of a pod; `path` is that of the spec.
pub(super) fn validate(spec: &Value, options: Options, path: &Path, errors: &mut Errors) {
    let affinity = get(spec, "affinity");
    if affinity.is_null() {
        return;
    }
    let path = path.child("affinity");
    validate_nodes(
        get(affinity, "nodeAffinity"),
        options,
        &path.child("nodeAffinity"),
        errors,
    );
    for key in ["podAffinity", "podAntiAffinity"] {
        validate_pods(get(affinity, key), options, &path.child(key), errors);
    }
}

fn validate_nodes(affinity: &Value, options: Options, path: &Path, errors: &mut Errors) {
    if has(affinity, REQUIRED) {
        let path = path.child(REQUIRED);
        let selector = Field::at(get(affinity, REQUIRED), &path);
        node_selector::validate_with(&selector, options.allow_invalid_node_affinity_values, errors);
    }
    for (i, term) in list(affinity, PREFERRED).iter().enumerate() {
        let path = path.child(PREFERRED).index(i);
        validate_weight(term, &path, errors);
        let path = path.child("preference");
        node_selector::validate_term(&Field::at(get(term, "preference"), &path), true, errors);
    }
}

fn validate_weight(term: &Value, path: &Path, errors: &mut Errors) {
    let weight = int(term, "weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        let detail = "must be in the range 1-100";
        errors.push(FieldError::invalid(&path.child("weight"), &json!(weight), detail));
    }
}

fn validate_pods(affinity: &Value, options: Options, path: &Path, errors: &mut Errors) {
    for (i, term) in list(affinity, REQUIRED).iter().enumerate() {
        validate_pod_term(term, options, &path.child(REQUIRED).index(i), errors);
    }
    for (i, term) in list(affinity, PREFERRED).iter().enumerate() {
        let path = path.child(PREFERRED).index(i);
        validate_weight(term, &path, errors);
        validate_pod_term(
            get(term, "podAffinityTerm"),
            options,
            &path.child("podAffinityTerm"),
            errors,
        );
    }
}

fn validate_pod_term(term: &Value, options: Options, path: &Path, errors: &mut Errors) {
    validate_selectors(term, options.allow_invalid_selector_values, path, errors);
    for name in list(term, "namespaces") {
        syntax_of(
            name.as_str().unwrap_or_default(),
            names::dns_label,
            &path.child("namespace"),
            errors,
        );
    }
    label_keys::validate(term, path, errors);
    if text(term, "topologyKey").is_empty() {
        errors.push(FieldError::required(
            &path.child("topologyKey"),
            "can not be empty",
        ));
    }
    syntax(term, "topologyKey", names::qualified_name, path, errors);
}

fn validate_selectors(term: &Value, allow_invalid_values: bool, path: &Path, errors: &mut Errors) {
    for key in ["labelSelector", "namespaceSelector"] {
        label_selector::validate_with(get(term, key), allow_invalid_values, &path.child(key), errors);
    }
}

/// All terms about other pods, wanted near or far.
pub(super) fn pod_terms(spec: &Value) -> impl Iterator<Item = &Value> {
    ["podAffinity", "podAntiAffinity"]
        .into_iter()
        .flat_map(move |key| {
            let affinity = get(get(spec, "affinity"), key);
            let preferred = list(affinity, PREFERRED)
                .iter()
                .map(|term| get(term, "podAffinityTerm"));
            list(affinity, REQUIRED).iter().chain(preferred)
        })
}

/// Whether a pod already has a selector of other pods that would be refused today.
pub(super) fn has_invalid_selector(spec: &Value) -> bool {
    pod_terms(spec).any(|term| {
        let mut errors = Errors::new();
        validate_selectors(term, false, &Path::root(), &mut errors);
        !errors.is_empty()
    })
}

/// Whether a pod already asks for nodes with a label value that no label can have.
pub(super) fn has_invalid_node_value(spec: &Value) -> bool {
    let required = get(get(get(spec, "affinity"), "nodeAffinity"), REQUIRED);
    list(required, "nodeSelectorTerms")
        .iter()
        .any(label_selector::has_invalid_value)
}

/// While a pod waits behind gates, its terms about nodes may only get stricter.
pub(super) fn validate_tightening(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    let old_terms = list(get(old, REQUIRED), "nodeSelectorTerms");
    let new_terms = list(get(new, REQUIRED), "nodeSelectorTerms");
    if old_terms.is_empty() {
        return;
    }
    let path = path.child(REQUIRED).child("nodeSelectorTerms");
    if old_terms.len() != new_terms.len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        let shown = get(get(new, REQUIRED), "nodeSelectorTerms");
        errors.push(crate::internal_form::invalid(
            &path,
            shown,
            "[]NodeSelectorTerm",
            detail,
        ));
        return;
    }
    for (i, (new, old)) in new_terms.iter().zip(old_terms).enumerate() {
        if !only_adds(new, old) {
            let detail = "only additions are allowed (no mutations or deletions)";
            errors.push(crate::internal_form::invalid(
                &path.index(i),
                new,
                "NodeSelectorTerm",
                detail,
            ));
        }
    }
}

fn only_adds(new: &Value, old: &Value) -> bool {
    let keys = ["matchExpressions", "matchFields"];
    let was_empty = keys.iter().all(|key| list(old, key).is_empty());
    let is_empty = keys.iter().all(|key| list(new, key).is_empty());
    if was_empty && !is_empty {
        return false;
    }
    keys.iter().all(|key| list(new, key).starts_with(list(old, key)))
}
