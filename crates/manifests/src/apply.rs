//! Server-side apply, and the record of who owns which field in `metadata.managedFields`.
//!
//! [`update`] keeps the record for every write that is not an apply; [`apply`] merges an applied
//! configuration into an object and keeps the record too. Both see objects as they are on the wire
//! and ask a [`Shape`] how to tell their parts apart.

mod cap;
mod compare;
mod configuration;
mod conflict;
mod element;
mod field_set;
mod go_text;
mod last_applied;
mod managers;
mod mentioned;
mod merge;
mod problem;
mod prune;
mod reconcile;
mod record;
mod remove;
mod scale;
mod times;
mod validate;
mod write;

#[cfg(test)]
mod tests;

use serde_json::Value;

use self::record::Record;
pub use self::{
    configuration::{ApplyError, apply, described, type_name},
    conflict::Conflict,
    element::{Element, ElementError},
    field_set::FieldSet,
    scale::Size,
    times::restore_times,
    write::{Reset, Version, Versions, Write},
};
use crate::shape::Shape;

/// Records in `new` who owns which of its fields, for a create, an update or a patch that is not an
/// apply. `old` is the object before the write; a create has none.
///
/// To be called when `new` has its defaults, and before anything else changes it: what admission and
/// the server itself set belongs to nobody.
///
/// Should the objects not have the form of their type, `new` is left without a record.
pub fn update<S: Shape>(old: Option<&Value>, new: &mut Value, write: &Write<'_, S>) {
    let mut record = Record::of_request(old, new, write.subresource);
    let is_create = old.is_none_or(|old| old["metadata"]["uid"].as_str().is_none_or(str::is_empty));
    // An object without a record stays without one until it is applied.
    if record.is_empty() && !is_create {
        return;
    }
    if record
        .update(old.unwrap_or(write.blank), new, write.manager, write)
        .is_ok()
    {
        record.store(new);
    }
}

/// The field manager of a request that does not name one: the product in its `User-Agent`.
pub fn manager_name(user_agent: &str) -> String {
    const MAX_LENGTH: usize = 128;
    let product = user_agent.split('/').next().unwrap_or_default();
    let mut name = String::new();
    for c in product.chars().filter(|c| !c.is_control()) {
        if name.len() + c.len_utf8() > MAX_LENGTH {
            break;
        }
        name.push(c);
    }
    name
}
