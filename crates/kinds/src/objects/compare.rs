//! When two values mean the same: what is left out equals what is empty, as in the Go types the API
//! was written for.

use serde_json::Value;

static MISSING: Value = Value::Null;

pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(left), Value::Object(right)) => {
            left.iter()
                .all(|(key, value)| same(value, right.get(key).unwrap_or(&MISSING)))
                && right
                    .iter()
                    .all(|(key, value)| left.contains_key(key) || is_zero(value))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| same(a, b))
        }
        _ => a == b || (is_zero(a) && is_zero(b)),
    }
}

/// Whether a value is what its type holds when nobody set it.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.values().all(is_zero),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_left_out_equals_what_is_empty() {
        assert!(same(&json!({"a": 1, "b": []}), &json!({"a": 1})));
        assert!(same(&json!({"a": 1}), &json!({"a": 1, "c": {"d": ""}})));
        assert!(!same(&json!({"a": 1}), &json!({"a": 1, "c": {"d": "x"}})));
        assert!(!same(&json!([1, 2]), &json!([2, 1])));
    }
}
