//! Rewriting the file without what is no longer current, beside the one in use and while it is written.
//!
//! A thread writes down the objects of one moment; what was committed since is copied behind them when
//! it is done, and then the new file takes the old one's place.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use uuid::Uuid;

use super::header::{self, Slot};
use super::lock::LockedFile;
use super::{beside, commit, create, record};
use crate::name::Collection;
use crate::object::Object;

/// All objects of one moment.
pub(crate) type Snapshot = Vec<(Collection, Vec<Arc<Object>>)>;

/// A commit of the new file takes no further objects once it has this many bytes.
const CHUNK: usize = 1 << 20;
pub(super) fn draft_path(path: &Path) -> PathBuf {
    beside(path, "compacted")
}

/// A new file that is not yet in its place. It has no slot, and is nothing to anybody.
pub(super) struct Draft {
    path: PathBuf,
    file: LockedFile,
    length: u64,
}

impl Draft {
    /// Writes down a snapshot.
    pub(super) fn write(
        path: PathBuf,
        cluster_id: Uuid,
        snapshot: &Snapshot,
        revision: u64,
    ) -> io::Result<Self> {
        let file = create::empty_file(&path)?;
        header::write_identity(&file, cluster_id)?;
        let mut draft = Self {
            path,
            file,
            length: header::LEN,
        };
        let mut buffer = Vec::new();
        let named = snapshot
            .iter()
            .flat_map(|(collection, objects)| objects.iter().map(move |object| (collection, object)));
        let mut objects = named.peekable();
        while objects.peek().is_some() {
            commit::build(revision, &mut buffer, |out| {
                while out.len() < CHUNK
                    && let Some((collection, object)) = objects.next()
                {
                    record::append_put(collection, object, out);
                }
            });
            draft.file.write_all_at(&buffer, draft.length)?;
            draft.length += buffer.len() as u64;
        }
        draft.file.sync_data()?;
        Ok(draft)
    }

    /// Appends the commits of another file from an offset on.
    fn append(&mut self, mut from: &File, since: u64, until: u64) -> io::Result<()> {
        let mut to: &File = &self.file;
        from.seek(SeekFrom::Start(since))?;
        to.seek(SeekFrom::Start(self.length))?;
        let copied = io::copy(&mut io::Read::take(from, until - since), &mut to)?;
        if copied != until - since {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.length += copied;
        Ok(())
    }

    /// Makes the draft a whole file and gives it its place. The directory is yet to be synced.
    pub(super) fn move_to(self, path: &Path, revision: u64, boot: u64) -> io::Result<(LockedFile, Slot)> {
        let slot = Slot {
            sequence: 1,
            length: self.length,
            revision,
            boot,
        };
        slot.write(&self.file)?;
        self.file.sync_all()?;
        fs::rename(&self.path, path)?;
        Ok((self.file, slot))
    }
}

/// A rewrite that is under way.
pub(super) struct Compaction {
    path: PathBuf,
    /// How long the old file was when the snapshot was taken.
    since: u64,
    thread: JoinHandle<io::Result<Draft>>,
}

impl Compaction {
    pub(super) fn start(
        path: &Path,
        cluster_id: Uuid,
        snapshot: Snapshot,
        current: &Slot,
    ) -> io::Result<Self> {
        let (draft, revision) = (draft_path(path), current.revision);
        let write = move || Draft::write(draft, cluster_id, &snapshot, revision);
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
        let _ = join(self.thread);
        let _ = fs::remove_file(draft_path(&self.path));
    }
}

fn join(thread: JoinHandle<io::Result<Draft>>) -> io::Result<Draft> {
    thread
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the thread that compacts the store died")))
}
