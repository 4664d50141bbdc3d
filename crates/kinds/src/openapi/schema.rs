//! The schemas of built-in types, made from the type table.

use manifests::shape::{ListKind, PatchStrategy};
use serde_json::{Map, Value, json};

use super::{Dialect, Docs, kinds, operation::STATUS, special};
use crate::types::{Field, Form, Struct, TypeRef};

/// The schema of a struct, as a component of a document.
pub(super) fn of_struct(described: &Struct, dialect: Dialect, docs: Docs<'_>) -> Value {
    let name = described.full_name();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    describe(&mut schema, docs(&name, None));
    if !described.fields().is_empty() {
        let properties = described.fields().iter().map(|field| {
            let text = field_text(docs, &name, field.name);
            (field.name.to_owned(), of_field(field, dialect, text))
        });
        schema.insert("properties".to_owned(), properties.collect());
    }
    let required = described.fields().iter().filter(|field| field.is_required);
    let required: Vec<_> = required.map(|field| field.name).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    if described.is_atomic {
        schema.insert("x-kubernetes-map-type".to_owned(), json!("atomic"));
    }
    if let Some(kinds) = kinds::of_struct(described) {
        schema.insert("x-kubernetes-group-version-kind".to_owned(), kinds);
    }
    Value::Object(schema)
}

/// What is known of a field. Lists are not described one by one; a status, which has the same
/// envelope, lends its words.
fn field_text<'a>(docs: Docs<'a>, type_name: &str, field: &str) -> Option<&'a str> {
    docs(type_name, Some(field)).or_else(|| {
        let is_list = type_name.ends_with("List");
        is_list.then(|| docs(STATUS, Some(field))).flatten()
    })
}

/// Adds a description where one is known.
pub(super) fn describe(schema: &mut Map<String, Value>, text: Option<&str>) {
    if let Some(text) = text {
        schema.insert("description".to_owned(), json!(text));
    }
}

/// A schema that points to a named one.
pub(super) fn reference(name: &str, dialect: Dialect) -> Value {
    let prefix = match dialect {
        Dialect::V2 => "#/definitions/",
        Dialect::V3 => "#/components/schemas/",
    };
    json!({"$ref": format!("{prefix}{name}")})
}

/// The name of the component a type is published as; other types are written in place.
pub(super) fn component(ty: TypeRef) -> Option<String> {
    match ty.form() {
        Form::Struct(described) => Some(described.full_name()),
        form => special::name(form).map(str::to_owned),
    }
}

fn of_field(field: &Field, dialect: Dialect, text: Option<&str>) -> Value {
    let mut beside = Map::new();
    let values: Vec<_> = field.ty.enum_values().collect();
    if values.is_empty() {
        describe(&mut beside, text);
    } else {
        describe(&mut beside, Some(&with_values(text, &values)));
    }
    publish_merging(&mut beside, field);
    let default = field.default().or_else(|| unset(field.ty, field.is_written));
    of_place(field.ty, default, beside, dialect)
}

/// A description and the values there are, as the real server tells them.
fn with_values(text: Option<&str>, values: &[&str]) -> String {
    let mut told = text.map(|text| format!("{text}\n\n")).unwrap_or_default();
    told.push_str("Possible enum values:");
    for value in values {
        told.push_str("\n - `\"");
        told.push_str(value);
        told.push_str("\"`");
    }
    told
}

/// How patches and server-side apply treat the field.
fn publish_merging(schema: &mut Map<String, Value>, field: &Field) {
    let mut add = |name: &str, value| schema.insert(format!("x-kubernetes-{name}"), value);
    if field.explicit.list_kind {
        let kind = match field.list {
            ListKind::Atomic => "atomic",
            ListKind::Set => "set",
            ListKind::Map(keys) => {
                add("list-map-keys", json!(keys));
                "map"
            }
        };
        add("list-type", json!(kind));
    }
    if let Some(is_atomic) = field.is_atomic_map {
        add("map-type", json!(if is_atomic { "atomic" } else { "granular" }));
    }
    if let Some(key) = field.patch.merge_key {
        add("patch-merge-key", json!(key));
    }
    if let Some(strategy) = patch_strategy(field.patch, field.explicit.replace) {
        add("patch-strategy", json!(strategy));
    }
}

fn patch_strategy(patch: PatchStrategy<'_>, says_replace: bool) -> Option<&'static str> {
    match (patch.merge, patch.retain_keys) {
        (true, true) => Some("merge,retainKeys"),
        (true, false) => Some("merge"),
        (false, true) => Some("retainKeys"),
        (false, false) => says_replace.then_some("replace"),
    }
}

/// The schema of a value at a place, with what the place itself says of it.
fn of_place(ty: TypeRef, default: Option<Value>, beside: Map<String, Value>, dialect: Dialect) -> Value {
    let mut schema = beside;
    if let Some(default) = default.filter(|_| dialect == Dialect::V3) {
        schema.insert("default".to_owned(), default);
    }
    if let Some(name) = component(ty) {
        return refer(&name, schema, dialect);
    }
    let enumeration: Vec<_> = ty.enum_values().collect();
    if !enumeration.is_empty() {
        schema.insert("enum".to_owned(), json!(enumeration));
    }
    write_form(&mut schema, ty, dialect);
    Value::Object(schema)
}

/// OpenAPI 3 ignores what stands beside a reference, so the reference moves into an `allOf`.
fn refer(name: &str, mut beside: Map<String, Value>, dialect: Dialect) -> Value {
    let mut reference = reference(name, dialect);
    if dialect == Dialect::V3 && !beside.is_empty() {
        beside.insert("allOf".to_owned(), json!([reference]));
        return Value::Object(beside);
    }
    if let Some(members) = reference.as_object_mut() {
        members.append(&mut beside);
    }
    reference
}

fn write_form(schema: &mut Map<String, Value>, ty: TypeRef, dialect: Dialect) {
    let (name, format) = match ty.form() {
        Form::Bool => ("boolean", None),
        Form::Int32 => ("integer", Some("int32")),
        Form::Int64 => ("integer", Some("int64")),
        Form::Double => ("number", Some("double")),
        Form::Bytes => ("string", Some("byte")),
        Form::List(element) => {
            schema.insert("items".to_owned(), of_element(element, dialect));
            ("array", None)
        }
        Form::Map(element) => {
            schema.insert("additionalProperties".to_owned(), of_element(element, dialect));
            ("object", None)
        }
        _ => ("string", None),
    };
    schema.insert("type".to_owned(), json!(name));
    if let Some(format) = format {
        schema.insert("format".to_owned(), json!(format));
    }
}

fn of_element(element: TypeRef, dialect: Dialect) -> Value {
    of_place(element, unset(element, true), Map::new(), dialect)
}

/// The default of a value that is always there: its zero. Structs are always there in Go.
fn unset(ty: TypeRef, is_written: bool) -> Option<Value> {
    if ty.is_pointer() {
        return None;
    }
    match ty.form() {
        Form::Struct(_) => Some(json!({})),
        Form::String if is_written => Some(json!("")),
        Form::Bool if is_written => Some(json!(false)),
        Form::Int32 | Form::Int64 | Form::Double if is_written => Some(json!(0)),
        _ => None,
    }
}
