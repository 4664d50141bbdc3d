//! The one file of the store: opened and checked once, then written by the writer thread only.
//!
//! A commit is one transaction of the engine and one sync. The engine checks the newest commit when
//! it opens the file and falls back to the one before it where that is incomplete: right after a
//! power failure, and a reason not to start otherwise.

mod create;
mod engine;
mod error;
mod file;
mod load;
mod meta;
mod open;
mod record;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use redb::{Database, TableDefinition};
use tracing::{info, warn};

pub use error::{DiskError, OpenError};
pub use open::GUARDED_THREAD;
pub(crate) use open::open;

use self::load::Loaded;
use self::meta::META;
use crate::name::{Collection, Key};
use crate::object::Object;

const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");

/// One record to write.
pub(crate) enum Change {
    Put(Collection, Arc<Object>),
    Remove(Collection, Key),
}

pub(crate) struct Disk {
    path: PathBuf,
    cluster_id: String,
    cache_bytes: usize,
    /// Absent after a failed commit: the engine refuses further work until it is opened anew.
    database: Option<Database>,
    failure: Option<Failure>,
    /// The revision of the last commit that is known to be whole.
    committed: u64,
    /// Records of a failed commit that may have reached the file all the same. The next commit
    /// writes them as memory has them.
    unsettled: Vec<(Collection, Key)>,
}

/// A failure that is not yet overcome, and when it is worth trying again.
struct Failure {
    error: Arc<DiskError>,
    retry_at: Instant,
}

impl Disk {
    fn new(path: &Path, cache_bytes: usize, database: Option<Database>, loaded: &Loaded) -> Self {
        Self {
            path: path.to_owned(),
            cluster_id: loaded.cluster_id.clone(),
            cache_bytes,
            database,
            failure: None,
            committed: loaded.revision,
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
                self.settle(revision);
                Ok(())
            }
            Err(error) => Err(self.fail(error, changes, started)),
        }
    }

    fn try_commit(&mut self, changes: &[Change], revision: u64) -> Result<(), DiskError> {
        let database = match &mut self.database {
            Some(database) => database,
            none => {
                let reopened = open::reopen(&self.path, &self.cluster_id, self.cache_bytes);
                let (database, revision) = reopened.map_err(DiskError::Reopen)?;
                if revision == self.committed {
                    self.unsettled.clear();
                }
                none.insert(database)
            }
        };
        write(database, changes, revision).map_err(|source| DiskError::Commit {
            path: self.path.clone(),
            source: Box::new(source),
        })
    }

    fn settle(&mut self, revision: u64) {
        self.committed = revision;
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
        if self.database.take().is_some() {
            self.unsettled = changes.iter().map(Change::name).collect();
        }
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
    let transaction = database.begin_write()?;
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
        meta::set_revision(&mut transaction.open_table(META)?, revision)?;
    }
    transaction.commit()?;
    Ok(())
}

/// A file next to the store's own, named after it.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}
