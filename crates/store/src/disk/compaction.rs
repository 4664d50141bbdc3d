//! Rewriting the file without what is no longer current, beside the one in use and while it is written.
//!
//! A thread writes down the objects of one moment; what was committed since is copied behind them when
//! it is done, and then the new file takes the old one's place.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use uuid::Uuid;

use super::draft::{Draft, Snapshot};
use super::file::{LockedFile, beside};
use super::header::Slot;

pub(super) fn draft_path(path: &Path) -> PathBuf {
    beside(path, "compacted")
}

/// A rewrite that is under way.
pub(super) struct Compaction {
    path: PathBuf,
    /// How long the old file was when the snapshot was taken.
    since: u64,
    /// Whatever goes wrong in it, the draft goes away with it.
    thread: JoinHandle<io::Result<Draft>>,
}

impl Compaction {
    pub(super) fn start(
        path: &Path,
        cluster_id: Uuid,
        snapshot: Snapshot,
        current: &Slot,
    ) -> io::Result<Self> {
        let mut draft = Draft::create(&draft_path(path), cluster_id)?;
        let revision = current.revision;
        let write = move || draft.write(&snapshot, revision).map(|()| draft);
        Ok(Self {
            path: path.to_owned(),
            since: current.length,
            thread: thread::Builder::new()
                .name("store-compaction".to_owned())
                .spawn(write)?,
        })
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Completes the new file with what was committed meanwhile and puts it in the old one's place.
    pub(super) fn finish(self, old: &File, current: &Slot) -> io::Result<(LockedFile, Slot)> {
        let mut draft = join(self.thread)?;
        draft.append(old, self.since, current.length)?;
        draft.move_to(&self.path, current.revision, current.boot)
    }

    /// Gives up, and leaves nothing behind.
    pub(super) fn abandon(self) {
        drop(join(self.thread));
    }
}

fn join(thread: JoinHandle<io::Result<Draft>>) -> io::Result<Draft> {
    thread
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the thread that compacts the store died")))
}
