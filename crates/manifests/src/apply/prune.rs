//! Removal of what a manager applied before and does not apply any more.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    Write,
    field_set::FieldSet,
    managers::Entry,
    mentioned::mentioned,
    remove::{add_declared_fields, remove},
};
use crate::shape::Shape;

/// Removes the fields, list items and map entries of `last` that no manager owns now.
/// `entries` holds what the applying manager owns now, next to the others.
pub(super) fn prune<S: Shape>(merged: Value, last: &Entry, entries: &[Entry], write: &Write<'_, S>) -> Value {
    let Some(version) = write.version(&last.api_version) else {
        return merged;
    };
    let converted = write.convert(&merged, &last.api_version).into_owned();

    let last_fields = with_declared_fields(last.fields.clone(), version.shape);
    let mut pruned = converted.clone();
    remove(&mut pruned, last_fields.branch(), Some(version.shape));
    let pruned = add_back_owned(&converted, pruned, &last.api_version, entries, write);

    // What went along with the removed but was not the manager's own comes back.
    let mut gone = paths_of(&converted, version.shape);
    gone.subtract(&paths_of(
        &write.convert(&pruned, &last.api_version),
        version.shape,
    ));
    let gone = gone.intersection(&last_fields);
    if gone.is_empty() {
        return merged;
    }
    let mut out = converted;
    remove(&mut out, gone.branch(), Some(version.shape));
    match write.convert(&out, write.api_version) {
        Cow::Owned(converted) => converted,
        Cow::Borrowed(_) => out,
    }
}

/// `merged` without what neither is in `pruned` nor owned, version by version.
fn add_back_owned<S: Shape>(
    merged: &Value,
    mut pruned: Value,
    version: &str,
    entries: &[Entry],
    write: &Write<'_, S>,
) -> Value {
    // The version of the pruned object goes first: others may need its fields to be converted.
    let mut versions: Vec<&str> = entries.iter().map(|entry| entry.api_version.as_str()).collect();
    versions.sort_by_key(|other| (*other != version, *other));
    versions.dedup();
    for version in versions {
        let Some(known) = write.version(version) else {
            continue;
        };
        let merged = write.convert(merged, version);
        let mut keep = paths_of(&write.convert(&pruned, version), known.shape);
        for entry in entries.iter().filter(|entry| entry.api_version == version) {
            keep.union_with(with_declared_fields(entry.fields.clone(), known.shape));
        }
        let mut gone = paths_of(&merged, known.shape);
        gone.subtract(&keep);
        pruned = merged.into_owned();
        remove(&mut pruned, gone.branch(), Some(known.shape));
    }
    pruned
}

fn paths_of<S: Shape>(object: &Value, shape: S) -> FieldSet {
    with_declared_fields(mentioned(object, shape), shape)
}

fn with_declared_fields<S: Shape>(mut fields: FieldSet, shape: S) -> FieldSet {
    add_declared_fields(fields.branch_mut(), Some(shape));
    fields
}
