//! A store's file that is written beside its place and moved there when it is whole, so that a crash at
//! any point leaves what was there before or the new file, and nothing in between.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use uuid::Uuid;

use super::file::{LockedFile, Unfinished};
use super::header::{self, Slot};
use super::{commit, record};
use crate::name::Collection;
use crate::object::Object;

/// All objects of one moment.
pub(crate) type Snapshot = Vec<(Collection, Vec<Arc<Object>>)>;

/// A commit of a draft takes no further objects once it has this many bytes.
const CHUNK: usize = 1 << 20;

/// Goes away unless it is moved to its place. It has no slot before, and is nothing to anybody.
#[derive(Debug)]
pub(super) struct Draft {
    name: Unfinished,
    file: LockedFile,
    length: u64,
}

impl Draft {
    /// A draft that no other process works on.
    pub(super) fn create(path: &Path, cluster_id: Uuid) -> io::Result<Self> {
        remove_stale(path)?;
        let file = LockedFile::create(path).map_err(|error| match error.kind() {
            // Whoever has just put one there works on it.
            io::ErrorKind::AlreadyExists => io::ErrorKind::WouldBlock.into(),
            _ => error,
        })?;
        let draft = Self {
            file,
            name: Unfinished::new(path.to_owned()),
            length: header::LEN,
        };
        header::write_identity(&draft.file, cluster_id)?;
        Ok(draft)
    }

    /// Writes down a snapshot.
    pub(super) fn write(&mut self, snapshot: &Snapshot, revision: u64) -> io::Result<()> {
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
            self.file.write_all_at(&buffer, self.length)?;
            self.length += buffer.len() as u64;
        }
        self.file.sync_data()
    }

    /// Appends the commits of another file from an offset on.
    pub(super) fn append(&mut self, mut from: &File, since: u64, until: u64) -> io::Result<()> {
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
        slot.write_in_place_of_next(&self.file)?;
        self.file.sync_data()?;
        self.name.rename(path)?;
        Ok((self.file, slot))
    }
}

/// Removes what an earlier process left. It is not written to: the file may have another name, by which
/// somebody knows it.
fn remove_stale(path: &Path) -> io::Result<()> {
    match LockedFile::open(path) {
        Ok(_locked) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::platter::Platter;

    #[test]
    fn a_draft_that_cannot_be_written_is_removed_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("draft");
        let write = || {
            let mut draft = Draft::create(&path, Uuid::nil())?;
            draft.write(&Snapshot::new(), 1)?;
            draft.move_to(&directory.path().join("store.db"), 1, 0)
        };
        for step in 0..5 {
            let platter = Platter::insert(0, Vec::new());
            platter.fail_once(step);
            write().unwrap_err();
            assert!(!path.exists(), "it failed at step {step}");
        }
        write().unwrap();
    }

    #[test]
    fn a_stale_draft_is_removed_without_being_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let (path, precious) = (directory.path().join("draft"), directory.path().join("precious"));
        fs::write(&precious, "precious").unwrap();
        fs::hard_link(&precious, &path).unwrap();
        let draft = Draft::create(&path, Uuid::nil()).unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        // One that is worked on is not stale.
        let error = Draft::create(&path, Uuid::nil()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(draft);
        assert!(!path.exists());
    }
}
