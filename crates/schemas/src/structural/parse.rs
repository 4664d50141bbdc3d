//! From the JSON of an `openAPIV3Schema` to [`Structural`].

use std::{collections::HashSet, sync::Mutex};

use serde_json::{Map, Value};

use super::{Additional, Checks, Kind, ListType, Pattern, Structural, compile_pattern};
use crate::validate::formats::Format;

pub(super) fn parse(schema: &Value) -> Structural {
    let Some(schema) = schema.as_object() else {
        return Structural::default();
    };
    let flag = |name: &str| schema.get(name).and_then(Value::as_bool).unwrap_or_default();
    let text = |name: &str| schema.get(name).and_then(Value::as_str).unwrap_or_default();
    Structural {
        kind: Kind::named(text("type")),
        nullable: flag("nullable"),
        int_or_string: flag("x-kubernetes-int-or-string"),
        embedded_resource: flag("x-kubernetes-embedded-resource"),
        preserve_unknown_fields: flag("x-kubernetes-preserve-unknown-fields"),
        atomic_map: text("x-kubernetes-map-type") == "atomic",
        list: match text("x-kubernetes-list-type") {
            "set" => ListType::Set,
            "map" => ListType::Map,
            _ => ListType::Atomic,
        },
        list_keys: texts(schema, "x-kubernetes-list-map-keys").map(intern).collect(),
        default: schema
            .get("default")
            .filter(|default| !default.is_null())
            .cloned(),
        properties: schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), parse(schema)))
            .collect(),
        additional: schema.get("additionalProperties").and_then(additional),
        items: schema
            .get("items")
            .filter(|items| items.is_object())
            .map(|items| Box::new(parse(items))),
        checks: checks(schema).map(Box::new),
        rules: None,
    }
}

fn additional(value: &Value) -> Option<Additional> {
    match value {
        Value::Bool(true) => Some(Additional::Anything),
        Value::Bool(false) => Some(Additional::Nothing),
        Value::Object(_) => Some(Additional::Schema(Box::new(parse(value)))),
        _ => None,
    }
}

fn checks(schema: &Map<String, Value>) -> Option<Checks> {
    const NAMES: [&str; 20] = [
        "format",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "multipleOf",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "maxProperties",
        "minProperties",
        "required",
        "enum",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
    ];
    if !NAMES.iter().any(|name| schema.contains_key(*name)) {
        return None;
    }
    let flag = |name: &str| schema.get(name).and_then(Value::as_bool).unwrap_or_default();
    let text = |name: &str| schema.get(name).and_then(Value::as_str).unwrap_or_default();
    let int = |name: &str| schema.get(name).and_then(Value::as_i64);
    let float = |name: &str| schema.get(name).and_then(Value::as_f64);
    let list = |name: &str| {
        schema
            .get(name)
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice)
    };
    let nested = |name: &str| list(name).iter().map(parse).collect();
    Some(Checks {
        format: Format::named(text("format")),
        format_name: text("format").to_owned(),
        maximum: float("maximum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        minimum: float("minimum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        multiple_of: float("multipleOf"),
        max_length: int("maxLength"),
        min_length: int("minLength"),
        pattern: Some(text("pattern")).filter(|text| !text.is_empty()).map(pattern),
        max_items: int("maxItems"),
        min_items: int("minItems"),
        unique_items: flag("uniqueItems"),
        max_properties: int("maxProperties"),
        min_properties: int("minProperties"),
        required: texts(schema, "required").map(str::to_owned).collect(),
        choices: list("enum").to_vec(),
        all_of: nested("allOf"),
        any_of: nested("anyOf"),
        one_of: nested("oneOf"),
        not: schema.get("not").filter(|not| not.is_object()).map(parse),
    })
}

fn pattern(text: &str) -> Pattern {
    Pattern {
        text: text.to_owned(),
        regex: compile_pattern(text),
    }
}

fn texts<'a>(schema: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    schema
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// One lasting copy of each name that keys a list. [`manifests::shape::ListKind`] lends a slice of
/// names; there are as many copies as there are different names in all definitions ever seen.
fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(name) = names.get(name) {
        return name;
    }
    let lasting: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(lasting);
    lasting
}
