//! Records in a ConfigMap: a line each, the newest first. Its name says where it begins and a note on it where
//! it ends, so that a reader knows without reading whether it needs it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{LABEL, LAST};

/// Records by their id.
pub(super) type Chunk = BTreeMap<String, Value>;

const PREFIX: &str = "audit-";

/// Which records a chunk has. Those that begin with newer ones come first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) first: String,
    pub(super) last: String,
    pub(super) name: String,
}

impl Span {
    pub(super) fn read(meta: &Value) -> Option<Self> {
        let name = meta["name"].as_str()?;
        let first = name.strip_prefix(PREFIX)?.split('-').next()?;
        Some(Self {
            first: first.to_owned(),
            last: meta["annotations"][LAST].as_str()?.to_owned(),
            name: name.to_owned(),
        })
    }
}

pub(super) fn to_config_map(chunk: &Chunk, namespace: &str, label: &str) -> Value {
    let lines: String = chunk.values().map(|record| format!("{record}\n")).collect();
    let (first, last) = (chunk.keys().next(), chunk.keys().next_back());
    let first = first.map(String::as_str).unwrap_or_default();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("{PREFIX}{first}-{}", chunk.len()),
            "namespace": namespace,
            "labels": {LABEL: label},
            "annotations": {LAST: last},
        },
        "immutable": true,
        "data": {"records": lines},
    })
}

pub(super) fn from_config_map(object: &Value) -> Chunk {
    let lines = object["data"]["records"].as_str().unwrap_or_default().lines();
    let records = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    records
        .filter_map(|record| Some((record["id"].as_str()?.to_owned(), record)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_says_what_it_has_and_comes_back_as_it_was() {
        let chunk: Chunk = ["b", "a", "c"]
            .into_iter()
            .map(|id| (id.to_owned(), json!({"id": id, "who": "ada"})))
            .collect();
        let object = to_config_map(&chunk, "system", "loose");
        let span = Span::read(&object["metadata"]).unwrap();
        assert_eq!(
            (span.first.as_str(), span.last.as_str(), span.name.as_str()),
            ("a", "c", "audit-a-3")
        );
        assert_eq!(from_config_map(&object), chunk);
    }
}
