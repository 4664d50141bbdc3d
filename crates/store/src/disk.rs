//! The one file of the store: a log of commits, read once when it is opened and then only written to.
//!
//! A commit is appended, a slot in the first page vouches for it, and one sync makes both durable. What
//! no slot vouches for was never acknowledged, and is written over.

mod bytes;
mod commit;
mod compaction;
mod create;
mod draft;
mod error;
mod file;
mod footing;
mod header;
mod load;
mod open;
#[cfg(test)]
mod platter;
#[cfg(test)]
mod power_failure;
mod record;
mod recover;
mod salvage;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{debug, info, warn};
use uuid::Uuid;

pub(crate) use draft::Snapshot;
pub use error::{DiskError, OpenError};
pub(crate) use open::open;

use self::compaction::Compaction;
use self::file::LockedFile;
use self::footing::Footing;
use self::header::Slot;
use crate::event::Event;
use crate::list::Objects;
use crate::name::Collection;

/// After a failed write the disk is left alone for so long.
const PAUSE: Duration = Duration::from_millis(100);
/// A commit's buffer is kept for the next one up to this size.
const BUFFER: usize = 1 << 20;

/// One record to write.
pub(crate) struct Change {
    pub(crate) collection: Collection,
    pub(crate) event: Arc<Event>,
}

/// What the file held when it was opened.
pub(crate) struct Loaded {
    pub(crate) collections: BTreeMap<Collection, Objects>,
    pub(crate) revision: u64,
    pub(crate) cluster_id: String,
}

pub(crate) struct Disk {
    path: PathBuf,
    file: LockedFile,
    cluster_id: Uuid,
    boot: u64,
    /// What was acknowledged.
    current: Slot,
    footing: Footing,
    failure: Option<Failure>,
    /// How many bytes beside those that are current, and as many again, the file may have.
    slack: u64,
    /// How many bytes of the file are current.
    live_bytes: u64,
    /// A file that is not longer is not compacted: it was tried, and failed.
    patience: u64,
    compaction: Option<Compaction>,
    buffer: Vec<u8>,
}

/// A failure that is not yet overcome, and when it is worth trying again.
struct Failure {
    error: Arc<DiskError>,
    retry_at: Instant,
}

impl Disk {
    /// Makes the changes durable, all or none, `revision` being the last of them.
    pub(crate) fn commit(&mut self, changes: &[Change], revision: u64) -> Result<(), Arc<DiskError>> {
        // A compaction may give back the very space that commits lack.
        self.reap();
        let now = Instant::now();
        if let Some(failure) = self.failure.as_ref().filter(|failure| now < failure.retry_at) {
            return Err(Arc::clone(&failure.error));
        }
        match self.try_commit(changes, revision) {
            Ok(()) => {
                if self.failure.take().is_some() {
                    info!(path = %self.path.display(), "the store can be written again");
                }
                Ok(())
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    fn try_commit(&mut self, changes: &[Change], revision: u64) -> io::Result<()> {
        self.settle()?;
        commit::build(revision, &mut self.buffer, |out| {
            for change in changes {
                record::append(change, out);
            }
        });
        let next = Slot {
            sequence: self.current.sequence + 1,
            length: self.current.length + self.buffer.len() as u64,
            revision,
            boot: self.boot,
        };
        self.footing = Footing::after_failure();
        self.file.write_all_at(&self.buffer, self.current.length)?;
        next.write(&self.file)?;
        self.file.sync_data()?;
        self.footing = Footing::Firm;
        self.current = next;
        self.buffer.shrink_to(BUFFER);
        for change in changes {
            self.live_bytes += record::put_len(&change.collection, change.event.survivor());
            let freed = record::put_len(&change.collection, change.event.previous.as_ref());
            self.live_bytes = self.live_bytes.saturating_sub(freed);
        }
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        self.footing.settle(&self.path, &self.file, &self.current)
    }

    fn fail(&mut self, source: io::Error) -> Arc<DiskError> {
        let path = self.path.clone();
        let error = Arc::new(DiskError { path, source });
        warn!(path = %self.path.display(), error = %error.source, "a write to the store failed");
        self.failure = Some(Failure {
            error: Arc::clone(&error),
            retry_at: Instant::now() + PAUSE,
        });
        error
    }

    /// Keeps the file from growing much beyond what is current. `snapshot` gives what the last commit
    /// has led to.
    pub(crate) fn compact_if_worthwhile(&mut self, snapshot: impl FnOnce() -> Snapshot) {
        if self.compaction.is_none() && self.is_worthwhile() {
            match Compaction::start(&self.path, self.cluster_id, snapshot(), &self.current) {
                Ok(compaction) => self.compaction = Some(compaction),
                Err(error) => self.postpone(&error),
            }
        }
    }

    fn is_worthwhile(&self) -> bool {
        self.current.length > (2 * self.live_bytes + self.slack).max(self.patience)
    }

    /// Takes the new file into use where a compaction has made one.
    fn reap(&mut self) {
        let Some(compaction) = self.compaction.take_if(|compaction| compaction.is_finished()) else {
            return;
        };
        let before = self.current.length;
        match compaction.finish(&self.file, &self.current) {
            Ok((file, slot)) => {
                debug!(path = %self.path.display(), before, after = slot.length, "compacted the store");
                self.file = file;
                self.current = slot;
                self.footing = Footing::Moved;
                self.patience = 0;
            }
            Err(error) => self.postpone(&error),
        }
    }

    /// A file that cannot be compacted now, for example because the disk is full, is good as it is. It
    /// is tried again after as many bytes as the attempt may have cost.
    fn postpone(&mut self, error: &io::Error) {
        warn!(path = %self.path.display(), %error, "could not compact the store");
        self.patience = self.current.length + self.live_bytes + self.slack;
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Some(compaction) = self.compaction.take() {
            compaction.abandon();
        }
        // What was answered with a failure should not be found done, if that can be helped.
        if let Err(error) = self.settle() {
            warn!(path = %self.path.display(), %error, "the store is closed after a write that failed");
        }
    }
}
