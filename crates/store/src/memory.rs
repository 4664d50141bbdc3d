//! All collections and the revision readers see. Holds only what is durable.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::RwLock;
use tokio::sync::watch;

use crate::disk::Snapshot;
use crate::event::Event;
use crate::list::Objects;
use crate::name::Collection;
use crate::options::LogLimits;
use crate::partition::Partition;

pub(crate) struct Memory {
    partitions: RwLock<HashMap<Collection, Arc<Partition>>>,
    revision: watch::Sender<u64>,
    /// The revision the store was opened at; what happened before it is not in any log.
    opened_at: u64,
    limits: LogLimits,
    /// The bytes of all logs together. Only the writer changes it.
    log_bytes: AtomicUsize,
}

impl Memory {
    pub(crate) fn new(
        collections: impl IntoIterator<Item = (Collection, Objects)>,
        revision: u64,
        limits: LogLimits,
    ) -> Self {
        let filled = |(name, objects)| (name, Arc::new(Partition::new(objects, revision)));
        Self {
            partitions: RwLock::new(collections.into_iter().map(filled).collect()),
            revision: watch::Sender::new(revision),
            opened_at: revision,
            limits,
            log_bytes: AtomicUsize::new(0),
        }
    }

    /// The bytes that are held only for watchers that resume.
    pub(crate) fn log_bytes(&self) -> usize {
        self.log_bytes.load(Ordering::Relaxed)
    }

    /// The newest revision that is durable and visible.
    pub(crate) fn revision(&self) -> u64 {
        *self.revision.borrow()
    }

    pub(crate) fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    pub(crate) fn partition(&self, collection: &Collection) -> Option<Arc<Partition>> {
        self.partitions.read().get(collection).cloned()
    }

    pub(crate) fn partition_or_new(&self, collection: &Collection) -> Arc<Partition> {
        if let Some(partition) = self.partition(collection) {
            return partition;
        }
        let mut partitions = self.partitions.write();
        let new = || Arc::new(Partition::new(Objects::new(), self.opened_at));
        Arc::clone(partitions.entry(collection.clone()).or_insert_with(new))
    }

    pub(crate) fn collections(&self) -> Vec<Collection> {
        let partitions = self.partitions.read();
        let stocked = partitions.iter().filter(|(_, partition)| !partition.is_empty());
        stocked.map(|(collection, _)| collection.clone()).collect()
    }

    /// All objects as they are now. Only the writer changes them, so it alone may rely on the moment.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let partitions = self.partitions.read();
        partitions
            .iter()
            .map(|(collection, partition)| (collection.clone(), partition.objects()))
            .collect()
    }

    /// Shows a committed batch to readers: its events first, the revision that vouches for them last.
    pub(crate) fn publish(&self, changes: &[(Arc<Partition>, Vec<Arc<Event>>)], revision: u64, now: Instant) {
        for (partition, events) in changes {
            let growth = partition.publish(events, &self.limits, now);
            let _ = self
                .log_bytes
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bytes| {
                    Some(bytes.saturating_add_signed(growth))
                });
        }
        self.revision.send_replace(revision);
        self.keep_within_total();
    }

    /// Forgets what is too old in collections that see no writes of their own.
    pub(crate) fn sweep(&self, now: Instant) {
        let freed = self
            .all()
            .iter()
            .map(|partition| partition.sweep(&self.limits, now))
            .sum::<usize>();
        self.log_bytes.fetch_sub(freed, Ordering::Relaxed);
    }

    /// Replaces a dropped collection by an empty one that knows nothing of before `revision`.
    pub(crate) fn replace(&self, collection: &Collection, revision: u64) {
        let fresh = Arc::new(Partition::new(Objects::new(), revision));
        if let Some(dropped) = self.partitions.write().insert(collection.clone(), fresh) {
            self.log_bytes.fetch_sub(dropped.log_bytes(), Ordering::Relaxed);
            dropped.end();
        }
    }

    pub(crate) fn end(&self) {
        self.all().iter().for_each(|partition| partition.end());
    }

    /// Forgets the oldest events of all collections while they take too much together.
    fn keep_within_total(&self) {
        const AT_ONCE: usize = 64;
        while self.log_bytes.load(Ordering::Relaxed) > self.limits.total_bytes {
            let oldest = self
                .all()
                .into_iter()
                .filter_map(|partition| Some((partition.oldest_event()?, partition)));
            let Some((_, partition)) = oldest.min_by_key(|(revision, _)| *revision) else {
                return;
            };
            self.log_bytes
                .fetch_sub(partition.forget(AT_ONCE), Ordering::Relaxed);
        }
    }

    fn all(&self) -> Vec<Arc<Partition>> {
        self.partitions.read().values().cloned().collect()
    }
}
