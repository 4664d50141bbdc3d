//! What is known of the file on disk, and making sure of it before anything is built on it.

use std::io;
use std::path::Path;

use super::file::{LockedFile, sync_directory};
use super::header::Slot;

pub(super) enum Footing {
    /// The file is what the current slot says, and durable.
    Firm,
    /// So it is, but it took another's place, which is not known to be durable.
    Moved,
    /// A write failed, or nobody knows whether the last one has reached the disk. Anything may be in the
    /// other slot and behind the current one's end.
    Unsure {
        /// The last commit, where it may be found in memory only: a system that failed to write a page
        /// does not try again, and a process that was killed cannot tell of it.
        last_commit: Vec<u8>,
    },
}

impl Footing {
    /// After a write that failed: what was there before it was durable.
    pub(super) fn after_failure() -> Self {
        Self::Unsure {
            last_commit: Vec::new(),
        }
    }

    /// Makes sure of the file. Whenever this is interrupted one slot on disk is good, so the current one
    /// is durable in its own place before it takes the other's.
    pub(super) fn settle(&mut self, path: &Path, file: &LockedFile, current: &Slot) -> io::Result<()> {
        match self {
            Self::Firm => return Ok(()),
            Self::Moved => {}
            Self::Unsure { last_commit } => {
                file.write_all_at(last_commit, current.length - last_commit.len() as u64)?;
                current.write(file)?;
                file.sync_data()?;
                current.write_in_place_of_next(file)?;
                file.set_len(current.length)?;
                file.sync_data()?;
            }
        }
        sync_directory(path)?;
        *self = Self::Firm;
        Ok(())
    }
}
