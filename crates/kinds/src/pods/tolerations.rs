//! Tolerations of taints.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    checks::{Errors, optional_syntax},
    internal_form, names,
    read::{has, text},
};

const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Checks a list of tolerations; `path` is that of the list.
pub fn validate(tolerations: &[Value], path: &Path, errors: &mut Errors) {
    for (i, toleration) in tolerations.iter().enumerate() {
        validate_one(toleration, &path.index(i), errors);
    }
}

fn validate_one(toleration: &Value, path: &Path, errors: &mut Errors) {
    optional_syntax(toleration, "key", names::qualified_name, path, errors);
    let (operator, effect, value) = (
        text(toleration, "operator"),
        text(toleration, "effect"),
        text(toleration, "value"),
    );
    let mut refuse = |key: &str, value: &str, detail: &str| {
        errors.push(FieldError::invalid(&path.child(key), &json!(value), detail));
    };
    if text(toleration, "key").is_empty() && operator != "Exists" {
        let detail =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        refuse("operator", operator, detail);
    }
    if has(toleration, "tolerationSeconds") && effect != "NoExecute" {
        refuse(
            "effect",
            effect,
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
        );
    }
    match operator {
        "" | "Equal" => {
            let messages = names::label_value(value);
            if !messages.is_empty() {
                refuse("operator", value, &messages.join(";"));
            }
        }
        "Exists" if !value.is_empty() => {
            refuse(
                "operator",
                value,
                "value must be empty when `operator` is 'Exists'",
            );
        }
        "Exists" => {}
        other => {
            let path = path.child("operator");
            errors.push(FieldError::not_supported(
                &path,
                &json!(other),
                &["Equal", "Exists"],
            ));
        }
    }
    if !effect.is_empty() && !EFFECTS.contains(&effect) {
        errors.push(FieldError::not_supported(
            &path.child("effect"),
            &json!(effect),
            EFFECTS,
        ));
    }
}

/// Running pods may get new tolerations and change how long they tolerate, nothing else.
pub(super) fn validate_additions(new: &[Value], old: &[Value], path: &Path, errors: &mut Errors) {
    let without_time = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Value::Object(fields) = &mut toleration {
            fields.remove("tolerationSeconds");
        }
        internal_form::compact(&toleration, "Toleration")
    };
    if new != old {
        let kept: Vec<String> = new.iter().map(without_time).collect();
        if !old.iter().all(|old| kept.contains(&without_time(old))) {
            let detail = "existing toleration can not be modified except its tolerationSeconds";
            errors.push(FieldError::forbidden(path, detail));
            return;
        }
    }
    validate(new, path, errors);
}
