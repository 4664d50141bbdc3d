//! The few metadata fields that controllers and checks look at, read without building the object.

use serde::Deserialize;

use crate::object;

#[derive(Debug, Default)]
pub(crate) struct Thin {
    pub metadata: ThinMeta,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ThinMeta {
    pub name: String,
    pub namespace: String,
    pub uid: String,
    pub deletion_timestamp: Option<String>,
    pub finalizers: Vec<String>,
    pub owner_references: Vec<OwnerReference>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OwnerReference {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub uid: String,
    pub block_owner_deletion: bool,
}

impl Thin {
    pub(crate) fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    pub(crate) fn has_finalizer(&self, name: &str) -> bool {
        self.metadata.finalizers.iter().any(|finalizer| finalizer == name)
    }
}

/// Stored objects were valid when they were written; one that is not reads as nameless.
pub(crate) fn read(stored: &store::Object) -> Thin {
    // What follows the metadata is not even looked at.
    let mut values = serde_json::Deserializer::from_slice(object::from_metadata(stored.json())).into_iter();
    Thin {
        metadata: values.next().and_then(Result::ok).unwrap_or_default(),
    }
}
