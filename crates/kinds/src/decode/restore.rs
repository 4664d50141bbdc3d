//! What is wrong with a value that was made from a patch, in the words of the real server: it restores
//! its objects from such values by other means than it reads them from documents.

use serde_json::{Map, Value};

use crate::types::{Form, Struct, TypeRef};

/// Why no object of the type can be restored from a value; what only its text can tell (a quantity, a
/// time) is left to [`normalize`](super::normalize).
pub fn restore_error(ty: TypeRef, value: &Value) -> Option<String> {
    match (ty.form(), value) {
        (_, Value::Null) | (Form::Bytes, Value::String(_) | Value::Array(_)) => None,
        (Form::Struct(described), Value::Object(fields)) => in_fields(described, fields),
        (Form::Struct(_), other) => Some(format!("cannot restore struct from: {}", kind(other))),
        (Form::List(element), Value::Array(items)) => {
            items.iter().find_map(|item| restore_error(element, item))
        }
        (Form::Map(element), Value::Object(entries)) => {
            entries.values().find_map(|value| restore_error(element, value))
        }
        (Form::Map(_), other) => Some(format!("cannot restore map from {}", kind(other))),
        (Form::List(_) | Form::Bytes, other) => Some(format!("cannot restore slice from {}", kind(other))),
        (Form::String | Form::Bool | Form::Int32 | Form::Int64 | Form::Double, scalar) => {
            in_scalar(ty, scalar)
        }
        _ => None,
    }
}

fn in_fields(described: &Struct, fields: &Map<String, Value>) -> Option<String> {
    fields
        .iter()
        .find_map(|(name, value)| restore_error(described.field(name)?.ty, value))
}

fn in_scalar(ty: TypeRef, value: &Value) -> Option<String> {
    let is_whole = |number: &serde_json::Number| number.as_f64().is_none_or(|float| float.fract() == 0.0);
    let convert = |from: &str| Some(format!("cannot convert {from} to {}", ty.go_name()));
    match (ty.form(), value) {
        (Form::String, Value::String(_))
        | (Form::Bool, Value::Bool(_))
        | (Form::Double, Value::Number(_)) => None,
        (Form::Int32 | Form::Int64, Value::Number(number)) if is_whole(number) => None,
        (Form::Int32 | Form::Int64, Value::Number(_)) => convert("float64"),
        // A number is a character to Go, but not to JSON.
        (Form::String, Value::Number(number)) if !number.is_f64() => convert("int64"),
        (form, _) => Some(format!("unrecognized type: {}", kind_of(form))),
    }
}

/// The kind of a Go value with this content.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

/// The kind of a Go scalar, which names a type's foundation and not the type.
fn kind_of(form: Form) -> &'static str {
    match form {
        Form::Bool => "bool",
        Form::Int32 => "int32",
        Form::Int64 => "int64",
        Form::Double => "float64",
        _ => "string",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types;

    #[test]
    fn what_cannot_be_restored_is_told_in_the_words_of_the_real_server() {
        let ty = types::by_name("io.k8s.api.apps.v1.Deployment").unwrap();
        let check = |value: Value, expected: Option<&str>| {
            assert_eq!(restore_error(ty, &value).as_deref(), expected, "for {value}");
        };
        let containers =
            |containers: Value| json!({"spec": {"template": {"spec": {"containers": containers}}}});
        check(
            containers(json!({"name": "c"})),
            Some("cannot restore slice from map"),
        );
        check(containers(json!("x")), Some("cannot restore slice from string"));
        check(
            containers(json!([{"image": 5}])),
            Some("cannot convert int64 to string"),
        );
        check(containers(json!([{"image": "x"}])), None);
        check(json!({"spec": []}), Some("cannot restore struct from: slice"));
        check(
            json!({"metadata": {"labels": [1]}}),
            Some("cannot restore map from slice"),
        );
        check(json!({"spec": {"paused": "x"}}), Some("unrecognized type: bool"));
        check(
            json!({"spec": {"replicas": 1.5}}),
            Some("cannot convert float64 to int32"),
        );
        check(
            json!({"spec": {"replicas": {}}}),
            Some("unrecognized type: int32"),
        );
    }
}
