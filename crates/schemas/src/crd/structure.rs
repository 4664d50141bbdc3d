//! Structural schemas: every place has a type outside of `allOf`, `anyOf`, `oneOf` and `not`, which
//! only restrict values. Without that, nothing could be pruned or defaulted.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::props::{at, default, entries, flag, list, object, text};
use crate::structural::compile_pattern;

const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What keeps a schema from being structural, in the order of the messages.
pub(super) fn validate(schema: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if unsupported(schema).is_none() {
        validate_place(schema, Level::Root, path, &mut errors);
        complete_junctors(schema, Some(schema), path, path, &mut errors);
        errors.sort_by_key(ToString::to_string);
    }
    errors
}

/// A field that structural schemas have no room for; other validations complain about it.
pub(super) fn unsupported(schema: &Value) -> Option<&'static str> {
    let found = std::cell::Cell::new(None);
    super::props::any(schema, &|schema| {
        let fields = [
            "id",
            "$schema",
            "$ref",
            "patternProperties",
            "dependencies",
            "additionalItems",
            "definitions",
        ];
        let field = fields.into_iter().find(|field| !at(schema, &[field]).is_null());
        let array = at(schema, &["items"]).is_array().then_some("items");
        let preserve = (schema.get(PRESERVE) == Some(&Value::Bool(false))).then_some(PRESERVE);
        found.set(field.or(array).or(preserve));
        found.get().is_some()
    });
    found.get()
}

fn validate_place(schema: &Value, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    match object(schema, "items") {
        Some(items) => validate_place(items, Level::Item, &path.child("items"), errors),
        None if kind == "array" => {
            errors.push(FieldError::required(&path.child("items"), "must be specified"));
        }
        None => {}
    }
    for (name, property) in entries(schema, "properties") {
        validate_place(
            property,
            Level::Field,
            &path.child("properties").key(name),
            errors,
        );
    }
    let additional = at(schema, &["additionalProperties"]);
    if !additional.is_null() {
        let path = path.child("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(&path, "must not be used at the root"));
        }
        if additional.is_object() {
            validate_place(additional, Level::Field, &path, errors);
        }
        if flag(schema, EMBEDDED) {
            let detail = format!("must not be used if {EMBEDDED} is set");
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
    if flag(schema, INT_OR_STRING) {
        for field in [PRESERVE, EMBEDDED] {
            if flag(schema, field) {
                let detail = format!("must be false if {INT_OR_STRING} is true");
                errors.push(FieldError::invalid(&path.child(field), &json!(true), detail));
            }
        }
    }
    let plain_any_of = is_int_or_string(list(schema, "anyOf"));
    let plain_all_of = list(schema, "allOf")
        .first()
        .is_some_and(|first| is_int_or_string(list(first, "anyOf")));
    validate_junctors(schema, plain_any_of, plain_all_of, path, errors);
    validate_type(schema, level, path, errors);
    validate_resource(schema, level, path, errors);
}

fn validate_type(schema: &Value, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    let path = path.child("type");
    if flag(schema, EMBEDDED) && kind != "object" {
        let detail = format!("must be object if {EMBEDDED} is true");
        errors.push(match kind {
            "" => FieldError::required(&path, detail),
            _ => FieldError::invalid(&path, &json!(kind), detail),
        });
    } else if kind.is_empty() && !flag(schema, INT_OR_STRING) && !flag(schema, PRESERVE) {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&path, detail));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(FieldError::invalid(
            &path,
            &json!(kind),
            "must be object at the root",
        ));
    }
}

/// What a schema may say about the type and metadata of a resource.
fn validate_resource(schema: &Value, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || flag(schema, EMBEDDED);
    let properties = path.child("properties");
    if is_resource {
        for (field, wanted) in [
            ("kind", "string"),
            ("apiVersion", "string"),
            ("metadata", "object"),
        ] {
            if let Some(property) = object(at(schema, &["properties"]), field)
                && text(property, "type") != wanted
            {
                let path = properties.key(field).child("type");
                errors.push(FieldError::invalid(
                    &path,
                    &json!(text(property, "type")),
                    format!("must be {wanted}"),
                ));
            }
        }
    }
    if level == Level::Root
        && let Some(metadata) = object(at(schema, &["properties"]), "metadata")
        && !restricts_names_only(metadata)
    {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(&properties.key("metadata"), detail));
    }
    if flag(schema, EMBEDDED) && !flag(schema, PRESERVE) && entries(schema, "properties").next().is_none() {
        let detail = format!("must not be empty if {EMBEDDED} is true without {PRESERVE}");
        errors.push(FieldError::required(&properties, detail));
    }
}

fn restricts_names_only(metadata: &Value) -> bool {
    let said = |(field, value): (&String, &Value)| match field.as_str() {
        "type" | "default" => false,
        "properties" => value.as_object().is_some_and(|fields| {
            fields
                .keys()
                .any(|field| field != "name" && field != "generateName")
        }),
        _ => !matches!(value, Value::Null | Value::Bool(false)) && value != "",
    };
    !metadata.as_object().into_iter().flatten().any(said)
}

/// `anyOf: [{type: integer}, {type: string}]`, the one place where alternatives may have types.
fn is_int_or_string(alternatives: &[Value]) -> bool {
    alternatives == [json!({"type": "integer"}), json!({"type": "string"})]
}

fn validate_junctors(
    schema: &Value,
    skip_any_of: bool,
    skip_first_all_of: bool,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    for junctor in ["anyOf", "allOf", "oneOf"] {
        if junctor == "anyOf" && skip_any_of {
            continue;
        }
        for (i, nested) in list(schema, junctor).iter().enumerate() {
            let skip = junctor == "allOf" && i == 0 && skip_first_all_of;
            validate_nested(nested, skip, &path.child(junctor).index(i), errors);
        }
    }
    if let Some(not) = object(schema, "not") {
        validate_nested(not, false, &path.child("not"), errors);
    }
    let pattern = text(schema, "pattern");
    if let Some(complaint) = Some(pattern)
        .filter(|pattern| !pattern.is_empty())
        .and_then(|pattern| compile_pattern(pattern).err())
    {
        let detail = format!("must be a valid regular expression, but isn't: {complaint}");
        errors.push(FieldError::invalid(
            &path.child("pattern"),
            &json!(pattern),
            detail,
        ));
    }
}

/// Schemas within junctors restrict values and say nothing else.
fn validate_nested(schema: &Value, skip_any_of: bool, path: &Path, errors: &mut Vec<FieldError>) {
    validate_junctors(schema, skip_any_of, false, path, errors);
    if let Some(items) = object(schema, "items") {
        validate_nested(items, false, &path.child("items"), errors);
    }
    for (name, property) in entries(schema, "properties") {
        validate_nested(property, false, &path.child("properties").key(name), errors);
    }
    let mut forbid = |field: &str, what: &str, found: bool| {
        if found {
            errors.push(FieldError::forbidden(
                &path.child(field),
                format!("must be {what} to be structural"),
            ));
        }
    };
    for field in ["type", "title", "description"] {
        forbid(field, "empty", !text(schema, field).is_empty());
    }
    let additional = at(schema, &["additionalProperties"]);
    forbid(
        "additionalProperties",
        "undefined",
        additional.is_object() || additional == &Value::Bool(true),
    );
    forbid("default", "undefined", default(schema).is_some());
    for field in ["nullable", PRESERVE, EMBEDDED, INT_OR_STRING] {
        forbid(field, "false", flag(schema, field));
    }
    for field in ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] {
        forbid(field, "empty", !list(schema, field).is_empty());
    }
    for field in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        forbid(field, "undefined", !at(schema, &[field]).is_null());
    }
    if object(at(schema, &["properties"]), "metadata").is_some() {
        let path = path.child("properties").key("metadata");
        errors.push(FieldError::forbidden(
            &path,
            "must not be specified in a nested context",
        ));
    }
}

/// Whatever a junctor restricts must be specified outside of it.
fn complete_junctors(
    nested: &Value,
    schema: Option<&Value>,
    schema_path: &Path,
    nested_path: &Path,
    errors: &mut Vec<FieldError>,
) {
    if let Some(not) = object(nested, "not") {
        complete(not, schema, schema_path, &nested_path.child("not"), errors);
    }
    for junctor in ["allOf", "anyOf", "oneOf"] {
        for (i, inner) in list(nested, junctor).iter().enumerate() {
            complete(
                inner,
                schema,
                schema_path,
                &nested_path.child(junctor).index(i),
                errors,
            );
        }
    }
}

fn complete(
    nested: &Value,
    schema: Option<&Value>,
    schema_path: &Path,
    nested_path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let Some(schema) = schema else {
        let detail = format!("because it is defined in {nested_path}");
        errors.push(FieldError::required(schema_path, detail));
        return;
    };
    complete_junctors(nested, Some(schema), schema_path, nested_path, errors);
    if let Some(items) = object(nested, "items") {
        let below = object(schema, "items");
        complete(
            items,
            below,
            &schema_path.child("items"),
            &nested_path.child("items"),
            errors,
        );
    }
    for (name, property) in entries(nested, "properties") {
        let below = object(at(schema, &["properties"]), name);
        let schema_path = schema_path.child("properties").key(name);
        complete(
            property,
            below,
            &schema_path,
            &nested_path.child("properties").key(name),
            errors,
        );
    }
}
