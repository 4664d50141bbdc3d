//! Which fields differ between two versions of an object, told apart as its type tells them apart.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    element::{field_text, item_text, shown},
    field_set::FieldSet,
    problem::Problems,
};
use crate::shape::{ListKind, Shape};

/// The fields that differ. No path is in more than one of the sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Changes {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

/// What happened to a value as a whole, next to what happened inside of it.
#[derive(Clone, Copy, PartialEq)]
enum Itself {
    Kept,
    Removed,
    Modified,
    Added,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    fn attach(&mut self, text: impl FnOnce() -> String, itself: Itself, inside: Self) {
        if itself == Itself::Kept && inside.is_empty() {
            return;
        }
        let text = text();
        for (set, member, below) in [
            (&mut self.removed, itself == Itself::Removed, inside.removed),
            (&mut self.modified, itself == Itself::Modified, inside.modified),
            (&mut self.added, itself == Itself::Added, inside.added),
        ] {
            if member || !below.is_empty() {
                set.attach(text.clone(), member, below);
            }
        }
    }
}

/// Compares two objects, except for the fields that nobody owns.
pub(super) fn compare<S: Shape>(old: &Value, new: &Value, shape: S) -> Result<Changes, Problems> {
    let mut changes = Changes::default();
    let mut problems = Problems::default();
    let fields =
        zip(Some(old), Some(new)).filter(|(name, _, _)| !matches!(*name, "apiVersion" | "kind" | "metadata"));
    compare_fields(fields, Some(shape), &mut changes, &mut problems);

    let mut inside = Changes::default();
    let mut below = Problems::default();
    let fields =
        zip(old.get("metadata"), new.get("metadata")).filter(|(name, _, _)| !UNOWNED_METADATA.contains(name));
    compare_fields(fields, shape.field("metadata"), &mut inside, &mut below);
    problems.extend_below(".metadata", below);
    changes.attach(|| field_text("metadata"), Itself::Kept, inside);
    problems.into_result().map(|()| changes)
}

/// The metadata that the server sets or that identifies the object: never in `fieldsV1`.
pub(super) const UNOWNED_METADATA: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// The fields of two objects by name. What is not an object has none.
fn zip<'a>(
    old: Option<&'a Value>,
    new: Option<&'a Value>,
) -> impl Iterator<Item = (&'a str, Option<&'a Value>, Option<&'a Value>)> {
    let old = old.and_then(Value::as_object);
    let new = new.and_then(Value::as_object);
    let kept = new
        .into_iter()
        .flatten()
        .map(move |(name, value)| (name.as_str(), old.and_then(|old| old.get(name)), Some(value)));
    let removed = old
        .into_iter()
        .flatten()
        .filter(move |(name, _)| new.is_none_or(|new| !new.contains_key(*name)))
        .map(|(name, value)| (name.as_str(), Some(value), None));
    kept.chain(removed)
}

fn compare_fields<'a, S: Shape>(
    fields: impl Iterator<Item = (&'a str, Option<&'a Value>, Option<&'a Value>)>,
    shape: Option<S>,
    changes: &mut Changes,
    problems: &mut Problems,
) {
    for (name, old, new) in fields {
        let shape = shape.and_then(|shape| shape.field(name));
        let mut below = Problems::default();
        let (itself, inside) = compare_values(old, new, shape, &mut below);
        problems.extend_below(format_args!(".{name}"), below);
        changes.attach(|| field_text(name), itself, inside);
    }
}

/// Compares two values of which at least one is there. Data without a type is one value.
fn compare_values<S: Shape>(
    old: Option<&Value>,
    new: Option<&Value>,
    shape: Option<S>,
    problems: &mut Problems,
) -> (Itself, Changes) {
    let mut inside = Changes::default();
    if let (None, Some(new)) = (old, new) {
        inside.added = everything_in(new, shape, problems);
        return (Itself::Added, inside);
    }
    let mut is_leaf = true;
    if let Some(shape) = shape {
        // Values that changed their form are compared once as each of the two forms.
        let (first, second) = (Form::of(old), Form::of(new));
        is_leaf = compare_as(first.or(second), old, new, shape, &mut inside, problems);
        if first.is_some() && second.is_some() && first != second {
            is_leaf |= compare_as(second, old, new, shape, &mut inside, problems);
        }
    }
    let itself = match (old, new) {
        (None, _) => Itself::Added,
        (_, None) => Itself::Removed,
        (Some(old), Some(new)) if is_leaf && !same(old, new) => Itself::Modified,
        _ => Itself::Kept,
    };
    (itself, inside)
}

/// All that is inside of a value that was not there before: nothing has to be compared.
fn everything_in<S: Shape>(new: &Value, shape: Option<S>, problems: &mut Problems) -> FieldSet {
    let Some(shape) = shape else {
        return FieldSet::new();
    };
    match new {
        Value::Object(fields) if !shape.is_atomic_object() => {
            FieldSet::of_members(fields.iter().map(|(name, value)| {
                let mut below = Problems::default();
                let inside = everything_in(value, shape.field(name), &mut below);
                problems.extend_below(format_args!(".{name}"), below);
                (field_text(name), inside)
            }))
        }
        Value::Array(items) if shape.list_kind() != ListKind::Atomic => {
            let matched = match_items(&[], items, shape, problems);
            FieldSet::of_members(matched.into_iter().map(|(text, _, items)| {
                let mut below = Problems::default();
                let inside = match items.as_slice() {
                    [item] => everything_in(item, shape.element(), &mut below),
                    // Items that share an identity are owned together, as one value.
                    _ => FieldSet::new(),
                };
                problems.extend_below(shown(&text), below);
                (text, inside)
            }))
        }
        _ => FieldSet::new(),
    }
}

/// The forms that values take, as far as they are compared differently.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Object,
    List,
    Scalar,
}

impl Form {
    /// Null takes the form of what it is compared with.
    fn of(value: Option<&Value>) -> Option<Self> {
        match value? {
            Value::Null => None,
            Value::Object(_) => Some(Self::Object),
            Value::Array(_) => Some(Self::List),
            _ => Some(Self::Scalar),
        }
    }
}

/// Compares the parts of two values; true if they have none and are compared as one.
fn compare_as<S: Shape>(
    form: Option<Form>,
    old: Option<&Value>,
    new: Option<&Value>,
    shape: S,
    inside: &mut Changes,
    problems: &mut Problems,
) -> bool {
    match form {
        Some(Form::Object) if !shape.is_atomic_object() => {
            compare_fields(zip(old, new), Some(shape), inside, problems);
            zip(old, new).next().is_none()
        }
        Some(Form::List) if shape.list_kind() != ListKind::Atomic => {
            let old = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let new = new.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            compare_items(old, new, shape, inside, problems);
            old.is_empty() && new.is_empty()
        }
        _ => true,
    }
}

fn compare_items<S: Shape>(
    old: &[Value],
    new: &[Value],
    list: S,
    changes: &mut Changes,
    problems: &mut Problems,
) {
    if old == new {
        return;
    }
    for (text, old, new) in match_items(old, new, list, problems) {
        let mut compare_item = |old, new| {
            let mut below = Problems::default();
            let compared = compare_values(old, new, list.element(), &mut below);
            problems.extend_below(shown(&text), below);
            compared
        };
        match (old.as_slice(), new.as_slice()) {
            ([] | [_], [] | [_]) => {
                let (itself, inside) = compare_item(old.first().copied(), new.first().copied());
                changes.attach(|| text.clone(), itself, inside);
            }
            // Items that share an identity are owned together, as one value.
            ([_, _, ..], [_, _, ..]) => {
                let same = old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| same(old, new));
                let itself = if same { Itself::Kept } else { Itself::Modified };
                changes.attach(|| text, itself, Changes::default());
            }
            _ => {
                let (old, new, together) = if old.len() > 1 {
                    (None, new.first().copied(), Itself::Removed)
                } else {
                    (old.first().copied(), None, Itself::Added)
                };
                if old.or(new).is_some() {
                    let (itself, inside) = compare_item(old, new);
                    changes.attach(|| text.clone(), itself, inside);
                }
                changes.attach(|| text, together, Changes::default());
            }
        }
    }
}

/// The items of one identity in the old and in the new list.
type Matched<'a> = (String, Vec<&'a Value>, Vec<&'a Value>);

fn match_items<'a, S: Shape>(
    old: &'a [Value],
    new: &'a [Value],
    list: S,
    problems: &mut Problems,
) -> Vec<Matched<'a>> {
    let mut matched: Vec<Matched<'a>> = Vec::with_capacity(old.len().max(new.len()));
    let mut positions: HashMap<String, usize> = HashMap::with_capacity(matched.capacity());
    for (items, is_new) in [(old, false), (new, true)] {
        for (i, item) in items.iter().enumerate() {
            let text = match item_text(&list, item) {
                Ok(text) => text,
                Err(message) => {
                    problems.push(format!("element {i}: {message}"));
                    continue;
                }
            };
            let position = *positions.entry(text).or_insert_with_key(|text| {
                matched.push((text.clone(), Vec::new(), Vec::new()));
                matched.len() - 1
            });
            let (_, old, new) = &mut matched[position];
            if is_new { new.push(item) } else { old.push(item) }
        }
    }
    matched
}

/// Whether two values are equal, numbers by what they are worth.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
