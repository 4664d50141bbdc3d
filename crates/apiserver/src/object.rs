//! Objects as values: reading and writing the metadata every kind has, and the byte form the store
//! keeps.

use http::StatusCode;
use manifests::json;
use serde::de::{Error as _, IgnoredAny};
use serde_json::{Deserializer, Map, Value};
use store::Body;

use crate::error::{ApiError, Result};

/// The value of a stored object. One that cannot be read is the server's failure, not an empty object.
pub(crate) fn parse(stored: &store::Object) -> Result<Value> {
    json::read_own(stored.json()).map_err(|error| unreadable(stored, &error))
}

fn unreadable(stored: &store::Object, why: &dyn std::fmt::Display) -> ApiError {
    let why = format!(
        "Internal error occurred: the stored object {} cannot be read: {why}",
        stored.key()
    );
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", why)
}

/// The value of a stored object for those who have nobody to tell that it cannot be read: the log
/// says so, and they go on without it.
pub(crate) fn readable(stored: &store::Object) -> Option<Value> {
    parse(stored)
        .inspect_err(|error| tracing::error!("{}", error.message))
        .ok()
}

/// The text of a stored object from its metadata on, which comes right behind the type.
pub(crate) fn from_metadata(json: &[u8]) -> &[u8] {
    const METADATA: &[u8] = b"\"metadata\":";
    let start = json
        .windows(METADATA.len())
        .position(|window| window == METADATA)
        .map_or(json.len(), |at| at + METADATA.len());
    &json[start..]
}

/// The text of a stored object's metadata. What follows it is not looked at.
pub(crate) fn metadata_text(stored: &store::Object) -> Result<&[u8]> {
    metadata_in(stored.json()).map_err(|error| unreadable(stored, &error))
}

fn metadata_in(json: &[u8]) -> serde_json::Result<&[u8]> {
    let text = from_metadata(json);
    let mut values = Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    let missing = || Err(serde_json::Error::missing_field("metadata"));
    values.next().unwrap_or_else(missing)?;
    Ok(&text[..values.byte_offset()])
}

/// The text of a metadata field, or the empty string.
pub(crate) fn meta_text<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|meta| meta.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    meta_text(object, "name")
}

pub(crate) fn namespace(object: &Value) -> &str {
    meta_text(object, "namespace")
}

pub(crate) fn uid(object: &Value) -> &str {
    meta_text(object, "uid")
}

pub(crate) fn resource_version(object: &Value) -> &str {
    meta_text(object, "resourceVersion")
}

/// The metadata of an object, made if it is missing.
pub(crate) fn meta_mut(object: &mut Value) -> &mut Map<String, Value> {
    kinds::read::object_mut(object, "metadata")
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !meta_text(object, "deletionTimestamp").is_empty()
}

pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    kinds::read::list(kinds::read::get(object, "metadata"), "finalizers")
        .iter()
        .filter_map(Value::as_str)
}

pub(crate) fn has_finalizers(object: &Value) -> bool {
    finalizers(object).next().is_some()
}

/// Adds a finalizer that is not there yet.
pub(crate) fn add_finalizer(object: &mut Value, name: &str) {
    if finalizers(object).any(|finalizer| finalizer == name) {
        return;
    }
    let all: Vec<Value> = finalizers(object).chain([name]).map(Value::from).collect();
    set_meta(object, "finalizers", Some(all.into()));
}

pub(crate) fn remove_finalizer(object: &mut Value, name: &str) {
    let kept: Vec<Value> = finalizers(object)
        .filter(|finalizer| *finalizer != name)
        .map(Value::from)
        .collect();
    set_meta(object, "finalizers", (!kept.is_empty()).then(|| kept.into()));
}

pub(crate) fn generation(object: &Value) -> i64 {
    object
        .get("metadata")
        .and_then(|meta| meta.get("generation"))
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// Sets a metadata field to `value`, or removes it when there is none.
pub(crate) fn set_meta(object: &mut Value, field: &str, value: Option<Value>) {
    let meta = meta_mut(object);
    match value {
        Some(value) => {
            meta.insert(field.to_owned(), value);
        }
        None => {
            meta.remove(field);
        }
    }
}

/// Copies a metadata field from another object, or removes it where the other has none.
pub(crate) fn copy_meta(to: &mut Value, from: &Value, field: &str) {
    let value = from.get("metadata").and_then(|meta| meta.get(field)).cloned();
    set_meta(to, field, value);
}

/// Serialises an object for the store: `kind`, `apiVersion` and `metadata` first, so that lists can
/// cut the type off the front, and an empty `resourceVersion` the store writes the revision into.
pub(crate) fn encode(object: &Value) -> Body {
    let empty = Map::new();
    let fields = object.as_object().unwrap_or(&empty);
    let mut json = Vec::with_capacity(1024);
    json.push(b'{');
    for field in ["kind", "apiVersion"] {
        write_member(&mut json, field, fields.get(field).unwrap_or(&Value::Null));
        json.push(b',');
    }
    json.extend_from_slice(b"\"metadata\":{\"resourceVersion\":\"");
    let revision_at = json.len();
    json.push(b'"');
    if let Some(Value::Object(meta)) = fields.get("metadata") {
        for (key, value) in meta.iter().filter(|(key, _)| *key != "resourceVersion") {
            json.push(b',');
            write_member(&mut json, key, value);
        }
    }
    json.push(b'}');
    for (key, value) in fields {
        if !matches!(key.as_str(), "kind" | "apiVersion" | "metadata") {
            json.push(b',');
            write_member(&mut json, key, value);
        }
    }
    json.push(b'}');
    Body::new(json, revision_at)
}

/// Writes any object as the real server does, its type and metadata before everything else.
pub(crate) fn write(json: &mut Vec<u8>, object: &Value) {
    const FIRST: [&str; 3] = ["kind", "apiVersion", "metadata"];
    let Value::Object(fields) = object else {
        return json::write(json, object);
    };
    let first = FIRST.iter().filter_map(|name| fields.get_key_value(*name));
    let others = fields.iter().filter(|(name, _)| !FIRST.contains(&name.as_str()));
    json.push(b'{');
    for (index, (name, value)) in first.chain(others).enumerate() {
        if index > 0 {
            json.push(b',');
        }
        write_member(json, name, value);
    }
    json.push(b'}');
}

/// The bytes with which every stored object of this type begins, up to its metadata.
pub(crate) fn type_prefix(api_version: &str, kind: &str) -> String {
    format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",")
}

fn write_member(json: &mut Vec<u8>, key: &str, value: &Value) {
    json::write_text(json, key);
    json.push(b':');
    json::write(json, value);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_shown_begins_with_its_type() {
        let mut bytes = Vec::new();
        write(
            &mut bytes,
            &json!({"apiVersion": "v1", "code": 404, "kind": "Status", "metadata": {}}),
        );
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"code":404}"#
        );
    }

    #[test]
    fn metadata_is_cut_from_what_is_stored() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "x", "annotations": {"a": "} \"metadata\": {\\"}},
            "data": {"metadata": "not this"},
        });
        let json = encode(&object).json;
        let metadata = std::str::from_utf8(metadata_in(&json).unwrap()).unwrap();
        let annotations = r#""annotations":{"a":"} \"metadata\": {\\"}"#;
        assert_eq!(
            metadata.replace(annotations, "annotations"),
            r#"{"resourceVersion":"",annotations,"name":"x"}"#
        );
        assert!(metadata_in(b"{}").is_err());
        assert!(metadata_in(br#"{"metadata":{"name""#).is_err());
    }

    #[test]
    fn the_type_comes_first_and_the_revision_has_a_place() {
        let object = json!({
            "apiVersion": "v1", "data": {"a": "b"}, "kind": "ConfigMap",
            "metadata": {"name": "x", "resourceVersion": "17"},
        });
        let body = encode(&object);
        let text = String::from_utf8(body.json).unwrap();
        assert!(text.starts_with(&type_prefix("v1", "ConfigMap")));
        assert_eq!(&text[body.revision_at - 1..=body.revision_at], "\"\"");
        assert_eq!(
            text,
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"","name":"x"},"data":{"a":"b"}}"#
        );
    }
}
