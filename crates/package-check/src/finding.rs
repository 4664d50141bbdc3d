//! One thing that is wrong, where it is, and what to do about it.

use std::path::Path;

use packages::{BuildError, Place};
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It does not work.
    Error,
    /// It works only if the cluster has what the package does not.
    Warning,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    pub place: Option<Place>,
    /// The object it is about.
    pub subject: Option<Subject>,
    /// The path of the field: `spec.containers[0].image`.
    pub field: Option<String>,
    pub message: String,
    pub hint: Option<String>,
}

/// An object, as its user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub api_version: String,
    pub kind: String,
    pub namespace: Option<String>,
    pub name: String,
}

impl Subject {
    pub(crate) fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
            name: text(&object["metadata"]["name"]),
        }
    }
}

impl Finding {
    /// What findings are sorted by.
    pub(crate) fn position(&self) -> (Option<&Path>, u32, u32) {
        let place = self.place.as_ref();
        (
            place.map(|place| place.file.as_path()),
            place.map_or(0, |place| place.line),
            place.map_or(0, |place| place.column),
        )
    }
}

/// A package that does not build has nothing else to be found in it.
impl From<BuildError> for Finding {
    fn from(error: BuildError) -> Self {
        Self {
            severity: Severity::Error,
            place: error.place,
            subject: None,
            field: None,
            message: error.message,
            hint: error.help,
        }
    }
}
