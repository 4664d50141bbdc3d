//! Applying a configuration.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{
    Write,
    compare::{UNOWNED_METADATA, same},
    conflict::{self, Conflict},
    field_set::FieldSet,
    last_applied,
    managers::{Entry, Operation},
    mentioned::mentioned,
    merge::merge,
    prune::prune,
    record::{Record, Refusal},
    validate::validate,
};
use crate::shape::Shape;

/// Why a configuration cannot be applied, in the words of the Status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The request makes no sense: 400, reason `BadRequest`.
    #[error("{0}")]
    BadRequest(String),
    /// Other managers own fields with other values: 409, reason `Conflict`, a cause for each.
    #[error("{}", conflict::message(.0))]
    Conflict(Vec<Conflict>),
    /// The configuration or the object does not have the form of its type: 500, no reason.
    #[error("{0}")]
    Malformed(String),
}

/// Merges the configuration `applied` into `live`, which is not there when the apply creates it,
/// and records who owns which field.
///
/// The result is not finished: defaults are missing, and fields of built-in kinds may be null that
/// should be left out. After that, [`restore_times`](super::restore_times) undoes the traces of an
/// apply that changed nothing.
pub fn apply<S: Shape>(
    live: Option<&Value>,
    applied: &Value,
    write: &Write<'_, S>,
) -> Result<Value, ApplyError> {
    check_request(applied, write)?;
    let mut record = Record::of_object(live);
    let created;
    let live = if let Some(live) = live {
        if record.is_empty() {
            // What an object without a record has belongs to a manager of its own. Should its form
            // be wrong, the merge says so.
            let _ = record.update(write.blank, live, "before-first-apply", write);
        }
        live
    } else {
        created = json!({"apiVersion": write.api_version, "kind": write.kind});
        &created
    };
    let (mut object, record) = apply_or_take_over(live, applied, record, write)?;
    record.store(&mut object);
    if write.manager == last_applied::KUBECTL {
        last_applied::refresh(&mut object, applied);
    }
    Ok(object)
}

fn check_request<S: Shape>(applied: &Value, write: &Write<'_, S>) -> Result<(), ApplyError> {
    let (version, kind) = (text(applied, "apiVersion"), text(applied, "kind"));
    if version != write.api_version || kind != write.kind {
        let message = format!("invalid object type: {}", type_name(version, kind));
        return Err(ApplyError::BadRequest(message));
    }
    if applied["metadata"]["managedFields"].is_array() {
        return Err(ApplyError::BadRequest(
            "metadata.managedFields must be nil".to_owned(),
        ));
    }
    validate(applied, write.shape).map_err(|problems| {
        let subject = described(applied);
        ApplyError::Malformed(format!(
            "failed to create typed patch object ({subject}): {problems}"
        ))
    })
}

/// A configuration in the words of messages: `default/web; apps/v1, Kind=Deployment`.
pub fn described(applied: &Value) -> String {
    let metadata = &applied["metadata"];
    let (namespace, name) = (text(metadata, "namespace"), text(metadata, "name"));
    let type_name = type_name(text(applied, "apiVersion"), text(applied, "kind"));
    format!("{namespace}/{name}; {type_name}")
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// A version and kind in the words of messages: `/v1, Kind=Pod`.
pub fn type_name(version: &str, kind: &str) -> String {
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{slash}{version}, Kind={kind}")
}

/// Applies; `kubectl` takes over the fields that it applied before from the client.
fn apply_or_take_over<S: Shape>(
    live: &Value,
    applied: &Value,
    record: Record,
    write: &Write<'_, S>,
) -> Result<(Value, Record), ApplyError> {
    let spare = (write.manager == last_applied::KUBECTL && !write.force).then(|| record.clone());
    let mut conflicts = match merge_and_record(live, applied, record, write.force, write) {
        Ok(done) => return Ok(done),
        Err(Refusal::Conflicts(conflicts)) => conflicts,
        Err(Refusal::Problems(problems)) => return Err(malformed(&problems)),
    };
    if let Some(record) = spare
        && let Some(allowed) = last_applied::fields(live, write)
    {
        for entry in &mut conflicts {
            entry.fields.subtract(&allowed);
        }
        if conflicts.iter().all(|entry| entry.fields.is_empty()) {
            return merge_and_record(live, applied, record, true, write).map_err(|refusal| match refusal {
                Refusal::Conflicts(conflicts) => conflict_error(&conflicts),
                Refusal::Problems(problems) => malformed(&problems),
            });
        }
    }
    Err(conflict_error(&conflicts))
}

fn malformed(problems: &super::problem::Problems) -> ApplyError {
    ApplyError::Malformed(format!("failed to merge config: {problems}"))
}

fn conflict_error(conflicts: &[Entry]) -> ApplyError {
    ApplyError::Conflict(conflicts.iter().flat_map(conflict::with).collect())
}

/// The merged object, and its record.
fn merge_and_record<S: Shape>(
    live: &Value,
    applied: &Value,
    mut record: Record,
    force: bool,
    write: &Write<'_, S>,
) -> Result<(Value, Record), Refusal> {
    record.reconcile(write);
    let mut object = live.clone();
    merge(&mut object, applied, write.shape).map_err(Refusal::Problems)?;

    let mut fields = mentioned(applied, write.shape);
    write.reset.filter(&mut fields);
    let own = record.own(write.manager, Operation::Apply, write);
    let last = record.entries[own].clone();
    let only_adds = last.api_version == write.api_version && last.fields.is_subset(&fields);
    record.entries[own].fields = fields;
    write.api_version.clone_into(&mut record.entries[own].api_version);
    if !only_adds {
        object = prune(object, &last, &record.entries, write);
    }

    record.take_changes(live, &object, Some(own), force, write)?;
    let own = record.own(write.manager, Operation::Apply, write);
    record.entries[own].fields.subtract(&UNOWNED);
    if !same(live, &object) {
        record.entries[own].time = Some(write.now.to_owned());
    }
    record.entries.retain(|entry| !entry.fields.is_empty());
    Ok((object, record))
}

/// The fields that are never in a record.
static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    let mut set = FieldSet::of_fields(&[&["apiVersion"], &["kind"], &["metadata"]]);
    for name in UNOWNED_METADATA {
        set.union_with(FieldSet::of_fields(&[&["metadata", name]]));
    }
    set
});
