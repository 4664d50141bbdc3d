//! Label selectors: what they may say, and which labels they match.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    checks::{Errors, syntax, syntax_of},
    internal_form, names,
    read::{entries, get, list, text},
};

/// Checks a selector; a missing one is fine.
pub fn validate(selector: &Value, path: &Path, errors: &mut Errors) {
    validate_with(selector, false, path, errors);
}

/// As `validate`, but objects that already have values no label can have may keep them.
pub fn validate_with(selector: &Value, allow_invalid_values: bool, path: &Path, errors: &mut Errors) {
    if selector.is_null() {
        return;
    }
    validate_labels(get(selector, "matchLabels"), &path.child("matchLabels"), errors);
    for (i, requirement) in list(selector, "matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(i);
        validate_requirement(requirement, allow_invalid_values, &path, errors);
    }
}

fn validate_requirement(requirement: &Value, allow_invalid_values: bool, path: &Path, errors: &mut Errors) {
    let values = list(requirement, "values");
    match text(requirement, "operator") {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            &path.child("values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            &path.child("values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => errors.push(FieldError::invalid(
            &path.child("operator"),
            &json!(other),
            "not a valid selector operator",
        )),
    }
    syntax(requirement, "key", names::qualified_name, path, errors);
    if !allow_invalid_values {
        for (i, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            syntax_of(value, names::label_value, &path.child("values").index(i), errors);
        }
    }
}

/// Checks the keys and values of a map of labels. Complaints name the map, not the entry.
pub fn validate_labels(labels: &Value, path: &Path, errors: &mut Errors) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        for message in names::qualified_name(key) {
            errors.push(FieldError::invalid(path, &json!(key), message));
        }
        for message in names::label_value(value.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid(path, value, message));
        }
    }
}

/// Whether any expression has a value that could be no label's.
pub fn has_invalid_value(selector: &Value) -> bool {
    list(selector, "matchExpressions")
        .iter()
        .flat_map(|requirement| list(requirement, "values"))
        .any(|value| !names::label_value(value.as_str().unwrap_or_default()).is_empty())
}

/// Whether a selector asks for nothing.
pub fn is_empty(selector: &Value) -> bool {
    entries(selector, "matchLabels").next().is_none() && list(selector, "matchExpressions").is_empty()
}

/// Whether the selector can be used at all; one with nonsense in it matches nothing and is skipped.
pub fn is_usable(selector: &Value) -> bool {
    let mut errors = Errors::new();
    validate(selector, &Path::root(), &mut errors);
    errors.is_empty()
}

/// Whether a selector matches some labels. A missing selector matches nothing.
pub fn matches(selector: &Value, labels: &Value) -> bool {
    !selector.is_null()
        && entries(selector, "matchLabels").all(|(key, value)| labels.get(key) == Some(value))
        && list(selector, "matchExpressions")
            .iter()
            .all(|requirement| satisfies(requirement, labels))
}

fn satisfies(requirement: &Value, labels: &Value) -> bool {
    let value = labels.get(text(requirement, "key"));
    let listed = value.is_some_and(|value| list(requirement, "values").contains(value));
    match text(requirement, "operator") {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

/// An "invalid value" error that shows a selector.
pub fn invalid(path: &Path, selector: &Value, detail: &str) -> FieldError {
    internal_form::invalid(path, selector, "*LabelSelector", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requirements_must_hold() {
        let selector = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["front", "back"]},
                {"key": "canary", "operator": "DoesNotExist"},
            ],
        });
        assert!(matches(&selector, &json!({"app": "web", "tier": "back"})));
        assert!(!matches(
            &selector,
            &json!({"app": "web", "tier": "back", "canary": "1"})
        ));
        assert!(!matches(&selector, &json!({"app": "web"})));
        assert!(matches(&json!({}), &json!({})));
        assert!(!matches(&Value::Null, &json!({})));
    }
}
