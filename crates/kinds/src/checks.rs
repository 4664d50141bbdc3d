//! Checks that the validation of many kinds repeats, in the words users know. Paths of fields are only
//! built when there is something to complain about.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    names::Syntax,
    read::{get, int, text},
};

/// The complaints collected so far.
pub type Errors = Vec<FieldError>;

pub const IMMUTABLE: &str = "field is immutable";
pub const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

/// Complains about a text field that is missing or empty; answers whether it is there.
pub fn require(object: &Value, key: &str, path: &Path, errors: &mut Errors) -> bool {
    let present = !text(object, key).is_empty();
    if !present {
        errors.push(FieldError::required(&path.child(key), ""));
    }
    present
}

/// Complains about a text field whose value breaks a syntax.
pub fn syntax(object: &Value, key: &str, syntax: Syntax, path: &Path, errors: &mut Errors) {
    let value = text(object, key);
    for message in syntax(value) {
        errors.push(FieldError::invalid(&path.child(key), &json!(value), message));
    }
}

/// Complains about a text that breaks a syntax.
pub fn syntax_of(value: &str, syntax: Syntax, path: &Path, errors: &mut Errors) {
    for message in syntax(value) {
        errors.push(FieldError::invalid(path, &json!(value), message));
    }
}

/// As `syntax`, but an empty text is fine.
pub fn optional_syntax(object: &Value, key: &str, check: Syntax, path: &Path, errors: &mut Errors) {
    if !text(object, key).is_empty() {
        syntax(object, key, check, path, errors);
    }
}

/// A text field must be there and follow a syntax.
pub fn require_syntax(object: &Value, key: &str, check: Syntax, path: &Path, errors: &mut Errors) {
    if require(object, key, path, errors) {
        syntax(object, key, check, path, errors);
    }
}

/// Complains about a number below zero.
pub fn not_negative(object: &Value, key: &str, path: &Path, errors: &mut Errors) {
    if let Some(value) = int(object, key).filter(|value| *value < 0) {
        errors.push(FieldError::invalid(&path.child(key), &json!(value), NOT_NEGATIVE));
    }
}

/// A text field must be there and be one of a closed list.
pub fn one_of(object: &Value, key: &str, choices: &[&str], path: &Path, errors: &mut Errors) {
    match text(object, key) {
        "" => errors.push(FieldError::required(&path.child(key), "")),
        value => supported(value, choices, || path.child(key), errors),
    }
}

/// A text field that is there must be one of a closed list.
pub fn one_of_if_set(object: &Value, key: &str, choices: &[&str], path: &Path, errors: &mut Errors) {
    if let Some(value) = get(object, key).as_str() {
        supported(value, choices, || path.child(key), errors);
    }
}

fn supported(value: &str, choices: &[&str], path: impl FnOnce() -> Path, errors: &mut Errors) {
    if !choices.contains(&value) {
        errors.push(FieldError::not_supported(&path(), &json!(value), choices));
    }
}

/// The sentence about a number outside of a range.
pub fn range_error(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// Whether two values mean the same: what is missing is zero or empty.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter()
                .all(|(key, value)| same(value, b.get(key).unwrap_or(&Value::Null)))
                && b.iter()
                    .all(|(key, value)| a.contains_key(key) || is_empty(value))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => a == b || (is_empty(a) && is_empty(b)),
    }
}

/// Complains if a field differs from what it was.
pub fn immutable(new: &Value, old: &Value, key: &str, path: &Path, errors: &mut Errors) {
    let (new, old) = (get(new, key), get(old, key));
    if !same(new, old) {
        errors.push(FieldError::invalid(&path.child(key), new, IMMUTABLE));
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_empty_are_the_same() {
        assert!(same(&json!({"a": [], "b": {"c": 0}}), &json!({})));
        assert!(!same(&json!({"a": [0]}), &json!({})));
        assert!(same(&json!({"a": 1, "b": ""}), &json!({"a": 1})));
        assert!(!same(&json!({"a": 1}), &json!({"a": 2})));
    }
}
