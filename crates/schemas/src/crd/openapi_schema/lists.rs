//! The `x-kubernetes-` fields about lists and maps.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::crd::{
    props::{at, default, flag, list, object, text, texts},
    validate::Options,
};

/// Whether the items of a set could be changed in part.
pub(in crate::crd) fn has_granular_set(schema: &Value) -> bool {
    text(schema, "x-kubernetes-list-type") == "set" && object(schema, "items").is_some_and(is_granular)
}

fn is_granular(items: &Value) -> bool {
    match text(items, "type") {
        "array" => !matches!(text(items, "x-kubernetes-list-type"), "" | "atomic"),
        "object" => text(items, "x-kubernetes-map-type") != "atomic",
        _ => false,
    }
}

pub(super) fn validate_extensions(
    schema: &Value,
    options: &Options<'_>,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
    const MAP_TYPE: &str = "x-kubernetes-map-type";
    const LIST_TYPE: &str = "x-kubernetes-list-type";
    const KEYS: &str = "x-kubernetes-list-map-keys";
    if schema.get(PRESERVE) == Some(&Value::Bool(false)) {
        errors.push(FieldError::invalid(
            &path.child(PRESERVE),
            &json!(false),
            "must be true or undefined",
        ));
    }
    let kind = text(schema, "type");
    let must_be = |wanted: &str, field: &str| {
        let detail = format!("must be {wanted} if {field} is specified");
        match kind {
            "" => FieldError::required(&path.child("type"), detail),
            _ => FieldError::invalid(&path.child("type"), &json!(kind), detail),
        }
    };
    if let Some(map_type) = schema.get(MAP_TYPE).and_then(Value::as_str) {
        if kind != "object" {
            errors.push(must_be("object", MAP_TYPE));
        }
        if !matches!(map_type, "atomic" | "granular") {
            let supported = ["atomic", "granular"];
            errors.push(FieldError::not_supported(
                &path.child(MAP_TYPE),
                &json!(map_type),
                &supported,
            ));
        }
    }
    let list_type = schema.get(LIST_TYPE).and_then(Value::as_str);
    if let Some(list_type) = list_type {
        if kind != "array" {
            errors.push(must_be("array", LIST_TYPE));
        } else if options.atomic_sets && has_granular_set(schema) {
            let items = at(schema, &["items"]);
            let field = if text(items, "type") == "array" {
                LIST_TYPE
            } else {
                MAP_TYPE
            };
            let path = path.child("items").child(field);
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            errors.push(FieldError::invalid(&path, at(items, &[LIST_TYPE]), detail));
        }
        if !matches!(list_type, "atomic" | "set" | "map") {
            let supported = ["atomic", "set", "map"];
            errors.push(FieldError::not_supported(
                &path.child(LIST_TYPE),
                &json!(list_type),
                &supported,
            ));
        }
    }
    if !list(schema, KEYS).is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.push(FieldError::required(&path.child(LIST_TYPE), detail)),
            Some("map") => {}
            Some(other) => errors.push(FieldError::invalid(&path.child(LIST_TYPE), &json!(other), detail)),
        }
    }
    if list_type == Some("map") {
        validate_map_list(schema, path, errors);
    }
    if options.map_keys {
        errors.append(&mut map_key_errors(schema, path));
    }
}

fn validate_map_list(schema: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let keys_path = path.child("x-kubernetes-list-map-keys");
    let keys = at(schema, &["x-kubernetes-list-map-keys"]);
    if list(schema, "x-kubernetes-list-map-keys").is_empty() {
        errors.push(FieldError::required(
            &keys_path,
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    let Some(items) = object(schema, "items") else {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(&path.child("items"), detail));
        return;
    };
    if text(items, "type") != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(
            &path.child("items").child("type"),
            &json!(text(items, "type")),
            detail,
        ));
        return;
    }
    let mut seen = Vec::new();
    for key in texts(schema, "x-kubernetes-list-map-keys") {
        match at(items, &["properties", key]) {
            Value::Null => {
                errors.push(FieldError::invalid(
                    &keys_path,
                    keys,
                    "entries must all be names of item properties",
                ));
            }
            property if matches!(text(property, "type"), "array" | "object") => {
                let path = path.child("items").child("properties").key(key).child("type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(&path, &json!(text(items, "type")), detail));
            }
            _ => {}
        }
        if seen.contains(&key) {
            errors.push(FieldError::invalid(
                &keys_path,
                keys,
                "must not contain duplicate entries",
            ));
        }
        seen.push(key);
    }
}

/// Keys of items are always there, and neither they nor the items are null.
pub(in crate::crd) fn map_key_errors(schema: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let list_type = text(schema, "x-kubernetes-list-type");
    let Some(items) = object(schema, "items").filter(|_| matches!(list_type, "set" | "map")) else {
        return errors;
    };
    let path = path.child("items");
    if flag(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(&path.child("nullable"), detail));
    }
    if list_type == "set" {
        return errors;
    }
    for key in texts(schema, "x-kubernetes-list-map-keys") {
        let Some(property) = object(at(items, &["properties"]), key) else {
            continue;
        };
        let path = path.child("properties").key(key);
        if !texts(items, "required").any(|required| required == key) && default(property).is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(&path.child("default"), detail));
        }
        if flag(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&path.child("nullable"), detail));
        }
    }
    errors
}
