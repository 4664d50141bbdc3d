//! The one file of the store: opened and checked once, then written by the writer thread only.
//!
//! Commits are two-phase: a commit that was acknowledged is never given up for an older one when
//! its pages turn out damaged, which a one-phase commit cannot promise.

mod error;
mod open;
mod record;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redb::{Database, TableDefinition};
use tracing::{info, warn};

pub use error::{DiskError, OpenError};
pub(crate) use open::open;

use crate::name::{Collection, Key};
use crate::object::Object;

const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

/// One record to write.
pub(crate) enum Change {
    Put(Collection, Arc<Object>),
    Remove(Collection, Key),
}

pub(crate) struct Disk {
    path: PathBuf,
    cache_bytes: usize,
    /// Absent after a failed commit: the engine refuses further work until it is opened anew.
    database: Option<Database>,
    failure: Option<Failure>,
    /// Records of failed commits. Whether they reached the file is unknown, so the next commit
    /// writes them as memory has them.
    unsettled: Vec<(Collection, Key)>,
}

/// A failure that is not yet overcome, and when it is worth trying again.
struct Failure {
    error: Arc<DiskError>,
    retry_at: Instant,
}

impl Disk {
    fn new(path: PathBuf, cache_bytes: usize, database: Database) -> Self {
        Self {
            path,
            cache_bytes,
            database: Some(database),
            failure: None,
            unsettled: Vec::new(),
        }
    }

    pub(crate) fn unsettled(&self) -> &[(Collection, Key)] {
        &self.unsettled
    }

    /// Makes the changes durable, all or none, `revision` being the last of them.
    pub(crate) fn commit(&mut self, changes: &[Change], revision: u64) -> Result<(), Arc<DiskError>> {
        let started = Instant::now();
        if let Some(failure) = self.failure.as_ref().filter(|failure| started < failure.retry_at) {
            return Err(Arc::clone(&failure.error));
        }
        let attempted = catch_unwind(AssertUnwindSafe(|| self.try_commit(changes, revision)))
            .unwrap_or_else(|panic| Err(DiskError::Engine(error::panic_message(&*panic))));
        match attempted {
            Ok(()) => {
                self.settle();
                Ok(())
            }
            Err(error) => Err(self.fail(error, changes, started)),
        }
    }

    fn try_commit(&mut self, changes: &[Change], revision: u64) -> Result<(), DiskError> {
        let database = match &mut self.database {
            Some(database) => database,
            none => none.insert(open::reopen(&self.path, self.cache_bytes).map_err(DiskError::Reopen)?),
        };
        write(database, changes, revision).map_err(|source| DiskError::Commit {
            path: self.path.clone(),
            source: Box::new(source),
        })
    }

    fn settle(&mut self) {
        self.unsettled.clear();
        if self.failure.take().is_some() {
            info!(path = %self.path.display(), "the store can be written again");
        }
    }

    /// Reopening walks the whole file, so a disk that stays full is tried with growing caution.
    fn fail(&mut self, error: DiskError, changes: &[Change], started: Instant) -> Arc<DiskError> {
        const PAUSE: Duration = Duration::from_millis(100);
        let error = Arc::new(error);
        warn!(path = %self.path.display(), %error, "a write to the store failed");
        self.database = None;
        self.unsettled.extend(changes.iter().map(Change::name));
        self.unsettled.sort();
        self.unsettled.dedup();
        let retry_at = Instant::now() + PAUSE.max(4 * started.elapsed());
        self.failure = Some(Failure {
            error: Arc::clone(&error),
            retry_at,
        });
        error
    }
}

impl Change {
    fn name(&self) -> (Collection, Key) {
        match self {
            Self::Put(collection, object) => (collection.clone(), object.key().clone()),
            Self::Remove(collection, key) => (collection.clone(), key.clone()),
        }
    }
}

fn write(database: &Database, changes: &[Change], revision: u64) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        for change in changes {
            match change {
                Change::Put(collection, object) => {
                    let key = record::key(collection, object.key());
                    let mut value = objects.insert_reserve(key.as_str(), record::encoded_len(object))?;
                    record::encode(&key, object, value.as_mut());
                }
                Change::Remove(collection, key) => {
                    objects.remove(record::key(collection, key).as_str())?;
                }
            }
        }
        let mut meta = transaction.open_table(META)?;
        meta.insert(open::REVISION, revision.to_le_bytes().as_slice())?;
    }
    transaction.commit()?;
    Ok(())
}
