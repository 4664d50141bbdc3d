//! Which fields an object mentions: what a manager owns that applies it.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    element::{field_text, item_text},
    field_set::FieldSet,
};
use crate::shape::{ListKind, Shape};

/// Every leaf, list item and map entry of an object.
pub(super) fn mentioned<S: Shape>(object: &Value, shape: S) -> FieldSet {
    inside(object, Some(shape)).unwrap_or_default()
}

/// The fields inside of a value, or `None` if it is owned as one.
fn inside<S: Shape>(value: &Value, shape: Option<S>) -> Option<FieldSet> {
    let shape = shape?;
    match value {
        Value::Object(fields) if !shape.is_atomic_object() => Some(fields_of(fields, shape)),
        Value::Array(items) if shape.list_kind() != ListKind::Atomic => Some(items_of(items, shape)),
        _ => None,
    }
}

fn fields_of<S: Shape>(fields: &Map<String, Value>, shape: S) -> FieldSet {
    let mut set = FieldSet::new();
    for (name, value) in fields {
        let inside = inside(value, shape.field(name));
        let is_empty_object = value.as_object().is_some_and(Map::is_empty);
        let member = inside.is_none() || is_empty_object || !shape.declares(name);
        set.attach(field_text(name), member, inside.unwrap_or_default());
    }
    set
}

fn items_of<S: Shape>(items: &[Value], list: S) -> FieldSet {
    let texts: Vec<Option<String>> = items.iter().map(|item| item_text(&list, item).ok()).collect();
    let mut counts: HashMap<&str, usize> = HashMap::with_capacity(texts.len());
    for text in texts.iter().flatten() {
        *counts.entry(text).or_default() += 1;
    }
    let mut set = FieldSet::new();
    for (text, item) in texts.iter().zip(items) {
        let Some(text) = text else { continue };
        // Items that share an identity are owned together, as one value.
        let inside = if counts[text.as_str()] > 1 {
            None
        } else {
            inside(item, list.element())
        };
        set.attach(text.clone(), true, inside.unwrap_or_default());
    }
    set
}
