//! The log of every change: who did what to what, and when. Records are stored before the change is answered,
//! those of the same moment together; later small chunks of them are put together to large ones.

mod chunk;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use ring::rand::SecureRandom as _;
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use self::chunk::{Chunk, Span};
use crate::{
    answer::Change,
    identity::Identity,
    objects::{About as _, Earnest, Folder, Objects, Refusal},
    problem::Outcome,
};

/// On the ConfigMaps that records are in.
const LABEL: &str = "trainyard.dev/audit";
const LOOSE: &str = "loose";
const MERGED: &str = "merged";
const LAST: &str = "trainyard.dev/audit-last";

/// So many records are stored at once.
const TOGETHER: usize = 200;
/// So many loose chunks are put together.
const MERGE_AT: usize = 100;
/// A merged chunk has at most so many bytes; a ConfigMap has room for twice as many.
const CHUNK_BYTES: usize = 512 * 1024;
/// How often old records are looked for.
const EVERY: Duration = Duration::from_hours(1);
/// So long a request waits for its record; the change has been made whatever becomes of that.
const PATIENCE: Duration = Duration::from_secs(5);

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    /// Ids sort by time, the newest first.
    id: String,
    json: Value,
}

impl Record {
    pub(crate) fn new(
        now: Timestamp,
        identity: &Identity,
        operation: &str,
        change: &Change,
        address: &str,
        request_id: &str,
    ) -> Self {
        let mut random = [0; 4];
        // Without random bytes two records of a millisecond might be told apart by their request.
        let _ = ring::rand::SystemRandom::new().fill(&mut random);
        let id = format!("{}{}", backwards(now), crate::hex(&random));
        let mut json = json!({
            "id": id,
            "time": now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            "who": identity.name,
            "operation": operation,
            "kind": change.kind,
            "name": change.name,
            "address": address,
            "request_id": request_id,
        });
        let mut add = |name: &str, value: Option<&str>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                json[name] = json!(value);
            }
        };
        add("namespace", Some(&change.namespace));
        add("token", identity.token());
        add("before", change.before.as_deref());
        add("after", change.after.as_deref());
        Self { id, json }
    }
}

/// A moment as text that sorts the other way round.
fn backwards(time: Timestamp) -> String {
    const LAST: u64 = (1 << 48) - 1;
    let millis = u64::try_from(time.as_millisecond()).unwrap_or_default();
    format!("{:012x}", LAST - millis.min(LAST))
}

/// Writes records and reads them.
#[derive(Clone)]
pub(crate) struct Audit {
    store: Arc<Store>,
    queue: mpsc::Sender<(Record, oneshot::Sender<()>)>,
}

struct Store {
    objects: Objects,
    folder: Folder,
    namespace: String,
    /// Records are kept so long.
    kept: jiff::SignedDuration,
}

impl Audit {
    /// Stores records until the tasks are dropped.
    pub(crate) fn start(objects: Objects, namespace: &str, kept_days: u32, tasks: &mut JoinSet<()>) -> Self {
        let (queue, records) = mpsc::channel(1024);
        let store = Arc::new(Store {
            folder: Folder::core(namespace, "configmaps"),
            objects,
            namespace: namespace.to_owned(),
            kept: jiff::SignedDuration::from_hours(24 * i64::from(kept_days)),
        });
        tasks.spawn(write_all(store.clone(), records));
        tasks.spawn(keep(store.clone()));
        Self { store, queue }
    }

    /// Returns when the record is stored. Where it cannot be, it is in the log of the process.
    pub(crate) async fn note(&self, record: Record) {
        let (done, is_done) = oneshot::channel();
        let text = record.json.to_string();
        tracing::info!(target: "audit", "{text}");
        let sent = self.queue.send((record, done)).await.is_ok();
        let stored = sent && matches!(tokio::time::timeout(PATIENCE, is_done).await, Ok(Ok(())));
        if !stored {
            tracing::error!(record = text, "a change could not be written to the audit log");
        }
    }

    /// A page of records after an id, of those that are wanted.
    pub(crate) async fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Outcome<(Vec<Value>, Option<String>)> {
        let spans = self.store.spans(None).await.about("audit log of", "changes")?;
        let mut records = std::collections::BTreeMap::new();
        for span in &spans {
            // What comes after these cannot be in the page any more.
            let is_enough = records
                .keys()
                .nth(limit)
                .is_some_and(|last: &String| *last < span.first);
            if is_enough {
                break;
            }
            if after.is_some_and(|after| span.last.as_str() <= after) {
                continue;
            }
            let Some(chunk) = self
                .store
                .read(&span.name)
                .await
                .about("audit log of", "changes")?
            else {
                continue;
            };
            let wanted = chunk
                .into_iter()
                .filter(|(id, record)| after.is_none_or(|after| id.as_str() > after) && is_wanted(record));
            records.extend(wanted);
        }
        let mut page: Vec<(String, Value)> = records.into_iter().take(limit + 1).collect();
        let is_more = page.len() > limit;
        page.truncate(limit);
        let next = page.last().map(|(id, _)| id.clone()).filter(|_| is_more);
        Ok((page.into_iter().map(|(_, record)| record).collect(), next))
    }
}

/// Sees to it that old records go also where few are written, or nobody writes so long.
async fn keep(store: Arc<Store>) {
    loop {
        tokio::time::sleep(EVERY).await;
        if let Err(refusal) = store.merge(Timestamp::now()).await {
            tracing::warn!(?refusal, "chunks of the audit log could not be put together");
        }
    }
}

async fn write_all(store: Arc<Store>, mut records: mpsc::Receiver<(Record, oneshot::Sender<()>)>) {
    let mut written = 0;
    while let Some(first) = records.recv().await {
        let mut batch = vec![first];
        while batch.len() < TOGETHER
            && let Ok(more) = records.try_recv()
        {
            batch.push(more);
        }
        let (batch, waiting): (Vec<Record>, Vec<_>) = batch.into_iter().unzip();
        match store.write(&batch).await {
            Ok(()) => {
                for waiting in waiting {
                    // Whoever does not wait any more has told of it in the log.
                    let _ = waiting.send(());
                }
            }
            Err(refusal) => tracing::error!(?refusal, "the audit log cannot be written"),
        }
        written += 1;
        if written % MERGE_AT == 0
            && let Err(refusal) = store.merge(Timestamp::now()).await
        {
            tracing::warn!(?refusal, "chunks of the audit log could not be put together");
        }
    }
}

impl Store {
    async fn write(&self, records: &[Record]) -> Result<(), Refusal> {
        let chunk: Chunk = records
            .iter()
            .map(|record| (record.id.clone(), record.json.clone()))
            .collect();
        let object = chunk::to_config_map(&chunk, &self.namespace, LOOSE);
        self.objects
            .create(&self.folder, &object, Earnest::Really)
            .await
            .map(drop)
    }

    /// Which records are where, the newest first.
    async fn spans(&self, label: Option<&str>) -> Result<Vec<Span>, Refusal> {
        let selector = match label {
            Some(value) => format!("labelSelector={LABEL}%3D{value}"),
            None => format!("labelSelector={LABEL}"),
        };
        let list = self.objects.list_metadata(&self.folder, &selector).await?;
        let items = list["items"].as_array().into_iter().flatten();
        let mut spans: Vec<Span> = items.filter_map(|item| Span::read(&item["metadata"])).collect();
        spans.sort();
        Ok(spans)
    }

    async fn read(&self, name: &str) -> Result<Option<Chunk>, Refusal> {
        let object = self.objects.find(&self.folder, name).await?;
        Ok(object.map(|object| chunk::from_config_map(&object)))
    }

    /// Puts loose chunks together, and lets go of what is old. Several may do this at once: a record that is in
    /// two chunks is one.
    async fn merge(&self, now: Timestamp) -> Result<(), Refusal> {
        let loose = self.spans(Some(LOOSE)).await?;
        if loose.len() >= MERGE_AT {
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
                merged.extend(chunk);
                sources.push(&span.name);
            }
            if sources.len() > 1 {
                let object = chunk::to_config_map(&merged, &self.namespace, MERGED);
                match self.objects.create(&self.folder, &object, Earnest::Really).await {
                    // Somebody else has just made the same.
                    Err(refusal) if refusal.is(409) => {}
                    other => drop(other?),
                }
                for name in sources {
                    self.remove(name).await?;
                }
            }
        }
        let oldest = now.checked_sub(self.kept).unwrap_or(Timestamp::UNIX_EPOCH);
        for span in self.spans(None).await? {
            if span.first.as_str() > backwards(oldest).as_str() {
                self.remove(&span.name).await?;
            }
        }
        Ok(())
    }

    async fn remove(&self, name: &str) -> Result<(), Refusal> {
        match self.objects.delete(&self.folder, name, &json!({})).await {
            Err(refusal) if refusal.is(404) => Ok(()),
            other => other.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_moments_come_first() {
        let early = backwards("2026-01-01T00:00:00Z".parse().unwrap());
        let late = backwards("2026-01-01T00:00:00.001Z".parse().unwrap());
        assert!(late < early);
        assert_eq!(early.len(), 12);
    }
}
