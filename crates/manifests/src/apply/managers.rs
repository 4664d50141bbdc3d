//! The entries of `metadata.managedFields`: who owns which fields.

use std::mem;

use serde_json::{Map, Value};

use super::{field_set::FieldSet, go_text::write_json_text};

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

impl Entry {
    /// Whether two entries belong to the same manager. Who applies in another version than before
    /// stays the same manager, who updates does not.
    pub(super) fn is_of(
        &self,
        manager: &str,
        operation: Operation,
        version: &str,
        subresource: &str,
    ) -> bool {
        self.manager == manager
            && self.operation == operation
            && self.subresource == subresource
            && (operation == Operation::Apply || self.api_version == version)
    }

    /// The text by which Kubernetes tells managers apart and sorts them.
    pub(super) fn identifier(&self) -> String {
        let version = if self.operation == Operation::Apply {
            ""
        } else {
            &self.api_version
        };
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
        (
            self.operation,
            time,
            &self.manager,
            &self.api_version,
            &self.subresource,
        )
    }
}

/// Reads entries that a client sent; `None` if one of them makes no sense.
pub(super) fn decode(entries: &[Value]) -> Option<Vec<Entry>> {
    let mut out: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        let entry = decode_entry(entry)?;
        // Of two entries of one manager the later counts.
        out.retain(|other| {
            !other.is_of(
                &entry.manager,
                entry.operation,
                &entry.api_version,
                &entry.subresource,
            )
        });
        out.push(entry);
    }
    Some(out)
}

fn decode_entry(entry: &Value) -> Option<Entry> {
    let text = |name: &str| entry[name].as_str().unwrap_or_default();
    if text("apiVersion").is_empty() || text("fieldsType") != "FieldsV1" {
        return None;
    }
    Some(Entry {
        manager: text("manager").to_owned(),
        operation: operation(text("operation"))?,
        api_version: text("apiVersion").to_owned(),
        subresource: text("subresource").to_owned(),
        time: entry["time"].as_str().map(str::to_owned),
        fields: FieldSet::from_json(&entry["fieldsV1"]).ok()?,
    })
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
    [Operation::Apply, Operation::Update]
        .into_iter()
        .find(|operation| operation.as_str() == text)
}

/// The entries as `metadata.managedFields`: appliers first, then by time and name.
pub(super) fn encode(mut entries: Vec<Entry>) -> Vec<Value> {
    entries.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    entries.into_iter().map(Entry::into_value).collect()
}
