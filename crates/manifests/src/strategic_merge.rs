//! Strategic merge patch: a merge patch that knows the type it changes, so that lists whose type
//! says so are merged item by item, and that carries directives (`$patch`, `$retainKeys`,
//! `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`).
//!
//! The result may still hold nulls and unread directives inside of values that are new; reading
//! the result by its type drops them, as it drops every unknown field.

mod element_order;
mod error;
mod lists;
mod order;

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::json::go_kind;
use crate::shape::Shape;

pub use error::{StrategicMergeError, go_printed};

type Object = Map<String, Value>;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";

/// The original changed as the patch says.
pub fn apply<S: Shape>(original: Value, patch: Value, shape: S) -> Result<Value, StrategicMergeError> {
    match (original, patch) {
        (original, Value::Null) => Ok(original),
        (Value::Object(original), Value::Object(patch)) => {
            merge_objects(original, patch, shape).map(Value::Object)
        }
        (Value::Object(_), patch) => Err(StrategicMergeError::NotAnObject(go_kind(&patch))),
        (original, _) => Err(StrategicMergeError::NotAnObject(go_kind(&original))),
    }
}

fn merge_objects<S: Shape>(
    mut original: Object,
    mut patch: Object,
    shape: S,
) -> Result<Object, StrategicMergeError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Object::new()),
            _ => Err(StrategicMergeError::unknown_directive(&patch)),
        };
    }
    if let Some(keys) = patch.remove(RETAIN_KEYS) {
        retain_keys(&mut original, &patch, &keys)?;
    }
    element_order::apply(&mut original, &mut patch, shape)?;
    for (name, value) in patch {
        merge_field(&mut original, name, value, shape)?;
    }
    Ok(original)
}

/// Clears the fields that the list does not name; whatever the patch sets must be named.
fn retain_keys(original: &mut Object, patch: &Object, keys: &Value) -> Result<(), StrategicMergeError> {
    let keys = keys.as_array().ok_or(StrategicMergeError::BadRetainKeys)?;
    let keys: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let named = |name: &str| keys.contains(name);
    let is_parallel_list = |name: &str| name.starts_with(DELETE_FROM_LIST) || name.starts_with(ELEMENT_ORDER);
    for (name, value) in patch {
        if !value.is_null() && !is_parallel_list(name) && !named(name) {
            return Err(StrategicMergeError::BadRetainKeys);
        }
    }
    original.retain(|name, _| named(name));
    Ok(())
}

fn merge_field<S: Shape>(
    original: &mut Object,
    name: String,
    value: Value,
    shape: S,
) -> Result<(), StrategicMergeError> {
    let (name, deletes) = match name.strip_prefix(DELETE_FROM_LIST) {
        Some(rest) => (
            rest.strip_prefix('/')
                .ok_or(StrategicMergeError::BadPrimitiveList)?
                .to_owned(),
            true,
        ),
        None => (name, false),
    };
    match (original.get_mut(&name), value) {
        (_, Value::Null) => {
            original.remove(&name);
        }
        (Some(Value::Object(current)), Value::Object(patch)) => {
            let field = field(shape, &name)?;
            *current = merge_objects(std::mem::take(current), patch, field)?;
        }
        (Some(Value::Array(current)), Value::Array(patch)) => {
            let field = field(shape, &name)?;
            *current = if deletes {
                lists::delete_from(std::mem::take(current), patch, field)?
            } else {
                lists::merge(std::mem::take(current), patch, field)?
            };
        }
        (_, _) if deletes => {}
        (_, mut value) => {
            discard_nulls(&mut value);
            match without_directives(value) {
                Some(value) => original.insert(name, value),
                None => original.remove(&name),
            };
        }
    }
    Ok(())
}

fn field<S: Shape>(shape: S, name: &str) -> Result<S, StrategicMergeError> {
    shape
        .field(name)
        .ok_or_else(|| StrategicMergeError::UnknownField {
            type_name: shape.type_name().unwrap_or_default().to_owned(),
            field: name.to_owned(),
        })
}

/// Nulls mean nothing in a value that is new, except as items of a list.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            object.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// Objects that carry a `$patch` directive have nothing to work on in a value that is new.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(object) if object.contains_key(DIRECTIVE) => None,
        Value::Object(object) => {
            let fields = object.into_iter();
            Some(
                fields
                    .filter_map(|(name, value)| Some((name, without_directives(value)?)))
                    .collect(),
            )
        }
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        scalar => Some(scalar),
    }
}

#[cfg(test)]
mod tests;
