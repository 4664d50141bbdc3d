//! Whether a custom resource is what its schema asks for. The steps and their order are those of
//! the real server: values, embedded resources, list keys, and at last the rules, unless the object
//! is too wrong for rules to make sense of it.

pub(crate) mod formats;
mod lists;
mod ratchet;
mod values;

use manifests::field::{ErrorKind, FieldError, Path};
use serde_json::Value;

use crate::{metadata, structural::Structural, trail::Trail};

pub(crate) use self::ratchet::{Index, unchanged};

/// Validates a new resource.
pub fn validate(object: &Value, schema: &Structural, errors: &mut Vec<FieldError>) {
    values::validate(object, schema, None, &Path::root(), errors);
    validate_embedded(object, schema, &Trail::ROOT, errors);
    lists::validate(object, schema, errors);
    validate_rules(object, None, schema, errors);
}

/// Validates a changed resource. What was wrong before and did not change is tolerated; rules that
/// now fail on unchanged values are returned as warnings.
pub fn validate_update(
    object: &Value,
    old: &Value,
    schema: &Structural,
    errors: &mut Vec<FieldError>,
) -> Vec<String> {
    values::validate(object, schema, Some(old), &Path::root(), errors);
    validate_embedded(object, schema, &Trail::ROOT, errors);
    if !lists::has_duplicates(old, schema) {
        lists::validate(object, schema, errors);
    }
    validate_rules(object, Some(old), schema, errors)
}

/// Validates a change of the status alone.
pub fn validate_status_update(
    object: &Value,
    old: &Value,
    schema: &Structural,
    errors: &mut Vec<FieldError>,
) -> Vec<String> {
    if let (Some(status), Some(schema)) = (object.get("status"), schema.field("status")) {
        values::validate(status, schema, old.get("status"), &Path::new("status"), errors);
    }
    if !lists::has_duplicates(old, schema) {
        lists::validate(object, schema, errors);
    }
    validate_rules(object, Some(old), schema, errors)
}

/// Checks resources embedded in a value that may be a resource itself.
pub(crate) fn validate_embedded_at(
    value: &Value,
    schema: &Structural,
    is_resource: bool,
    base: &Path,
    errors: &mut Vec<FieldError>,
) {
    let before = errors.len();
    if is_resource && !schema.embedded_resource && value.is_object() {
        metadata::validate_embedded(value, &Path::root(), errors);
    }
    validate_embedded(value, schema, &Trail::ROOT, errors);
    if !base.as_str().is_empty() {
        for error in &mut errors[before..] {
            error.field = base.child(&error.field).to_string();
        }
    }
}

/// Validates a value that is not a whole resource, against its values only.
pub(crate) fn validate_part(value: &Value, schema: &Structural, base: &Path, errors: &mut Vec<FieldError>) {
    values::validate(value, schema, None, base, errors);
}

/// Rules are checked last, unless something before them is so wrong that they would fail by accident.
fn validate_rules(
    object: &Value,
    old: Option<&Value>,
    schema: &Structural,
    errors: &mut Vec<FieldError>,
) -> Vec<String> {
    let Some(rules) = &schema.rules else {
        return Vec::new();
    };
    if !errors.iter().any(is_blocking) {
        return rules.validate(object, old, schema, &Path::root(), errors);
    }
    errors.push(FieldError {
        kind: ErrorKind::Invalid,
        field: "<nil>".to_owned(),
        value: "null".to_owned(),
        detail: "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation".to_owned(),
    });
    Vec::new()
}

fn is_blocking(error: &FieldError) -> bool {
    matches!(
        error.kind,
        ErrorKind::NotSupported
            | ErrorKind::Required
            | ErrorKind::TooLong
            | ErrorKind::TooMany
            | ErrorKind::TypeInvalid
    )
}

/// Checks the resources embedded in a value (`x-kubernetes-embedded-resource`).
pub(crate) fn validate_embedded(
    value: &Value,
    schema: &Structural,
    trail: &Trail<'_>,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(entries) => {
            if schema.embedded_resource {
                metadata::validate_embedded(value, &trail.path(&Path::root()), errors);
            }
            for (name, value) in entries {
                if let Some(property) = schema.properties.get(name) {
                    validate_embedded(value, property, &trail.field(name), errors);
                } else if let Some(schema) = schema.additional_schema() {
                    validate_embedded(value, schema, &trail.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (i, item) in items.iter().enumerate() {
                    validate_embedded(item, schema, &trail.index(i), errors);
                }
            }
        }
        _ => {}
    }
}
