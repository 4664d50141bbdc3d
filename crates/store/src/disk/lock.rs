//! A file that no other process may open as a store.

use std::fs::{File, TryLockError};
use std::ops::Deref;

/// Locked until it is dropped.
#[derive(Debug)]
pub(super) struct LockedFile(File);

impl LockedFile {
    pub(super) fn new(file: File) -> Result<Self, TryLockError> {
        file.try_lock()?;
        Ok(Self(file))
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    /// Closing is not enough: a child process that is just being started has the file open, too.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}
