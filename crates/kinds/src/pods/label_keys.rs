//! `matchLabelKeys` and `mismatchLabelKeys`: keys whose values are taken from the pod's own labels.

use std::collections::HashSet;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    checks::{Errors, syntax_of},
    names,
    read::{entries, get, list, text},
};

/// Checks the keys of a term or constraint against its own selector.
pub(super) fn validate(term: &Value, path: &Path, errors: &mut Errors) {
    let selector = get(term, "labelSelector");
    let (matching, mismatching) = (list(term, "matchLabelKeys"), list(term, "mismatchLabelKeys"));
    validate_keys(matching, selector, || path.child("matchLabelKeys"), errors);
    validate_keys(mismatching, selector, || path.child("mismatchLabelKeys"), errors);
    let mut selected: HashSet<&str> = entries(selector, "matchLabels")
        .map(|(key, _)| key.as_str())
        .collect();
    for expression in list(selector, "matchExpressions") {
        let key = text(expression, "key");
        if let Some(i) = matching.iter().rposition(|matching| matching == key)
            && selected.contains(key)
        {
            let detail = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid(&path.index(i), &json!(key), detail));
        }
        selected.insert(key);
    }
    for (i, key) in matching
        .iter()
        .enumerate()
        .filter(|(_, key)| mismatching.contains(key))
    {
        let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
        errors.push(FieldError::invalid(
            &path.child("matchLabelKeys").index(i),
            key,
            detail,
        ));
    }
}

fn validate_keys(keys: &[Value], selector: &Value, path: impl Fn() -> Path, errors: &mut Errors) {
    if keys.is_empty() {
        return;
    }
    if selector.is_null() {
        let detail = "must not be specified when labelSelector is not set";
        errors.push(FieldError::forbidden(&path(), detail));
        return;
    }
    for (i, key) in keys.iter().enumerate() {
        syntax_of(
            key.as_str().unwrap_or_default(),
            names::qualified_name,
            &path().index(i),
            errors,
        );
    }
}

/// The older rule, for constraints that were accepted under it: no key may be selected on twice.
pub(super) fn validate_without_merge(term: &Value, path: &Path, errors: &mut Errors) {
    let selector = get(term, "labelSelector");
    let keys = list(term, "matchLabelKeys");
    if keys.is_empty() {
        return;
    }
    let path = path.child("matchLabelKeys");
    if selector.is_null() {
        let detail = "must not be specified when labelSelector is not set";
        errors.push(FieldError::forbidden(&path, detail));
    }
    let expressions = list(selector, "matchExpressions")
        .iter()
        .map(|expression| text(expression, "key"));
    let selected: HashSet<&str> = entries(selector, "matchLabels")
        .map(|(key, _)| key.as_str())
        .chain(expressions)
        .collect();
    for (i, key) in keys.iter().enumerate() {
        let key = key.as_str().unwrap_or_default();
        syntax_of(key, names::qualified_name, &path.index(i), errors);
        if selected.contains(key) {
            let detail = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid(&path.index(i), &json!(key), detail));
        }
    }
}

/// Writes the values of a new pod's own labels into the selector that names their keys.
pub(super) fn merge(term: &mut Value, labels: &Value) {
    let requirement = |operator: &'static str| {
        move |key: &Value| {
            let value = labels.get(key.as_str()?)?;
            Some(json!({"key": key, "operator": operator, "values": [value]}))
        }
    };
    let matching = list(term, "matchLabelKeys").iter().filter_map(requirement("In"));
    let mismatching = list(term, "mismatchLabelKeys")
        .iter()
        .filter_map(requirement("NotIn"));
    let added: Vec<Value> = matching.chain(mismatching).collect();
    if added.is_empty() {
        return;
    }
    if let Some(Value::Object(selector)) = term.get_mut("labelSelector") {
        let expressions = selector.entry("matchExpressions").or_insert_with(|| json!([]));
        if let Value::Array(expressions) = expressions {
            expressions.extend(added);
        }
    }
}
