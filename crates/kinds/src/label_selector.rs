//! Label selectors and label maps, as every kind that selects by labels checks them.

use manifests::field::{FieldError, Path};
use serde_json::Value;

use crate::{names, read};

/// Checks a `LabelSelector`; a missing one is fine.
pub fn validate(selector: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    if selector.is_null() {
        return;
    }
    validate_labels(
        read::get(selector, "matchLabels"),
        &path.child("matchLabels"),
        errors,
    );
    for (index, requirement) in read::list(selector, "matchExpressions").iter().enumerate() {
        validate_requirement(requirement, &path.child("matchExpressions").index(index), errors);
    }
}

/// Whether a selector matches everything: it is there and has no terms.
pub fn is_empty(selector: &Value) -> bool {
    read::entries(selector, "matchLabels").next().is_none()
        && read::list(selector, "matchExpressions").is_empty()
}

/// Checks the keys and values of a map of labels. Complaints name the map, not the entry.
pub fn validate_labels(labels: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        for complaint in names::qualified_name(key) {
            errors.push(FieldError::invalid(path, &key.as_str().into(), complaint));
        }
        for complaint in names::label_value(value.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid(path, value, complaint));
        }
    }
}

fn validate_requirement(requirement: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let values = read::list(requirement, "values");
    match read::text(requirement, "operator") {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            &path.child("values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            &path.child("values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        operator => errors.push(FieldError::invalid(
            &path.child("operator"),
            &operator.into(),
            "not a valid selector operator",
        )),
    }
    let key = read::text(requirement, "key");
    for complaint in names::qualified_name(key) {
        errors.push(FieldError::invalid(&path.child("key"), &key.into(), complaint));
    }
    for (index, value) in values.iter().enumerate() {
        for complaint in names::label_value(value.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid(
                &path.child("values").index(index),
                value,
                complaint,
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(selector: &Value, expected: &[&str]) {
        let mut errors = Vec::new();
        validate(selector, &Path::new("spec").child("selector"), &mut errors);
        let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn selectors_need_known_operators_and_fitting_values() {
        check(&json!({"matchLabels": {"app": "web"}}), &[]);
        check(
            &json!({"matchExpressions": [{"key": "a", "operator": "In"}]}),
            &[
                "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            ],
        );
        check(
            &json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}),
            &[
                "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ],
        );
        check(
            &json!({"matchExpressions": [{"key": "a", "operator": "Is"}]}),
            &[
                "spec.selector.matchExpressions[0].operator: Invalid value: \"Is\": not a valid selector operator",
            ],
        );
    }
}
