//! Reading the JSON of definitions and schemas. What is missing reads as nothing, as it does in the
//! Go types definitions were made for.

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter()
        .fold(value, |value, key| value.get(key).unwrap_or(&NULL))
}

pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

pub(super) fn texts<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    list(value, key).iter().filter_map(Value::as_str)
}

pub(super) fn entries<'a>(
    value: &'a Value,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    value
        .get(key)
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter)
}

/// A field that is an object.
pub(super) fn object<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|value| value.is_object())
}

/// A default that is set; null counts as not set.
pub(super) fn default(schema: &Value) -> Option<&Value> {
    schema.get("default").filter(|default| !default.is_null())
}

/// Whether any place of a schema satisfies the predicate.
pub(super) fn any(schema: &Value, predicate: &impl Fn(&Value) -> bool) -> bool {
    let listed = |key: &str| list(schema, key).iter().any(|schema| any(schema, predicate));
    let keyed = |key: &str| entries(schema, key).any(|(_, schema)| any(schema, predicate));
    let single = |key: &str| object(schema, key).is_some_and(|schema| any(schema, predicate));
    predicate(schema)
        || ["items", "not", "additionalProperties"].into_iter().any(single)
        || ["allOf", "anyOf", "oneOf"].into_iter().any(listed)
        || keyed("properties")
}
