//! Fields a schema does not specify are removed from custom resources, and the metadata of the
//! resource and of resources embedded in it is brought into form.

use manifests::field::{FieldError, Path};
use serde_json::Value;

use crate::{
    default::drop_nulls,
    metadata::{self, Invalid},
    structural::Structural,
    trail::Trail,
};

/// Removes everything the schema does not know, and metadata that is unknown or malformed, from a
/// whole resource. Answers with the paths of what was unknown, as strict field validation names them.
pub fn prune(object: &mut Value, schema: &Structural) -> Vec<String> {
    apply(object, schema, Invalid::Dropped).unwrap_or_default()
}

/// Like [`prune`], for requests: a known metadata field of the wrong type is an error.
pub fn coerce(object: &mut Value, schema: &Structural) -> Result<Vec<String>, CoerceError> {
    apply(object, schema, Invalid::Refused)
}

/// What cannot be read as a resource at all.
#[derive(Debug, thiserror::Error)]
pub enum CoerceError {
    #[error("{0}")]
    Metadata(String),
    #[error("{0}")]
    Embedded(FieldError),
}

fn apply(object: &mut Value, schema: &Structural, invalid: Invalid) -> Result<Vec<String>, CoerceError> {
    write_whole_numbers(object);
    let mut unknown = Vec::new();
    if let Some(metadata) = object.get_mut("metadata") {
        let mut paths = Vec::new();
        metadata::decode(metadata, invalid, &mut paths).map_err(CoerceError::Metadata)?;
        unknown.extend(paths.into_iter().map(|path| format!("metadata.{path}")));
    }
    let mut pruned = Vec::new();
    Pruner {
        dropped: Some(&mut pruned),
    }
    .prune(object, Some(schema), true, &Trail::ROOT);
    pruned.sort();
    unknown.append(&mut pruned);
    drop_nulls(object, schema);
    let mut embedded = Vec::new();
    Coercer {
        invalid,
        unknown: &mut embedded,
    }
    .coerce(object, schema, schema.embedded_resource, &Trail::ROOT)
    .map_err(CoerceError::Embedded)?;
    embedded.sort();
    unknown.append(&mut embedded);
    Ok(unknown)
}

/// `1.0` is stored and answered as `1`, and is then an integer.
fn write_whole_numbers(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            if float.fract() == 0.0 && float.abs() < EXACT && float.is_sign_positive() == (float >= 0.0) {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_whole_numbers),
        Value::Object(entries) => entries.values_mut().for_each(write_whole_numbers),
        _ => {}
    }
}

/// Removes what the schema does not know from a value that is not a whole resource.
pub(crate) fn prune_part(value: &mut Value, schema: &Structural, is_resource: bool) {
    Pruner { dropped: None }.prune(value, Some(schema), is_resource, &Trail::ROOT);
}

/// Checks and cleans embedded metadata in a value that is not a whole resource.
pub(crate) fn coerce_part(
    value: &mut Value,
    schema: &Structural,
    is_resource: bool,
    invalid: Invalid,
) -> Result<(), FieldError> {
    Coercer {
        invalid,
        unknown: &mut Vec::new(),
    }
    .coerce(value, schema, is_resource, &Trail::ROOT)
}

fn is_resource_field(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

struct Pruner<'a> {
    dropped: Option<&'a mut Vec<String>>,
}

impl Pruner<'_> {
    fn prune(
        &mut self,
        value: &mut Value,
        schema: Option<&Structural>,
        is_resource: bool,
        trail: &Trail<'_>,
    ) {
        if let Some(schema) = schema.filter(|schema| schema.preserve_unknown_fields) {
            return self.keep(value, schema, is_resource, trail);
        }
        match value {
            Value::Object(entries) => entries.retain(|name, value| {
                if is_resource && is_resource_field(name) {
                    return true;
                }
                if let Some(Said::Allowed(below)) = schema.map(|schema| said(schema, name)) {
                    self.prune_below(value, below, &trail.field(name));
                    return true;
                }
                // Unspecified type and metadata at the root are not the user's mistake.
                let expected = schema.is_some() && trail.is_root() && is_resource_field(name);
                if !expected && let Some(dropped) = &mut self.dropped {
                    dropped.push(trail.field(name).dotted());
                }
                false
            }),
            Value::Array(items) => {
                let schema = schema.and_then(|schema| schema.items.as_deref());
                for (i, item) in items.iter_mut().enumerate() {
                    self.prune_below(item, schema, &trail.index(i));
                }
            }
            _ => {}
        }
    }

    fn prune_below(&mut self, value: &mut Value, schema: Option<&Structural>, trail: &Trail<'_>) {
        let is_resource = schema.is_some_and(|schema| schema.embedded_resource);
        self.prune(value, schema, is_resource, trail);
    }

    /// Below `x-kubernetes-preserve-unknown-fields`, only specified fields are looked into.
    fn keep(&mut self, value: &mut Value, schema: &Structural, is_resource: bool, trail: &Trail<'_>) {
        match value {
            Value::Object(entries) => {
                for (name, value) in entries.iter_mut() {
                    if is_resource && is_resource_field(name) {
                        continue;
                    }
                    if let Said::Allowed(below) = said(schema, name) {
                        self.prune_below(value, below, &trail.field(name));
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = &schema.items {
                    for (i, item) in items.iter_mut().enumerate() {
                        self.keep(item, schema, schema.embedded_resource, &trail.index(i));
                    }
                }
            }
            _ => {}
        }
    }
}

/// What a schema says of a field.
enum Said<'a> {
    Nothing,
    /// It may be there; this is what is known of its value.
    Allowed(Option<&'a Structural>),
}

fn said<'a>(schema: &'a Structural, name: &str) -> Said<'a> {
    match (schema.properties.get(name), &schema.additional) {
        (Some(property), _) => Said::Allowed(Some(property)),
        (None, Some(_)) => Said::Allowed(schema.additional_schema()),
        (None, None) => Said::Nothing,
    }
}

struct Coercer<'a> {
    invalid: Invalid,
    unknown: &'a mut Vec<String>,
}

impl Coercer<'_> {
    fn coerce(
        &mut self,
        value: &mut Value,
        schema: &Structural,
        is_resource: bool,
        trail: &Trail<'_>,
    ) -> Result<(), FieldError> {
        if is_resource {
            self.coerce_resource(value, trail)?;
        }
        match value {
            Value::Object(entries) => {
                entries
                    .iter_mut()
                    .try_for_each(|(name, value)| match schema.properties.get(name) {
                        Some(property) => {
                            self.coerce(value, property, property.embedded_resource, &trail.field(name))
                        }
                        None => schema.additional_schema().map_or(Ok(()), |schema| {
                            self.coerce(value, schema, schema.embedded_resource, &trail.key(name))
                        }),
                    })
            }
            Value::Array(items) => schema.items.as_deref().map_or(Ok(()), |schema| {
                items.iter_mut().enumerate().try_for_each(|(i, item)| {
                    self.coerce(item, schema, schema.embedded_resource, &trail.index(i))
                })
            }),
            _ => Ok(()),
        }
    }

    fn coerce_resource(&mut self, value: &mut Value, trail: &Trail<'_>) -> Result<(), FieldError> {
        let Value::Object(entries) = value else {
            return Ok(());
        };
        for field in ["apiVersion", "kind"] {
            let Some(value) = entries.get(field).filter(|value| !value.is_string()) else {
                continue;
            };
            if self.invalid == Invalid::Refused {
                let path = trail.field(field).path(&Path::root());
                return Err(FieldError::invalid(&path, value, "must be a string"));
            }
            entries.remove(field);
        }
        let Some(metadata) = entries.get_mut("metadata") else {
            return Ok(());
        };
        let path = trail.field("metadata").path(&Path::root());
        let before = metadata.clone();
        let mut unknown = Vec::new();
        if let Err(complaint) = metadata::decode(metadata, self.invalid, &mut unknown) {
            let refused = FieldError::invalid(&path, &before, complaint);
            *metadata = before;
            return if self.invalid == Invalid::Refused {
                Err(refused)
            } else {
                Ok(())
            };
        }
        if metadata.is_null() {
            *metadata = Value::Object(serde_json::Map::new());
        }
        self.unknown
            .extend(unknown.into_iter().map(|field| format!("{path}.{field}")));
        Ok(())
    }
}
