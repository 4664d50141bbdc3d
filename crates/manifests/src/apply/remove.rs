//! Objects without some of their fields.

use serde_json::Value;

use super::{
    element::{field_text, item_text},
    field_set::{Branch, below, elements_mut, has_below, is_member, set_member},
};
use crate::shape::{ListKind, Shape};

/// Takes the paths of a set out of a value. What loses all its parts becomes null.
pub(super) fn remove<S: Shape>(value: &mut Value, paths: &Branch, shape: Option<S>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let Some(paths) = below(paths, &field_text(name)) else {
                    return true;
                };
                if is_member(paths) {
                    return false;
                }
                remove(value, paths, shape.and_then(|shape| shape.field(name)));
                true
            });
            if fields.is_empty() || shape.is_none_or(Shape::is_atomic_object) {
                *value = Value::Null;
            }
        }
        Value::Array(items) => {
            let list = shape.filter(|shape| shape.list_kind() != ListKind::Atomic);
            if let Some(list) = list {
                items.retain_mut(|item| remove_item(item, paths, list));
            }
            if items.is_empty() || list.is_none() {
                *value = Value::Null;
            }
        }
        _ => {}
    }
}

/// Whether the item stays.
fn remove_item<S: Shape>(item: &mut Value, paths: &Branch, list: S) -> bool {
    let paths = item_text(&list, item).ok().and_then(|text| below(paths, &text));
    match paths {
        None => true,
        Some(paths) if is_member(paths) => false,
        Some(paths) => {
            remove(item, paths, list.element());
            true
        }
    }
}

/// Adds the declared fields that have paths below them. They go when all below them goes; keys of
/// free maps do not.
pub(super) fn add_declared_fields<S: Shape>(branch: &mut Branch, shape: Option<S>) {
    let Some(shape) = shape else { return };
    for (text, below) in elements_mut(branch) {
        let name = text.strip_prefix("f:");
        let inside = match name {
            Some(name) => shape.field(name),
            None if text.starts_with("k:") => shape.element(),
            None => None,
        };
        add_declared_fields(below, inside);
        if has_below(below) && name.is_some_and(|name| shape.declares(name)) {
            set_member(below, true);
        }
    }
}
