//! Fields that another manager owns with another value.

use std::fmt::Write as _;

use super::managers::{Entry, Operation};
use crate::field::quoted;

/// A field that another manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The manager in the words of messages: `"kubectl" using apps/v1`.
    pub manager: String,
    /// The path of the field: `.spec.replicas`.
    pub field: String,
}

impl Conflict {
    /// The `message` of the cause; its `reason` is `FieldManagerConflict`.
    pub fn message(&self) -> String {
        format!("conflict with {}", self.manager)
    }
}

/// The conflicts with the fields of one entry.
pub(super) fn with(entry: &Entry) -> impl Iterator<Item = Conflict> {
    let manager = shown(entry);
    entry.fields.paths().into_iter().map(move |path| {
        let field = path.iter().map(ToString::to_string).collect();
        Conflict {
            manager: manager.clone(),
            field,
        }
    })
}

fn shown(entry: &Entry) -> String {
    let mut out = quoted(&entry.manager);
    if !entry.subresource.is_empty() {
        let _ = write!(out, " with subresource {}", quoted(&entry.subresource));
    }
    if entry.operation == Operation::Update {
        let _ = write!(out, " using {}", entry.api_version);
    }
    out
}

/// All conflicts in one message, grouped by manager.
pub(super) fn message(conflicts: &[Conflict]) -> String {
    if let [conflict] = conflicts {
        return format!(
            "Apply failed with 1 conflict: {}: {}",
            conflict.message(),
            conflict.field
        );
    }
    let mut out = format!("Apply failed with {} conflicts: ", conflicts.len());
    for (i, group) in conflicts.chunk_by(|a, b| a.manager == b.manager).enumerate() {
        let separator = if i > 0 { "\n" } else { "" };
        let _ = write!(out, "{separator}conflicts with {}:", group[0].manager);
        for conflict in group {
            let _ = write!(out, "\n- {}", conflict.field);
        }
    }
    out
}
