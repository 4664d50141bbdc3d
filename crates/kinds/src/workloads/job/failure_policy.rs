//! `podFailurePolicy`: which failures of pods count, and for what.

use std::collections::HashSet;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    checks::{Errors, syntax},
    names,
    read::{get, has, list, text},
};

const ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS: &[&str] = &["In", "NotIn"];
const STATUSES: &[&str] = &["False", "True", "Unknown"];
const RULES: usize = 20;
const EXIT_CODES: usize = 255;
const PATTERNS: usize = 20;

/// Checks the failure policy of a job; `path` is that of the spec.
pub(super) fn validate(spec: &Value, path: &Path, errors: &mut Errors) {
    let policy = get(spec, "podFailurePolicy");
    if policy.is_null() {
        return;
    }
    let path = path.child("podFailurePolicy").child("rules");
    let rules = list(policy, "rules");
    if rules.len() > RULES {
        errors.push(FieldError::too_many(&path, rules.len(), RULES));
    }
    for (i, rule) in rules.iter().enumerate() {
        validate_rule(rule, spec, &path.index(i), errors);
    }
}

fn validate_rule(rule: &Value, spec: &Value, path: &Path, errors: &mut Errors) {
    if text(rule, "action") == "FailIndex" {
        if !has(spec, "backoffLimitPerIndex") {
            let detail = "requires the backoffLimitPerIndex to be set";
            errors.push(FieldError::invalid(
                &path.child("action"),
                &json!("FailIndex"),
                detail,
            ));
        }
    } else {
        choose(rule, "action", ACTIONS, path, errors);
    }
    let patterns = list(rule, "onPodConditions");
    if has(rule, "onExitCodes") {
        validate_exit_codes(get(rule, "onExitCodes"), spec, &path.child("onExitCodes"), errors);
    }
    if !patterns.is_empty() {
        validate_conditions(patterns, &path.child("onPodConditions"), errors);
    }
    let detail = match (has(rule, "onExitCodes"), !patterns.is_empty()) {
        (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return,
    };
    errors.push(FieldError::invalid_unshown(path, detail));
}

/// A text that must be there and be one of a closed list, which is shown if it is not.
fn choose(object: &Value, key: &str, choices: &[&str], path: &Path, errors: &mut Errors) {
    let value = text(object, key);
    if value.is_empty() {
        let quoted: Vec<String> = choices.iter().map(|choice| format!("{choice:?}")).collect();
        let detail = format!("valid values: [{}]", quoted.join(" "));
        errors.push(FieldError::required(&path.child(key), detail));
    } else if !choices.contains(&value) {
        errors.push(FieldError::not_supported(
            &path.child(key),
            &json!(value),
            choices,
        ));
    }
}

fn validate_conditions(patterns: &[Value], path: &Path, errors: &mut Errors) {
    if patterns.len() > PATTERNS {
        errors.push(FieldError::too_many(path, patterns.len(), PATTERNS));
    }
    for (i, pattern) in patterns.iter().enumerate() {
        let path = path.index(i);
        syntax(pattern, "type", names::qualified_name, &path, errors);
        choose(pattern, "status", STATUSES, &path, errors);
    }
}

fn validate_exit_codes(requirement: &Value, spec: &Value, path: &Path, errors: &mut Errors) {
    choose(requirement, "operator", OPERATORS, path, errors);
    if let Some(name) = get(requirement, "containerName").as_str()
        && !super::container_names(spec).any(|container| container == name)
    {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.push(FieldError::invalid(
            &path.child("containerName"),
            &json!(name),
            detail,
        ));
    }
    let path = path.child("values");
    let values: Vec<i64> = list(requirement, "values")
        .iter()
        .filter_map(Value::as_i64)
        .collect();
    if values.is_empty() {
        let shown = get(requirement, "values");
        errors.push(FieldError::invalid(
            &path,
            shown,
            "at least one value is required",
        ));
    } else if values.len() > EXIT_CODES {
        errors.push(FieldError::too_many(&path, values.len(), EXIT_CODES));
    }
    let mut seen = HashSet::new();
    for (i, value) in values.iter().enumerate() {
        if *value == 0 && text(requirement, "operator") == "In" {
            let detail = "must not be 0 for the In operator";
            errors.push(FieldError::invalid(&path.index(i), &json!(value), detail));
        }
        if !seen.insert(value) {
            errors.push(FieldError::duplicate(&path.index(i), &json!(value)));
        }
    }
    if !values.is_sorted() {
        errors.push(FieldError::invalid(
            &path,
            get(requirement, "values"),
            "must be ordered",
        ));
    }
}
