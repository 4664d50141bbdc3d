//! The status of a workflow: what has become of it so far, and everything that must be remembered.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::node::{Node, NodeOutputs, Phase};

/// Nodes that take more than this are stored compressed, as the whole object has to fit into a request.
const LARGE: usize = 900 * 1024;
/// No status is larger; whoever made one is not believed.
const LARGEST: u64 = 256 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    pub phase: Phase,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub progress: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, Node>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub compressed_nodes: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<NodeOutputs>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub resources_duration: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub stored_templates: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_workflow_template_spec: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub persistent_volume_claims: Vec<Value>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub synchronization: Value,
    /// What others have written beside it.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatusError {
    #[error("the status cannot be read: {0}")]
    Unreadable(String),
    #[error("the nodes of the status are kept in a database, which this controller does not have")]
    Offloaded,
}

impl Status {
    /// The status of an object; that of a new one is empty.
    pub fn read(object: &Value) -> Result<Self, StatusError> {
        let status = &object["status"];
        if status.is_null() {
            return Ok(Self::default());
        }
        let unreadable = |error: String| StatusError::Unreadable(error);
        let mut status = Self::deserialize(status).map_err(|error| unreadable(error.to_string()))?;
        if status.rest.contains_key("offloadNodeStatusVersion") && status.nodes.is_empty() {
            return Err(StatusError::Offloaded);
        }
        if !status.compressed_nodes.is_empty() {
            status.nodes = decompress(&status.compressed_nodes).map_err(unreadable)?;
            status.compressed_nodes = String::new();
        }
        Ok(status)
    }

    /// As it is stored.
    pub fn write(&self) -> Value {
        let mut written = serde_json::to_value(self).unwrap_or_default();
        let nodes = written["nodes"].to_string();
        if nodes.len() > LARGE
            && let Some(fields) = written.as_object_mut()
        {
            fields.remove("nodes");
            fields.insert(
                "compressedNodes".to_owned(),
                Value::String(compress(nodes.as_bytes())),
            );
        }
        written
    }

    pub fn is_fulfilled(&self) -> bool {
        self.phase.is_completed()
    }

    /// Sets the state of a condition, of which there is one of each type.
    pub fn set_condition(&mut self, condition: Value) {
        let known = self
            .conditions
            .iter_mut()
            .find(|known| known["type"] == condition["type"]);
        match known {
            Some(known) => *known = condition,
            None => self.conditions.push(condition),
        }
    }
}

fn compress(bytes: &[u8]) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Memory does not fail to be written to.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    BASE64_STANDARD.encode(written.unwrap_or_default())
}

fn decompress(text: &str) -> Result<BTreeMap<String, Node>, String> {
    let bytes = BASE64_STANDARD.decode(text).map_err(|error| error.to_string())?;
    let mut json = Vec::new();
    GzDecoder::new(bytes.as_slice())
        .take(LARGEST)
        .read_to_end(&mut json)
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&json).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_others_wrote_is_kept() {
        let object = json!({"status": {
            "phase": "Running", "startedAt": "2026-01-01T00:00:00Z", "finishedAt": null, "estimatedDuration": 5,
            "nodes": {"w": {"id": "w", "name": "w", "displayName": "w", "type": "Pod", "phase": "Pending",
                "startedAt": "2026-01-01T00:00:00Z", "finishedAt": null, "taskResultSynced": true}},
        }});
        let status = Status::read(&object).unwrap();
        assert_eq!(status.write(), object["status"]);
    }

    #[test]
    fn many_nodes_are_stored_compressed_and_read_again() {
        let nodes = (0..4000).map(|number| {
            let node = Node {
                id: format!("w-{number}"),
                name: format!("w.task({number}:{number})"),
                message: "m".repeat(100),
                ..Node::default()
            };
            (node.id.clone(), node)
        });
        let status = Status {
            nodes: nodes.collect(),
            ..Status::default()
        };
        let written = status.write();
        assert!(written["nodes"].is_null());
        assert!(written.to_string().len() < LARGE / 10);
        assert_eq!(Status::read(&json!({"status": written})), Ok(status));
    }
}
