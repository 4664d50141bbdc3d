//! Chunks of records in the cluster: written, read, put together and let go.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{
    Record, backwards,
    chunk::{self, Chunk, Kind, LABEL, Span},
};
use crate::{
    housekeeping::ensure_namespace,
    objects::{Earnest, Folder, Objects, Refusal},
};

/// So many records are stored at once.
pub(super) const TOGETHER: usize = 200;
/// So many loose chunks are put together.
pub(super) const MERGE_AT: usize = 100;
/// A merged chunk has at most so many bytes; a ConfigMap has room for twice as many.
const CHUNK_BYTES: usize = 512 * 1024;

pub(super) struct Store {
    pub(super) objects: Objects,
    folder: Folder,
    namespace: String,
    /// Records are kept so long.
    kept: SignedDuration,
}

impl Store {
    pub(super) fn new(objects: Objects, namespace: &str, kept: SignedDuration) -> Self {
        Self {
            folder: Folder::core(namespace, "configmaps"),
            objects,
            namespace: namespace.to_owned(),
            kept,
        }
    }

    /// Stores a chunk of records; its name.
    pub(super) async fn write(&self, records: &[Record], kind: Kind) -> Result<String, Refusal> {
        let chunk: Chunk = records
            .iter()
            .map(|record| (record.id.clone(), record.json.clone()))
            .collect();
        self.write_chunk(&chunk, kind).await
    }

    pub(super) async fn write_chunk(&self, chunk: &Chunk, kind: Kind) -> Result<String, Refusal> {
        let object = chunk::to_config_map(chunk, &self.namespace, kind);
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        match self.objects.create(&self.folder, &object, Earnest::Really).await {
            // The first to write comes before whoever makes the namespace.
            Err(refusal) if refusal.is(404) => {
                ensure_namespace(&self.objects, &self.namespace).await?;
                self.objects
                    .create(&self.folder, &object, Earnest::Really)
                    .await?;
            }
            // Somebody else has just made the same.
            Err(refusal) if refusal.is(409) => {}
            other => drop(other?),
        }
        Ok(name)
    }

    /// Which records are where, the newest first.
    pub(super) async fn spans(&self, kind: Option<Kind>) -> Result<Vec<Span>, Refusal> {
        let selector = match kind {
            Some(kind) => format!("labelSelector={LABEL}%3D{}", kind.label()),
            None => format!("labelSelector={LABEL}"),
        };
        let list = self.objects.list_metadata(&self.folder, &selector).await?;
        let items = list["items"].as_array().into_iter().flatten();
        let mut spans: Vec<Span> = items.filter_map(|item| Span::read(&item["metadata"])).collect();
        spans.sort();
        Ok(spans)
    }

    pub(super) async fn read(&self, name: &str) -> Result<Option<Chunk>, Refusal> {
        let object = self.objects.find(&self.folder, name).await?;
        Ok(object.map(|object| chunk::from_config_map(&object)))
    }

    /// Puts loose chunks together, and lets go of what is old. Several may do this at once: a record that is in two
    /// chunks is one.
    pub(super) async fn tidy(&self, now: Timestamp) -> Result<(), Refusal> {
        self.merge().await?;
        self.let_go(now).await
    }

    async fn merge(&self) -> Result<(), Refusal> {
        let loose = self.spans(Some(Kind::Loose)).await?;
        if loose.len() < MERGE_AT {
            return Ok(());
        }
        let (mut merged, mut bytes, mut sources) = (Chunk::new(), 0, Vec::new());
        // The oldest are last.
        for span in loose.iter().rev() {
            let Some(chunk) = self.read(&span.name).await? else {
                continue;
            };
            bytes += chunk
                .values()
                .map(|record| record.to_string().len() + 1)
                .sum::<usize>();
            if bytes > CHUNK_BYTES {
                break;
            }
            chunk::join(&mut merged, chunk);
            sources.push(&span.name);
        }
        if sources.len() > 1 {
            self.write_chunk(&merged, Kind::Merged).await?;
            for name in sources {
                self.remove(name).await?;
            }
        }
        Ok(())
    }

    async fn let_go(&self, now: Timestamp) -> Result<(), Refusal> {
        let oldest = now.checked_sub(self.kept).unwrap_or(Timestamp::UNIX_EPOCH);
        for span in self.spans(None).await? {
            if span.first.as_str() > backwards(oldest).as_str() {
                self.remove(&span.name).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn remove(&self, name: &str) -> Result<(), Refusal> {
        match self.objects.delete(&self.folder, name, &json!({})).await {
            Err(refusal) if refusal.is(404) => Ok(()),
            other => other.map(drop),
        }
    }
}
