//! The record of an object's managers while a write changes it.

use serde_json::{Map, Value};

use super::{
    Write,
    cap::cap,
    compare::compare,
    field_set::FieldSet,
    managers::{Entry, Operation, decode, decode_stored, encode},
    problem::Problems,
    reconcile::reconcile,
    write::Reset,
};
use crate::shape::Shape;

/// Who owns which fields of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) entries: Vec<Entry>,
}

/// Why a write does not go into the record.
pub(super) enum Refusal {
    Problems(Problems),
    /// The fields of others that the write would change, sorted by manager.
    Conflicts(Vec<Entry>),
}

/// The fields that a write changes in one version of the object.
struct Changed {
    /// Modified or added.
    set: FieldSet,
    removed: FieldSet,
}

impl Record {
    /// The record of an object as it is stored.
    pub(super) fn of_object(object: Option<&Value>) -> Self {
        Self {
            entries: object
                .and_then(stored)
                .map(|entries| decode_stored(entries.clone()))
                .unwrap_or_default(),
        }
    }

    /// The record from which a write starts, taken out of the new object. Clients may send a record
    /// of their own with the object itself, and an empty one to start anew; one that cannot be read
    /// or is left out does not count.
    pub(super) fn of_request(old: Option<&Value>, new: &mut Value, subresource: &str) -> Self {
        let sent = new
            .get_mut("metadata")
            .and_then(|metadata| metadata.as_object_mut()?.remove("managedFields"));
        let Some(Value::Array(sent)) = sent else {
            return Self::of_object(old);
        };
        if old.and_then(stored) == Some(&sent) {
            return Self {
                entries: decode_stored(sent),
            };
        }
        if !subresource.is_empty() {
            return Self::of_object(old);
        }
        if is_reset(&sent) {
            return Self::default();
        }
        match decode(&sent) {
            Some(entries) if !entries.is_empty() => Self { entries },
            _ => Self::of_object(old),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes the record into an object.
    pub(super) fn store(self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else {
            return;
        };
        let metadata = object
            .entry("metadata")
            .or_insert_with(|| Value::Object(Map::new()));
        let Some(metadata) = metadata.as_object_mut() else {
            return;
        };
        if self.entries.is_empty() {
            metadata.remove("managedFields");
        } else {
            metadata.insert("managedFields".to_owned(), Value::Array(encode(self.entries)));
        }
    }

    /// Brings the record to the current types, without the versions that the server forgot.
    pub(super) fn reconcile<S: Shape>(&mut self, write: &Write<'_, S>) {
        self.entries
            .retain_mut(|entry| match write.version(&entry.api_version) {
                Some(version) => {
                    reconcile(entry.fields.branch_mut(), version.shape);
                    true
                }
                None => false,
            });
    }

    /// Gives the fields that differ between two objects to a manager that updates.
    pub(super) fn update<S: Shape>(
        &mut self,
        old: &Value,
        new: &Value,
        manager: &str,
        write: &Write<'_, S>,
    ) -> Result<(), Refusal> {
        self.reconcile(write);
        let fields = self.take_changes(old, new, None, true, write)?;
        if !fields.is_empty() {
            let own = self.own(manager, Operation::Update, write);
            self.entries[own].fields.union_with(fields);
            self.entries[own].time = Some(write.now.to_owned());
        }
        cap(&mut self.entries);
        Ok(())
    }

    /// Takes the fields that differ between two objects from all managers but `own`, and returns
    /// those that are in the new one.
    pub(super) fn take_changes<S: Shape>(
        &mut self,
        old: &Value,
        new: &Value,
        own: Option<usize>,
        force: bool,
        write: &Write<'_, S>,
    ) -> Result<FieldSet, Refusal> {
        let mut versions = self.changes(old, new, write).map_err(Refusal::Problems)?;
        if !force {
            self.check_conflicts(&versions, own)?;
        }
        for (i, entry) in self.entries.iter_mut().enumerate() {
            if Some(i) != own
                && let Some(changed) = find(&versions, &entry.api_version)
            {
                entry.fields.subtract(&changed.set);
                entry.fields.subtract(&changed.removed);
            }
        }
        self.entries.retain(|entry| !entry.fields.is_empty());
        Ok(versions.swap_remove(0).1.set)
    }

    /// The changes in the version of the request, followed by those in the versions of entries.
    fn changes<S: Shape>(
        &self,
        old: &Value,
        new: &Value,
        write: &Write<'_, S>,
    ) -> Result<Vec<(String, Changed)>, Problems> {
        let changed = Changed::between(old, new, write.shape, write.reset)?;
        let mut versions = vec![(write.api_version.to_owned(), changed)];
        for Entry { api_version, .. } in &self.entries {
            if find(&versions, api_version).is_none()
                && let Some(version) = write.version(api_version)
            {
                let old = write.convert(old, api_version);
                let new = write.convert(new, api_version);
                let changed = Changed::between(&old, &new, version.shape, version.reset)?;
                versions.push((api_version.clone(), changed));
            }
        }
        Ok(versions)
    }

    fn check_conflicts(&self, versions: &[(String, Changed)], own: Option<usize>) -> Result<(), Refusal> {
        let mut conflicts: Vec<Entry> = Vec::new();
        for (i, entry) in self.entries.iter().enumerate() {
            let Some(changed) = find(versions, &entry.api_version).filter(|_| Some(i) != own) else {
                continue;
            };
            let fields = entry.fields.intersection(&changed.set);
            if !fields.is_empty() {
                conflicts.push(entry.with_fields(fields));
            }
        }
        conflicts.sort_by_cached_key(Entry::identifier);
        if conflicts.is_empty() {
            Ok(())
        } else {
            Err(Refusal::Conflicts(conflicts))
        }
    }

    /// The place of a manager's entry, which is made if there is none.
    pub(super) fn own<S>(&mut self, manager: &str, operation: Operation, write: &Write<'_, S>) -> usize {
        let manager = if manager.is_empty() { "unknown" } else { manager };
        let (version, subresource) = (write.api_version, write.subresource);
        let found = self
            .entries
            .iter()
            .position(|entry| entry.is_of(manager, operation, version, subresource));
        found.unwrap_or_else(|| {
            self.entries.push(Entry {
                manager: manager.to_owned(),
                operation,
                api_version: version.to_owned(),
                subresource: subresource.to_owned(),
                time: None,
                fields: FieldSet::new(),
            });
            self.entries.len() - 1
        })
    }
}

impl Changed {
    fn between<S: Shape>(old: &Value, new: &Value, shape: S, reset: &Reset) -> Result<Self, Problems> {
        let mut changes = compare(old, new, shape)?;
        reset.filter_changes(&mut changes);
        let mut set = changes.modified;
        set.union_with(changes.added);
        Ok(Self {
            set,
            removed: changes.removed,
        })
    }
}

fn find<'a>(versions: &'a [(String, Changed)], version: &str) -> Option<&'a Changed> {
    versions
        .iter()
        .find(|(known, _)| known == version)
        .map(|(_, changed)| changed)
}

pub(super) fn stored(object: &Value) -> Option<&Vec<Value>> {
    object["metadata"]["managedFields"].as_array()
}

/// Whether a client asks for a new record: an empty list, or one with an empty entry.
fn is_reset(entries: &[Value]) -> bool {
    match entries {
        [] => true,
        [Value::Object(entry)] => entry.values().all(|value| value.is_null() || value == ""),
        _ => false,
    }
}
