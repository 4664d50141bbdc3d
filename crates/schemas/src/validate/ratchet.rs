//! What did not change in an update is not held against it. For that, places of the old object have
//! to be found again in the new one.

use std::collections::HashMap;

use serde_json::Value;

use crate::structural::{ListType, Structural};

/// What a place held before, where that can be told.
#[derive(Clone, Copy)]
pub(super) struct Old<'a> {
    pub(super) value: &'a Value,
    pub(super) schema: &'a Structural,
}

impl<'a> Old<'a> {
    pub(super) fn field(self, name: &str) -> Option<Self> {
        Some(Self {
            value: self.value.get(name)?,
            schema: self.schema.field(name)?,
        })
    }

    pub(super) fn item(self, before: Option<&'a Value>) -> Option<Self> {
        Some(Self {
            value: before?,
            schema: self.schema.items.as_deref()?,
        })
    }
}

/// Whether a value is what it was before. Items of map lists may have moved; a field the schema
/// does not describe counts as changed.
pub(crate) fn unchanged(new: &Value, old: &Value, schema: &Structural) -> bool {
    match (new, old) {
        (Value::Array(new), Value::Array(old)) => {
            if new.len() != old.len() {
                return false;
            }
            match (schema.index(old), &schema.items) {
                (Some(index), Some(items)) => new.iter().all(|item| {
                    schema
                        .lookup(item, &index)
                        .is_some_and(|before| unchanged(item, before, items))
                }),
                _ => new == old,
            }
        }
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(name, value)| {
                    old.get(name)
                        .zip(schema.field(name))
                        .is_some_and(|(before, schema)| unchanged(value, before, schema))
                })
        }
        _ => new == old,
    }
}

/// The items of a map list by their keys.
pub(crate) type Index<'a> = HashMap<Vec<&'a Value>, &'a Value>;

impl Structural {
    /// The items by their keys; `None` when items cannot be told apart.
    pub(crate) fn index<'a>(&self, items: &'a [Value]) -> Option<Index<'a>> {
        if self.list != ListType::Map || self.list_keys.is_empty() || items.is_empty() {
            return None;
        }
        let mut index = Index::new();
        for item in items {
            if let Some(key) = self.item_key(item) {
                index.entry(key).or_insert(item);
            }
        }
        Some(index)
    }

    pub(crate) fn lookup<'a>(&self, item: &Value, index: &Index<'a>) -> Option<&'a Value> {
        let key = self.item_key(item)?;
        index.get(key.as_slice()).copied()
    }

    fn item_key<'a>(&self, item: &'a Value) -> Option<Vec<&'a Value>> {
        let scalar = |value: &&Value| !value.is_object() && !value.is_array() && !value.is_null();
        self.list_keys
            .iter()
            .map(|key| item.get(key).filter(scalar))
            .collect()
    }
}
