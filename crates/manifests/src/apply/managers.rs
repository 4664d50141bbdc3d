//! The entries of `metadata.managedFields`: who owns which fields.

use std::mem;

use serde_json::{Map, Value};

use super::{
    element::ElementError,
    field_set::FieldSet,
    go_text::write_json_text,
};

/// How a manager wrote its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The fields of one manager.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) time: Option<String>,
    pub(super) fields: FieldSet,
}

/// Why `metadata.managedFields` cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ManagedFieldsError {
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    ApiVersion,
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    #[error("invalid fieldsType {1:?} in managed fields entry {0}")]
    FieldsType(usize, String),
    #[error("error decoding set: {0}")]
    Fields(#[from] ElementError),
}

/// How many managers that update an object are told apart.
const MAX_UPDATE_MANAGERS: usize = 10;

/// Who owns the fields of updates too old to be told apart.
const ANCIENT_CHANGES: &str = "ancient-changes";

impl Entry {
    /// Whether two entries belong to the same manager. Who applies in another version than before
    /// stays the same manager, who updates does not.
    pub(super) fn is_of(&self, manager: &str, operation: Operation, version: &str, subresource: &str) -> bool {
        self.manager == manager
            && self.operation == operation
            && self.subresource == subresource
            && (operation == Operation::Apply || self.api_version == version)
    }

    /// The text by which Kubernetes tells managers apart and sorts them.
    pub(super) fn identifier(&self) -> String {
        let version = if self.operation == Operation::Apply { "" } else { &self.api_version };
        let fields = [
            ("manager", self.manager.as_str()),
            ("operation", self.operation.as_str()),
            ("apiVersion", version),
            ("subresource", self.subresource.as_str()),
        ];
        let mut out = String::from("{");
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            if out.len() > 1 {
                out.push(',');
            }
            write_json_text(&mut out, name, true);
            out.push(':');
            write_json_text(&mut out, value, true);
        }
        out.push('}');
        out
    }

    /// The same manager with other fields.
    pub(super) fn with_fields(&self, fields: FieldSet) -> Self {
        Self {
            manager: self.manager.clone(),
            operation: self.operation,
            api_version: self.api_version.clone(),
            subresource: self.subresource.clone(),
            time: self.time.clone(),
            fields,
        }
    }

    fn into_value(self) -> Value {
        let mut out = Map::new();
        let mut put = |name: &str, value: String| {
            if !value.is_empty() {
                out.insert(name.to_owned(), Value::String(value));
            }
        };
        put("manager", self.manager);
        put("operation", self.operation.as_str().to_owned());
        put("apiVersion", self.api_version);
        put("time", self.time.unwrap_or_default());
        put("fieldsType", "FieldsV1".to_owned());
        put("subresource", self.subresource);
        out.insert("fieldsV1".to_owned(), self.fields.into_value());
        Value::Object(out)
    }

    fn sort_key(&self) -> (Operation, &str, &str, &str, &str) {
        let time = self.time.as_deref().unwrap_or_default();
        (self.operation, time, &self.manager, &self.api_version, &self.subresource)
    }
}

/// Reads entries that a client sent.
pub(super) fn decode(entries: &[Value]) -> Result<Vec<Entry>, ManagedFieldsError> {
    let mut out: Vec<Entry> = Vec::with_capacity(entries.len());
    for (i, entry) in entries.iter().enumerate() {
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        let operation = operation(text("operation")).ok_or(ManagedFieldsError::Operation)?;
        if text("apiVersion").is_empty() {
            return Err(ManagedFieldsError::ApiVersion);
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(ManagedFieldsError::NoFieldsType(i)),
            other => return Err(ManagedFieldsError::FieldsType(i, other.to_owned())),
        }
        let entry = Entry {
            manager: text("manager").to_owned(),
            operation,
            api_version: text("apiVersion").to_owned(),
            subresource: text("subresource").to_owned(),
            time: entry["time"].as_str().map(str::to_owned),
            fields: FieldSet::from_json(&entry["fieldsV1"])?,
        };
        // Of two entries of one manager the later counts.
        out.retain(|other| {
            !other.is_of(&entry.manager, entry.operation, &entry.api_version, &entry.subresource)
        });
        out.push(entry);
    }
    Ok(out)
}

/// Takes entries that this server wrote, without reading what they own.
pub(super) fn decode_stored(entries: Vec<Value>) -> Vec<Entry> {
    entries.into_iter().filter_map(stored_entry).collect()
}

fn stored_entry(mut entry: Value) -> Option<Entry> {
    let fields = entry.as_object_mut()?;
    let mut text = |name: &str| match fields.get_mut(name) {
        Some(Value::String(text)) => Some(mem::take(text)),
        _ => None,
    };
    Some(Entry {
        manager: text("manager").unwrap_or_default(),
        operation: operation(&text("operation")?)?,
        api_version: text("apiVersion")?,
        subresource: text("subresource").unwrap_or_default(),
        time: text("time"),
        fields: FieldSet::from_stored(fields.remove("fieldsV1")?),
    })
}

fn operation(text: &str) -> Option<Operation> {
    [Operation::Apply, Operation::Update].into_iter().find(|operation| operation.as_str() == text)
}

/// The entries as `metadata.managedFields`: appliers first, then by time and name.
pub(super) fn encode(mut entries: Vec<Entry>) -> Vec<Value> {
    entries.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    entries.into_iter().map(Entry::into_value).collect()
}

/// Merges the oldest updates of each version into one entry when there are too many.
pub(super) fn cap(entries: &mut Vec<Entry>) {
    let is_update = |entry: &Entry| entry.operation == Operation::Update;
    let count = entries.iter().filter(|entry| is_update(entry)).count();
    let Some(mut surplus) = count.checked_sub(MAX_UPDATE_MANAGERS).filter(|surplus| *surplus > 0) else {
        return;
    };
    let mut updaters: Vec<(Option<String>, String, usize)> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| is_update(entry))
        .map(|(i, entry)| (entry.time.clone(), entry.identifier(), i))
        .collect();
    updaters.sort();
    let mut absorbed: Vec<usize> = Vec::new();
    for (position, (_, _, current)) in updaters.iter().enumerate() {
        if surplus == 0 {
            break;
        }
        let version = entries[*current].api_version.clone();
        let earlier = updaters[..position].iter().map(|(_, _, i)| *i);
        let Some(first) = earlier.into_iter().find(|i| entries[*i].api_version == version) else {
            continue;
        };
        let bucket = bucket_of(entries, &version, first);
        // The bucket itself may be younger than another manager, which it then takes in.
        let source = if bucket == *current { first } else { *current };
        let time = entries[*current].time.clone();
        let fields = mem::take(&mut entries[source].fields);
        entries[bucket].fields.union_with(&fields);
        entries[bucket].time = time;
        absorbed.push(source);
        surplus -= 1;
    }
    let mut i = 0;
    entries.retain(|_| {
        i += 1;
        !absorbed.contains(&(i - 1))
    });
}

/// The entry that collects the old updates of a version; the oldest of them becomes it.
fn bucket_of(entries: &mut [Entry], version: &str, first: usize) -> usize {
    let is_bucket = |entry: &Entry| entry.is_of(ANCIENT_CHANGES, Operation::Update, version, "");
    if let Some(bucket) = entries.iter().position(is_bucket) {
        return bucket;
    }
    ANCIENT_CHANGES.clone_into(&mut entries[first].manager);
    entries[first].subresource.clear();
    first
}
