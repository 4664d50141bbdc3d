//! The place a JSON pointer names: the object or list it is in, and the key or index there.

use std::borrow::Cow;
use std::num::IntErrorKind;

use serde_json::{Map, Value};

use super::Outcome;
use crate::field::quoted;

/// Something that may be there or not, in something that is.
pub(super) struct Target<'d, 'p> {
    parent: Parent<'d>,
    pub(super) key: Cow<'p, str>,
}

enum Parent<'d> {
    Object(&'d mut Map<String, Value>),
    List(&'d mut Vec<Value>),
}

/// Follows a pointer up to its last step; `None` when something on the way is missing. What stands
/// before the first slash does not matter to the API server.
pub(super) fn locate<'d, 'p>(document: &'d mut Value, pointer: &'p str) -> Option<Target<'d, 'p>> {
    let (_, steps) = pointer.split_once('/')?;
    let mut steps = steps.split('/').map(unescaped).peekable();
    let mut parent = Parent::of(document)?;
    loop {
        let key = steps.next()?;
        if steps.peek().is_none() {
            return Some(Target { parent, key });
        }
        parent = Parent::of(parent.into_child(&key)?)?;
    }
}

impl<'d> Parent<'d> {
    fn of(value: &'d mut Value) -> Option<Self> {
        match value {
            Value::Object(object) => Some(Self::Object(object)),
            Value::Array(items) => Some(Self::List(items)),
            _ => None,
        }
    }

    fn into_child(self, key: &str) -> Option<&'d mut Value> {
        match self {
            Self::Object(object) => object.get_mut(key),
            Self::List(items) => {
                let index = existing_index(key, items.len()).ok()?;
                items.get_mut(index)
            }
        }
    }
}

impl Target<'_, '_> {
    pub(super) fn get(&self) -> Outcome<Option<&Value>> {
        match &self.parent {
            Parent::Object(object) => Ok(object.get(&*self.key)),
            Parent::List(items) => Ok(items.get(existing_index(&self.key, items.len())?)),
        }
    }

    pub(super) fn add(&mut self, value: Value) -> Outcome {
        match &mut self.parent {
            Parent::Object(object) => {
                object.insert(self.key.to_string(), value);
            }
            Parent::List(items) if self.key == "-" => items.push(value),
            Parent::List(items) => {
                let index = insertion_index(&self.key, items.len())?;
                items.insert(index, value);
            }
        }
        Ok(())
    }

    /// Sets an item that is there, or a field whether it is there or not.
    pub(super) fn replace(&mut self, value: Value) -> Outcome {
        match &mut self.parent {
            Parent::Object(object) => {
                object.insert(self.key.to_string(), value);
            }
            Parent::List(items) => {
                let index = existing_index(&self.key, items.len())?;
                items[index] = value;
            }
        }
        Ok(())
    }

    pub(super) fn remove(&mut self) -> Outcome<Value> {
        match &mut self.parent {
            Parent::Object(object) => object
                .remove(&*self.key)
                .ok_or_else(|| format!("Unable to remove nonexistent key: {}: missing value", self.key)),
            Parent::List(items) => {
                let index = existing_index(&self.key, items.len())?;
                Ok(items.remove(index))
            }
        }
    }
}

/// `~1` is a slash, then `~0` is a tilde.
fn unescaped(step: &str) -> Cow<'_, str> {
    if !step.contains('~') {
        return Cow::Borrowed(step);
    }
    Cow::Owned(step.replace("~1", "/").replace("~0", "~"))
}

/// The index of an item that is there.
fn existing_index(key: &str, length: usize) -> Outcome<usize> {
    let number = integer(key)?;
    resolve(number, length)
        .filter(|index| *index < length)
        .ok_or_else(|| invalid_index(number))
}

/// The index a new item gets, which may be one past the last.
fn insertion_index(key: &str, length: usize) -> Outcome<usize> {
    let number =
        integer(key).map_err(|cause| format!("value was not a proper array index: '{key}': {cause}"))?;
    resolve(number, length + 1)
        .filter(|index| *index <= length)
        .ok_or_else(|| invalid_index(number))
}

/// Negative indices count from the end.
fn resolve(number: i64, length: usize) -> Option<usize> {
    let number = if number < 0 {
        number.checked_add_unsigned(length as u64)?
    } else {
        number
    };
    usize::try_from(number).ok()
}

fn integer(key: &str) -> Outcome<i64> {
    key.parse().map_err(|error: std::num::ParseIntError| {
        let cause = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.Atoi: parsing {}: {cause}", quoted(key))
    })
}

fn invalid_index(number: i64) -> String {
    format!("Unable to access invalid index: {number}: invalid index referenced")
}
