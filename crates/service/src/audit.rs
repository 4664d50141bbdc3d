//! The log of every change: who did what to what, and when. That a change is about to be made is stored before it is
//! made, and its record before it is answered, those of the same moment together; later small chunks of records
//! are put together to large ones. A change that was begun and never recorded, because somebody was killed or cut
//! off between, is told as one whose outcome is unknown, until somebody has looked at what it was about.

mod begun;
mod chunk;
mod looking;
mod store;
mod target;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use ring::rand::SecureRandom as _;
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinSet,
};

pub(crate) use self::{begun::Begun, target::Target};
use self::{begun::Sheet, chunk::Chunk, store::Store};
use crate::{
    answer::Change,
    app::Asked,
    objects::{About as _, Earnest, Folder, Objects, Refusal},
    problem::{Code, Outcome, Problem},
};

/// How often old records are looked for.
const EVERY: Duration = Duration::from_hours(1);
/// How often what was begun and not recorded is looked at, as long as there is such.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// So long a request waits for its record. Without one that it is begun no change is made; a change that is made
/// stays, whatever becomes of the record of its end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who did what nobody asked for.
const SYSTEM: &str = "trainyard";

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    /// Ids sort by time, the newest first.
    id: String,
    json: Value,
}

impl Record {
    /// What is known before a change is made.
    fn begun(now: Timestamp, asked: &Asked, change: &Change, target: &Target) -> Self {
        let mut record = Self::new(now, &asked.identity.name, asked.operation_id, &asked.request_id);
        record.json["address"] = json!(asked.address);
        if let Some(token) = asked.identity.token() {
            record.json["token"] = json!(token);
        }
        record.describe(change);
        record.aim(target);
        record
    }

    fn new(now: Timestamp, who: &str, operation: &str, request_id: &str) -> Self {
        let mut random = [0; 4];
        // Without random bytes two records of a millisecond might be told apart by their request.
        let _ = ring::rand::SystemRandom::new().fill(&mut random);
        let id = format!("{}{}", backwards(now), crate::hex(&random));
        let json = json!({
            "id": id,
            "time": now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            "who": who,
            "operation": operation,
            "request_id": request_id,
            "outcome": chunk::UNKNOWN,
        });
        Self { id, json }
    }

    /// What to look at if nobody says what became of it.
    fn aim(&mut self, target: &Target) {
        self.json[chunk::TARGET] = json!(target);
    }

    /// The change was made, and this is what it was.
    fn done(&mut self, change: &Change) {
        self.json["outcome"] = json!(chunk::DONE);
        if let Some(fields) = self.json.as_object_mut() {
            fields.remove(chunk::TARGET);
        }
        self.describe(change);
    }

    fn describe(&mut self, change: &Change) {
        self.json["kind"] = json!(change.kind);
        self.json["name"] = json!(change.name);
        let mut add = |name: &str, value: Option<&str>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                self.json[name] = json!(value);
            }
        };
        add("namespace", Some(&change.namespace));
        add("before", change.before.as_deref());
        add("after", change.after.as_deref());
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
    /// Changes that are about to be made, and such that were.
    beginning: Queue<Arc<Sheet>>,
    done: Queue<()>,
}

/// Records to be stored, and who is told what when they are.
type Queue<T> = mpsc::Sender<(Record, oneshot::Sender<T>)>;

impl Audit {
    /// Stores records until the tasks are dropped.
    pub(crate) fn start(objects: Objects, namespace: &str, kept_days: u32, tasks: &mut JoinSet<()>) -> Self {
        let (beginning, about_to_be) = mpsc::channel(1024);
        let (done, records) = mpsc::channel(1024);
        let kept = jiff::SignedDuration::from_hours(24 * i64::from(kept_days));
        let store = Arc::new(Store::new(objects, namespace, kept));
        let (left, many) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        tasks.spawn(begun::write_all(store.clone(), about_to_be, left.clone()));
        tasks.spawn(write_all(store.clone(), records, many.clone()));
        tasks.spawn(keep(store.clone(), many));
        tasks.spawn(look(store.clone(), left));
        Self {
            store,
            beginning,
            done,
        }
    }

    /// Returns when it is stored that a change is about to be made. What cannot be written down is not done;
    /// what is only tried need not be.
    pub(crate) async fn begin(&self, asked: &Asked, change: &Change, target: &Target) -> Outcome<Begun> {
        let record = Record::begun(Timestamp::now(), asked, change, target);
        if asked.earnest() == Earnest::DryRun {
            return Ok(Begun::tried(record));
        }
        match stored(&self.beginning, &record).await {
            Some(sheet) => Ok(Begun::on(sheet, record)),
            None => Err(Problem {
                retry_after: Some(1),
                ..Problem::new(
                    Code::Unavailable,
                    "the change could not be written to the audit log, and was not made; try again",
                )
            }),
        }
    }

    /// Returns when it is stored that a change was made. Where it cannot be, the log says that it was begun, and
    /// that of the process what it was.
    pub(crate) async fn finish(&self, begun: Begun, change: &Change) {
        let mut record = begun.record().clone();
        record.done(change);
        let text = record.json.to_string();
        tracing::info!(target: "audit", "{text}");
        if stored(&self.done, &record).await.is_some() {
            begun.settle();
        } else {
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
        let mut records = Chunk::new();
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
            chunk::join(&mut records, wanted);
        }
        let mut page: Vec<(String, Value)> = records.into_iter().take(limit + 1).collect();
        let is_more = page.len() > limit;
        page.truncate(limit);
        let next = page.last().map(|(id, _)| id.clone()).filter(|_| is_more);
        let shown = page.into_iter().map(|(_, mut record)| {
            if let Some(fields) = record.as_object_mut() {
                fields.remove(chunk::TARGET);
            }
            record
        });
        Ok((shown.collect(), next))
    }
}

/// What there is to be told when a record is stored; none where it was not, or not in time.
async fn stored<T>(queue: &Queue<T>, record: &Record) -> Option<T> {
    let (done, is_done) = oneshot::channel();
    queue.send((record.clone(), done)).await.ok()?;
    tokio::time::timeout(PATIENCE, is_done).await.ok()?.ok()
}

/// Puts chunks together when there are many, beside those who write and wait; and sees to it that old records go
/// also where few are written, or nobody writes so long.
async fn keep(store: Arc<Store>, many: Arc<Notify>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = many.notified() => {}
        }
        if let Err(refusal) = store.tidy(Timestamp::now()).await {
            tracing::warn!(?refusal, "chunks of the audit log could not be put together");
        }
    }
}

/// Looks at what was begun and never recorded: what an earlier process has left, and what this one does.
async fn look(store: Arc<Store>, left: Arc<Notify>) {
    loop {
        let is_more = store.look(Timestamp::now()).await.unwrap_or_else(|refusal| {
            tracing::warn!(?refusal, "it could not be looked at what was begun");
            true
        });
        let pause = if is_more { LOOK_AGAIN } else { EVERY };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = left.notified(), if !is_more => {}
        }
    }
}

/// Makes something that the system needs before anybody can ask for it; it is in the log as what others make.
pub(crate) async fn create_own(
    objects: &Objects,
    namespace: &str,
    (folder, mut object): (&Folder, Value),
    (operation, change): (&str, &Change),
) -> Result<(), Refusal> {
    let store = Store::new(objects.clone(), namespace, jiff::SignedDuration::ZERO);
    let mut record = Record::new(Timestamp::now(), SYSTEM, operation, &crate::random_hex::<8>());
    record.describe(change);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    record.aim(&Target::made(folder, name));
    target::mark(&mut object, &record.id);
    let begun = store
        .write(std::slice::from_ref(&record), chunk::Kind::Begun)
        .await?;
    if let Err(refusal) = objects.create(folder, &object, Earnest::Really).await {
        if refusal.is_certain() {
            remove_begun(&store, &begun).await;
        }
        return Err(refusal);
    }
    record.done(change);
    finish_own(&store, &record, &begun).await;
    Ok(())
}

/// Stores that a change was made. Whoever made it needs what came of it also where that cannot be stored; then it
/// stays in the log as begun, and whoever looks finds the mark of it.
async fn finish_own(store: &Store, record: &Record, begun: &str) {
    let text = record.json.to_string();
    tracing::info!(target: "audit", "{text}");
    match store
        .write(std::slice::from_ref(record), chunk::Kind::Loose)
        .await
    {
        Ok(_) => remove_begun(store, begun).await,
        Err(refusal) => {
            tracing::error!(
                ?refusal,
                record = text,
                "a change could not be written to the audit log"
            );
        }
    }
}

/// What is left of a chunk is seen to by whoever looks next.
async fn remove_begun(store: &Store, name: &str) {
    if let Err(refusal) = store.remove(name).await {
        tracing::error!(?refusal, name, "a chunk of the audit log could not be removed");
    }
}

async fn write_all(
    store: Arc<Store>,
    mut records: mpsc::Receiver<(Record, oneshot::Sender<()>)>,
    many: Arc<Notify>,
) {
    let mut written = 0;
    while let Some((batch, waiting)) = next_batch(&mut records).await {
        match store.write(&batch, chunk::Kind::Loose).await {
            Ok(_) => {
                for waiting in waiting {
                    // Whoever does not wait any more has told of it in the log.
                    let _ = waiting.send(());
                }
            }
            Err(refusal) => tracing::error!(?refusal, "the audit log cannot be written"),
        }
        written += 1;
        if written % store::MERGE_AT == 0 {
            many.notify_one();
        }
    }
}

/// Everything that waits to be stored, as much as is stored at once; none when nobody asks any more.
async fn next_batch<T>(
    records: &mut mpsc::Receiver<(Record, oneshot::Sender<T>)>,
) -> Option<(Vec<Record>, Vec<oneshot::Sender<T>>)> {
    let mut batch = vec![records.recv().await?];
    while batch.len() < store::TOGETHER
        && let Ok(more) = records.try_recv()
    {
        batch.push(more);
    }
    Some(batch.into_iter().unzip())
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
