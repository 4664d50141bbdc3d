//! An applied configuration laid over the live object.

use std::{collections::HashMap, mem};

use serde_json::Value;

use super::{
    element::{item_text, shown},
    problem::Problems,
};
use crate::shape::{ListKind, Shape};

/// Sets everything that `applied` mentions. Nothing is removed, and items of lists keep their
/// place as far as the order of the applied list allows it.
pub(super) fn merge<S: Shape>(live: &mut Value, applied: &Value, shape: S) -> Result<(), Problems> {
    let mut problems = Problems::default();
    merge_values(live, applied, Some(shape), &mut problems);
    problems.into_result()
}

fn merge_values<S: Shape>(live: &mut Value, applied: &Value, shape: Option<S>, problems: &mut Problems) {
    let Some(shape) = shape else {
        live.clone_from(applied);
        return;
    };
    match (&mut *live, applied) {
        (Value::Object(live), Value::Object(applied)) if !shape.is_atomic_object() => {
            for (name, value) in applied {
                let mut below = Problems::default();
                match live.get_mut(name) {
                    Some(live) => merge_values(live, value, shape.field(name), &mut below),
                    None => {
                        live.insert(name.clone(), value.clone());
                    }
                }
                problems.extend_below(format_args!(".{name}"), below);
            }
        }
        (Value::Array(items), Value::Array(applied)) if shape.list_kind() != ListKind::Atomic => {
            *items = merge_items(mem::take(items), applied, shape, problems);
        }
        // A null for something that has parts takes none of them away.
        (Value::Object(live), Value::Null) if !shape.is_atomic_object() && !live.is_empty() => {}
        (Value::Array(items), Value::Null) if shape.list_kind() != ListKind::Atomic && !items.is_empty() => {}
        _ => live.clone_from(applied),
    }
}

/// The items of one side of a merge.
struct Side {
    texts: Vec<String>,
    /// Where an item is. Items that share their identity have no place: they merge with nothing.
    places: HashMap<String, Option<usize>>,
}

impl Side {
    fn new<S: Shape>(items: &[Value], list: S, allow_duplicates: bool, problems: &mut Problems) -> Self {
        let mut texts = Vec::with_capacity(items.len());
        let mut places: HashMap<String, Option<usize>> = HashMap::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let text = match item_text(&list, item) {
                Ok(text) => text,
                Err(message) => {
                    problems.push(format!("element {i}: {message}"));
                    continue;
                }
            };
            if let Some(place) = places.get_mut(&text) {
                if !allow_duplicates {
                    problems.push(format!("duplicate entries for key {}", shown(&text)));
                    continue;
                }
                *place = None;
            } else {
                places.insert(text.clone(), Some(i));
            }
            texts.push(text);
        }
        Self { texts, places }
    }

    fn has(&self, text: &str) -> bool {
        self.places.contains_key(text)
    }
}

/// Walks both lists at once. Items of the live list stay where they are until the next item that
/// both lists have; from there the order is that of the applied list.
fn merge_items<S: Shape>(
    mut live: Vec<Value>,
    applied: &[Value],
    list: S,
    problems: &mut Problems,
) -> Vec<Value> {
    let mut found = Problems::default();
    let right = Side::new(applied, list, false, &mut found);
    let left = Side::new(&live, list, true, &mut found);
    if let Err(found) = found.into_result() {
        problems.extend_below("", found);
        return live;
    }

    let mut shared = right.texts.iter().filter(|text| left.has(text)).peekable();
    let mut out = Vec::with_capacity(live.len().max(applied.len()));
    let mut merged = vec![false; applied.len()];
    let (mut l, mut r) = (0, 0);
    while l < left.texts.len() || r < right.texts.len() {
        if let Some(text) = left.texts.get(l) {
            let wanted = right.texts.get(r);
            if wanted.is_some_and(|wanted| wanted != text)
                && right.has(text)
                && shared.peek().is_some_and(|next| *next != text)
            {
                // Both lists have it, but it is not its turn.
                l += 1;
                continue;
            }
            if !right.has(text) {
                out.push(mem::take(&mut live[l]));
                l += 1;
                continue;
            }
            let place = right.places[text];
            if wanted.is_some_and(|wanted| wanted == text) || place.is_some_and(|place| merged[place]) {
                l += 1;
            }
        }
        if let Some(text) = right.texts.get(r) {
            let mut item = match left.places.get(text).copied().flatten() {
                Some(place) => mem::take(&mut live[place]),
                None => Value::Null,
            };
            let mut below = Problems::default();
            merge_values(&mut item, &applied[r], list.element(), &mut below);
            problems.extend_below(shown(text), below);
            out.push(item);
            merged[r] = true;
            r += 1;
            shared.next_if_eq(&text);
        }
    }
    out
}
