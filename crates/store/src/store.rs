//! The store as the API server sees it: reads from memory, writes through the writer.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::disk::{self, OpenError};
use crate::interest::Scope;
use crate::list::{List, Range};
use crate::log::TooOld;
use crate::memory::Memory;
use crate::name::{Collection, Key, SEPARATOR};
use crate::object::{Body, Object};
use crate::options::Options;
use crate::watcher::Watcher;
use crate::write::{Write, WriteError, WriteResult};
use crate::writer::{self, Job};

/// A handle to an open store. Clones share it; it closes with the last one.
#[derive(Clone)]
pub struct Store {
    memory: Arc<Memory>,
    queue: mpsc::Sender<Job>,
    cluster_id: Arc<str>,
}

/// A revision was asked for that the store has not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {requested} is in the future; the store is at {current}")]
pub struct TooNew {
    pub requested: u64,
    pub current: u64,
}

impl Store {
    /// Opens the file, creating it where there is none, and reads and verifies all of it.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let (disk, loaded) = disk::open(path, &options)?;
        let memory = Arc::new(Memory::new(loaded.collections, loaded.revision, options.log));
        let (queue, jobs) = mpsc::channel(options.queue.max(1));
        let writers_memory = Arc::clone(&memory);
        std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer::run(jobs, writers_memory, disk))
            .map_err(|source| OpenError::Io {
                path: path.to_owned(),
                source,
            })?;
        Ok(Self {
            memory,
            queue,
            cluster_id: loaded.cluster_id.into(),
        })
    }

    /// Made up when the file was created, and kept as long as it.
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// The newest revision that is durable and visible.
    pub fn revision(&self) -> u64 {
        self.memory.revision()
    }

    /// Waits until a revision is visible. Returns the revision reached by then.
    pub async fn wait_for(&self, revision: u64, timeout: Duration) -> Result<u64, TooNew> {
        let mut revisions = self.memory.revisions();
        let reached = revisions.wait_for(|current| *current >= revision);
        match tokio::time::timeout(timeout, reached).await {
            Ok(Ok(reached)) => Ok(*reached),
            _ => Err(TooNew {
                requested: revision,
                current: self.revision(),
            }),
        }
    }

    /// The revision of the newest change in a collection, to tell whether what was derived from it
    /// still holds.
    pub fn last_change(&self, collection: &Collection) -> u64 {
        self.memory
            .partition(collection)
            .map_or(0, |partition| partition.newest())
    }

    /// The bytes that are kept of states that have passed, for watches that resume; see [`LogLimits`].
    ///
    /// [`LogLimits`]: crate::LogLimits
    pub fn history_bytes(&self) -> usize {
        self.memory.log_bytes()
    }

    /// The collections that hold objects.
    pub fn collections(&self) -> Vec<Collection> {
        self.memory.collections()
    }

    pub fn get(&self, collection: &Collection, namespace: &str, name: &str) -> Option<Arc<Object>> {
        self.memory
            .partition(collection)?
            .get(&format!("{namespace}{SEPARATOR}{name}"))
    }

    /// The objects of a collection or one of its namespaces, in the order of their keys.
    pub fn list(
        &self,
        collection: &Collection,
        namespace: Option<&str>,
        start_after: Option<&Key>,
        limit: Option<usize>,
    ) -> List {
        // Read first: what was published by then is in the partition when that is looked at.
        let published = self.revision();
        let Some(partition) = self.memory.partition(collection) else {
            return List {
                items: Vec::new(),
                revision: published,
                remaining: 0,
            };
        };
        let (items, remaining, newest) = partition.list(&Range {
            namespace,
            start_after,
            limit,
        });
        List {
            items,
            revision: published.max(newest),
            remaining,
        }
    }

    /// The same as it was at an earlier revision, as long as the watch log reaches back to it: what
    /// the later pages of a list are read from. A revision that is not reached yet must be waited
    /// for first.
    pub fn list_at(
        &self,
        revision: u64,
        collection: &Collection,
        namespace: Option<&str>,
        start_after: Option<&Key>,
        limit: Option<usize>,
    ) -> Result<List, TooOld> {
        let partition = self.memory.partition_or_new(collection);
        let (items, remaining) = partition.list_at(
            revision,
            &Range {
                namespace,
                start_after,
                limit,
            },
        )?;
        Ok(List {
            items,
            revision,
            remaining,
        })
    }

    /// Follows a collection or one of its namespaces from the first change after a revision. A
    /// revision that is not reached yet is waited for.
    pub fn watch(
        &self,
        collection: &Collection,
        namespace: Option<&str>,
        after: u64,
    ) -> Result<Watcher, TooOld> {
        let scope = namespace.map_or(Scope::Everything, |namespace| Scope::Namespace(namespace.into()));
        self.watch_scope(collection, scope, after)
    }

    /// Follows a single object, without being woken by any other.
    pub fn watch_object(&self, collection: &Collection, key: Key, after: u64) -> Result<Watcher, TooOld> {
        self.watch_scope(collection, Scope::Object(key), after)
    }

    /// The state of now, and a watcher that continues from exactly there.
    pub fn snapshot_and_watch(&self, collection: &Collection, namespace: Option<&str>) -> (List, Watcher) {
        loop {
            let list = self.list(collection, namespace, None, None);
            // Only a log too short for what is written in between makes this go round again.
            if let Ok(watcher) = self.watch(collection, namespace, list.revision) {
                return (list, watcher);
            }
        }
    }

    /// One object as it is now, if it is, and a watcher that continues from exactly there.
    pub fn snapshot_and_watch_object(
        &self,
        collection: &Collection,
        key: &Key,
    ) -> (Option<Arc<Object>>, Watcher) {
        loop {
            let published = self.revision();
            let (object, newest) = self.memory.partition_or_new(collection).get_with_newest(key);
            if let Ok(watcher) = self.watch_object(collection, key.clone(), published.max(newest)) {
                return (object, watcher);
            }
        }
    }

    fn watch_scope(&self, collection: &Collection, scope: Scope, after: u64) -> Result<Watcher, TooOld> {
        let partition = self.memory.partition_or_new(collection);
        Watcher::new(Arc::clone(&self.memory), partition, scope, after)
    }

    pub async fn create(&self, collection: &Collection, key: Key, body: Body) -> WriteResult {
        self.write(Write::create(collection, key, body)).await
    }

    /// Replaces the object if it is still at the expected revision.
    pub async fn update(&self, collection: &Collection, key: Key, expected: u64, body: Body) -> WriteResult {
        self.write(Write::update(collection, key, expected, body)).await
    }

    /// Deletes the object, if it is still at the expected revision where one is given.
    pub async fn delete(&self, collection: &Collection, key: Key, expected: Option<u64>) -> WriteResult {
        self.write(Write::delete(collection, key, expected)).await
    }

    /// Replaces the object a last time and deletes it, in one commit, if it is still at the expected
    /// revision.
    pub async fn retire(&self, collection: &Collection, key: Key, expected: u64, last: Body) -> WriteResult {
        self.write(Write::retire(collection, key, expected, last)).await
    }

    /// One write. It happens even if the future is dropped once it has been queued.
    pub async fn write(&self, write: Write) -> WriteResult {
        self.write_many(vec![write])
            .await
            .pop()
            .unwrap_or(Err(WriteError::Closed))
    }

    /// Independent writes in one commit. A refused one does not stop the others.
    pub async fn write_many(&self, writes: Vec<Write>) -> Vec<WriteResult> {
        if writes.is_empty() {
            return Vec::new();
        }
        let count = writes.len();
        let closed = || (0..count).map(|_| Err(WriteError::Closed)).collect();
        let (reply, answer) = oneshot::channel();
        if self.queue.send(Job::Write { writes, reply }).await.is_err() {
            return closed();
        }
        answer.await.unwrap_or_else(|_| closed())
    }

    /// Deletes every object of a collection, as one commit, and ends its watches. Returns the
    /// revision after which it is empty.
    pub async fn drop_collection(&self, collection: &Collection) -> Result<u64, WriteError> {
        let (reply, answer) = oneshot::channel();
        let job = Job::Drop {
            collection: collection.clone(),
            reply,
        };
        self.queue.send(job).await.map_err(|_| WriteError::Closed)?;
        answer.await.unwrap_or(Err(WriteError::Closed))
    }

    /// Finishes what is queued, ends all watches and closes the file. Later writes fail.
    pub async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        if self.queue.send(Job::Close { reply }).await.is_ok() {
            let _ = closed.await;
        }
    }
}
