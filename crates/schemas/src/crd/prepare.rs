//! What happens to a definition before it is validated.

use serde_json::{Map, Value, json};

use super::props::{any, at, list, text};
use crate::validate::formats::Format;

/// Fills in names, conversion and stored versions.
pub fn default(crd: &mut Value) {
    let kind = at(crd, &["spec", "names", "kind"])
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let stored = storage_version(crd).map(str::to_owned);
    let Some(object) = crd.as_object_mut() else { return };
    let spec = child(object, "spec");
    let names = child(spec, "names");
    if names
        .get("singular")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty()
        && !kind.is_empty()
    {
        names.insert("singular".to_owned(), json!(kind.to_lowercase()));
    }
    if names
        .get("listKind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty()
        && !kind.is_empty()
    {
        names.insert("listKind".to_owned(), json!(format!("{kind}List")));
    }
    let conversion = spec.entry("conversion").or_insert(Value::Null);
    if conversion.is_null() {
        *conversion = json!({"strategy": "None"});
    }
    if let Some(service) = conversion
        .pointer_mut("/webhook/clientConfig/service")
        .and_then(Value::as_object_mut)
    {
        let port = service.entry("port").or_insert(Value::Null);
        if port.is_null() {
            *port = json!(443);
        }
    }
    let status = child(object, "status");
    let unset = status
        .get("storedVersions")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty);
    if let Some(stored) = stored.filter(|_| unset) {
        status.insert("storedVersions".to_owned(), json!([stored]));
    }
}

/// A new definition starts with an empty status but for the version it stores.
pub fn prepare_for_create(crd: &mut Value) {
    let stored: Vec<String> = storage_version(crd).map(str::to_owned).into_iter().collect();
    let Some(object) = crd.as_object_mut() else { return };
    object.insert("status".to_owned(), empty_status(&stored));
    child(object, "metadata").insert("generation".to_owned(), json!(1));
}

/// A write to the definition does not touch its status, but for a new storage version; a change of
/// the spec counts as a generation.
pub fn prepare_for_update(crd: &mut Value, old: &Value) {
    let stored = storage_version(crd).map(str::to_owned);
    let changed = crd.get("spec") != old.get("spec");
    let Some(object) = crd.as_object_mut() else { return };
    object.insert(
        "status".to_owned(),
        old.get("status").cloned().unwrap_or_else(|| empty_status(&[])),
    );
    let generation = at(old, &["metadata", "generation"]).as_i64().unwrap_or_default();
    child(object, "metadata").insert("generation".to_owned(), json!(generation + i64::from(changed)));
    let versions = child(object, "status")
        .entry("storedVersions")
        .or_insert_with(|| json!([]));
    if let (Some(stored), Some(versions)) = (stored, versions.as_array_mut())
        && !versions.iter().any(|version| *version == stored)
    {
        versions.push(json!(stored));
    }
}

/// A write to the status touches nothing else.
pub fn prepare_for_status_update(crd: &mut Value, old: &Value) {
    let Some(object) = crd.as_object_mut() else { return };
    object.insert("spec".to_owned(), at(old, &["spec"]).clone());
    let managed = object
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"))
        .cloned();
    let mut metadata = at(old, &["metadata"]).clone();
    if let (Some(managed), Some(metadata)) = (managed, metadata.as_object_mut()) {
        metadata.insert("managedFields".to_owned(), managed);
    }
    object.insert("metadata".to_owned(), metadata);
}

/// Warnings about string formats that are not checked; on updates, only about new ones.
pub fn warnings(crd: &Value, old: Option<&Value>) -> Vec<String> {
    let known = old.map(unrecognized_formats).unwrap_or_default();
    let formats = unrecognized_formats(crd)
        .into_iter()
        .filter(|format| !known.contains(format));
    formats
        .map(|format| format!("unrecognized format {format:?}"))
        .collect()
}

fn unrecognized_formats(crd: &Value) -> Vec<String> {
    let found = std::cell::RefCell::new(Vec::new());
    for schema in super::validate::schemas(crd) {
        any(schema, &|schema| {
            let format = text(schema, "format");
            if text(schema, "type") == "string" && !format.is_empty() && Format::named(format).is_none() {
                found.borrow_mut().push(format.to_owned());
            }
            false
        });
    }
    found.into_inner()
}

pub(super) fn storage_version(crd: &Value) -> Option<&str> {
    let spec = at(crd, &["spec"]);
    list(spec, "versions")
        .iter()
        .find(|version| super::props::flag(version, "storage"))
        .map(|v| text(v, "name"))
}

fn empty_status(stored: &[String]) -> Value {
    let stored = if stored.is_empty() {
        Value::Null
    } else {
        json!(stored)
    };
    json!({"acceptedNames": {"plural": "", "kind": ""}, "conditions": null, "storedVersions": stored})
}

fn child<'a>(object: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = object.entry(key).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value
        .as_object_mut()
        .unwrap_or_else(|| unreachable!("made an object above"))
}
