//! Affinity: which nodes and which neighbours a pod wants.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Options, label_keys};
use crate::{
    checks::{Errors, syntax, syntax_of},
    label_selector, names,
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
        let allow = options.allow_invalid_node_affinity_values;
        validate_node_selector(get(affinity, REQUIRED), allow, &path.child(REQUIRED), errors);
    }
    for (i, term) in list(affinity, PREFERRED).iter().enumerate() {
        let path = path.child(PREFERRED).index(i);
        validate_weight(term, &path, errors);
        validate_node_term(get(term, "preference"), true, &path.child("preference"), errors);
    }
}

fn validate_weight(term: &Value, path: &Path, errors: &mut Errors) {
    let weight = int(term, "weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        let detail = "must be in the range 1-100";
        errors.push(FieldError::invalid(&path.child("weight"), &json!(weight), detail));
    }
}

/// Checks a selector of nodes.
fn validate_node_selector(selector: &Value, allow_invalid_values: bool, path: &Path, errors: &mut Errors) {
    let terms = list(selector, "nodeSelectorTerms");
    let path = path.child("nodeSelectorTerms");
    if terms.is_empty() {
        errors.push(FieldError::required(
            &path,
            "must have at least one node selector term",
        ));
    }
    for (i, term) in terms.iter().enumerate() {
        validate_node_term(term, allow_invalid_values, &path.index(i), errors);
    }
}

fn validate_node_term(term: &Value, allow_invalid_values: bool, path: &Path, errors: &mut Errors) {
    for (i, requirement) in list(term, "matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(i);
        validate_node_labels(requirement, allow_invalid_values, &path, errors);
    }
    for (i, requirement) in list(term, "matchFields").iter().enumerate() {
        validate_node_fields(requirement, &path.child("matchFields").index(i), errors);
    }
}

fn validate_node_labels(requirement: &Value, allow_invalid_values: bool, path: &Path, errors: &mut Errors) {
    let values = list(requirement, "values");
    let values_path = || path.child("values");
    match text(requirement, "operator") {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            &values_path(),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            &values_path(),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "Gt" | "Lt" if values.len() != 1 => errors.push(FieldError::required(
            &values_path(),
            "must be specified single value when `operator` is 'Lt' or 'Gt'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => refuse_operator(other, path, errors),
    }
    syntax(requirement, "key", names::qualified_name, path, errors);
    if !allow_invalid_values {
        for (i, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            syntax_of(value, names::label_value, &values_path().index(i), errors);
        }
    }
}

fn validate_node_fields(requirement: &Value, path: &Path, errors: &mut Errors) {
    let values = list(requirement, "values");
    match text(requirement, "operator") {
        "In" | "NotIn" if values.len() != 1 => errors.push(FieldError::required(
            &path.child("values"),
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )),
        "In" | "NotIn" => {}
        other => refuse_operator(other, path, errors),
    }
    let key = text(requirement, "key");
    if key != "metadata.name" {
        errors.push(FieldError::invalid(
            &path.child("key"),
            &json!(key),
            "not a valid field selector key",
        ));
        return;
    }
    for (i, value) in values.iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        syntax_of(
            value,
            names::dns_subdomain,
            &path.child("values").index(i),
            errors,
        );
    }
}

fn refuse_operator(operator: &str, path: &Path, errors: &mut Errors) {
    let detail = "not a valid selector operator";
    errors.push(FieldError::invalid(
        &path.child("operator"),
        &json!(operator),
        detail,
    ));
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
