//! Short ways to read a JSON value whose shape has been checked by decoding. A missing field reads
//! as its zero value, as it does in the Go types the API was written for.

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

/// The value of a field, or null.
pub fn get<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&NULL)
}

/// The value at a path of fields, or null.
pub fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, key| get(value, key))
}

/// Whether a field is there and not null.
pub fn has(value: &Value, key: &str) -> bool {
    !get(value, key).is_null()
}

/// The text of a field, or the empty string.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    get(value, key).as_str().unwrap_or_default()
}

/// The number in a field, if it is there.
pub fn int(value: &Value, key: &str) -> Option<i64> {
    get(value, key).as_i64()
}

/// The truth of a field; missing is false.
pub fn flag(value: &Value, key: &str) -> bool {
    get(value, key).as_bool().unwrap_or_default()
}

/// The items of a list field; missing is empty.
pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    get(value, key).as_array().map_or(&[], Vec::as_slice)
}

/// The entries of an object field, in key order; missing is empty.
pub fn entries<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    get(value, key).as_object().into_iter().flat_map(Map::iter)
}

/// The named field as an object, made if it is missing, to write defaults into.
pub fn object_mut<'a>(value: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(map) = value else {
        unreachable!("made an object above")
    };
    let field = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !field.is_object() {
        *field = Value::Object(Map::new());
    }
    let Value::Object(field) = field else {
        unreachable!("made an object above")
    };
    field
}

/// Sets a field that is missing or null.
pub fn default(value: &mut Value, key: &str, default: impl Into<Value>) {
    if let Value::Object(map) = value
        && map.get(key).is_none_or(Value::is_null)
    {
        map.insert(key.to_owned(), default.into());
    }
}

/// The items of a list field, to change them; missing is empty.
pub fn list_mut<'a>(value: &'a mut Value, key: &str) -> &'a mut [Value] {
    value
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .map_or(&mut [], Vec::as_mut_slice)
}
