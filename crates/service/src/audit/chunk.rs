//! Records in a ConfigMap: a line each, the newest first. Its name says where it begins and a note on it where
//! it ends, so that a reader knows without reading whether it needs it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// On the ConfigMaps that records are in: of which kind they are, and their last record.
pub(super) const LABEL: &str = "trainyard.dev/audit";
const LAST: &str = "trainyard.dev/audit-last";

/// What is known of a change: that it was made, that it was not, or only that it was begun.
pub(super) const DONE: &str = "done";
pub(super) const NOT_DONE: &str = "not_done";
pub(super) const UNKNOWN: &str = "unknown";

/// In records: the object that a change is about, as long as nobody knows what became of it; and what was seen of it
/// by whoever looked.
pub(super) const TARGET: &str = "target";
pub(super) const FOUND: &str = "found";

/// Records by their id.
pub(super) type Chunk = BTreeMap<String, Value>;

const PREFIX: &str = "audit-";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Changes that are about to be made.
    Begun,
    /// As they were written.
    Loose,
    /// Of changes that were begun, when somebody has looked what became of them.
    Found,
    /// Of many that were loose.
    Merged,
}

impl Kind {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Loose | Self::Found => "loose",
            Self::Merged => "merged",
        }
    }

    /// Chunks of different kinds may begin with the same record and have as many.
    fn suffix(self) -> &'static str {
        match self {
            Self::Begun => "-begun",
            Self::Loose => "",
            Self::Found => "-found",
            Self::Merged => "-merged",
        }
    }
}

/// Adds records to others. Of two that are of one change the one that knows more of what became of it counts.
pub(super) fn join(records: &mut Chunk, more: impl IntoIterator<Item = (String, Value)>) {
    for (id, record) in more {
        if records
            .get(&id)
            .is_none_or(|known| weight(known) < weight(&record))
        {
            records.insert(id, record);
        }
    }
}

/// Whoever made a change knows best, then whoever has looked.
fn weight(record: &Value) -> u8 {
    match record["outcome"].as_str() {
        _ if record[FOUND].is_string() => 1,
        Some(UNKNOWN) => 0,
        _ => 2,
    }
}

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

pub(super) fn to_config_map(chunk: &Chunk, namespace: &str, kind: Kind) -> Value {
    let lines: String = chunk.values().map(|record| format!("{record}\n")).collect();
    let (first, last) = (chunk.keys().next(), chunk.keys().next_back());
    let first = first.map(String::as_str).unwrap_or_default();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("{PREFIX}{first}-{}{}", chunk.len(), kind.suffix()),
            "namespace": namespace,
            "labels": {LABEL: kind.label()},
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
        let object = to_config_map(&chunk, "system", Kind::Loose);
        let span = Span::read(&object["metadata"]).unwrap();
        assert_eq!(
            (span.first.as_str(), span.last.as_str(), span.name.as_str()),
            ("a", "c", "audit-a-3")
        );
        assert_eq!(from_config_map(&object), chunk);
    }

    #[test]
    fn what_was_begun_is_told_apart_and_gives_way_to_what_was_done() {
        let record = |outcome: &str| ("a".to_owned(), json!({"id": "a", "outcome": outcome}));
        let begun = to_config_map(&Chunk::from([record(UNKNOWN)]), "system", Kind::Begun);
        let done = to_config_map(&Chunk::from([record(DONE)]), "system", Kind::Loose);
        assert_ne!(begun["metadata"]["name"], done["metadata"]["name"]);
        assert_eq!(Span::read(&begun["metadata"]).unwrap().first, "a");
        for order in [[&begun, &done], [&done, &begun]] {
            let mut joined = Chunk::new();
            for object in order {
                join(&mut joined, from_config_map(object));
            }
            assert_eq!(joined["a"]["outcome"], DONE);
        }
        let mut joined = Chunk::new();
        join(&mut joined, from_config_map(&begun));
        assert_eq!(joined["a"]["outcome"], UNKNOWN);
        // Whoever has looked knows more than whoever has begun, and less than whoever has made it.
        let looked = json!({"id": "a", "outcome": NOT_DONE, FOUND: "it is as it was"});
        join(&mut joined, [("a".to_owned(), looked.clone())]);
        assert_eq!(joined["a"], looked);
        join(&mut joined, from_config_map(&begun));
        assert_eq!(joined["a"], looked);
        join(&mut joined, from_config_map(&done));
        assert_eq!(joined["a"]["outcome"], DONE);
    }
}
