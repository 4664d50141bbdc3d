//! The file of a store, which no other process may open as one, and what its directory says of it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

#[cfg(test)]
use super::platter;

/// Locked until it is dropped. What is written to it is written by the methods here.
#[derive(Debug)]
pub(super) struct LockedFile(File);

impl LockedFile {
    /// Opens the file at a path. It is in use elsewhere where this would block.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        loop {
            let file = OpenOptions::new().read(true).write(true).open(path)?;
            if let Some(locked) = Self::lock(file, path)? {
                return Ok(locked);
            }
        }
    }

    /// Creates a file where there is none.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        loop {
            if let Some(locked) = Self::lock(create_new(path)?, path)? {
                return Ok(locked);
            }
        }
    }

    /// Locks a file that was found at a path; `None` where that is another one's place by now, as a
    /// process that had it locked may have compacted or removed it.
    fn lock(file: File, path: &Path) -> io::Result<Option<Self>> {
        file.try_lock()?;
        let locked = Self(file);
        let identity = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
        match fs::metadata(path) {
            Ok(found) if identity(&found) == identity(&locked.metadata()?) => Ok(Some(locked)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(None),
        }
    }

    pub(super) fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        #[cfg(test)]
        platter::write(&self.0, bytes, at)?;
        self.0.write_all_at(bytes, at)
    }

    pub(super) fn set_len(&self, length: u64) -> io::Result<()> {
        #[cfg(test)]
        platter::set_len(length)?;
        self.0.set_len(length)
    }

    pub(super) fn sync_data(&self) -> io::Result<()> {
        #[cfg(test)]
        platter::sync()?;
        self.0.sync_data()
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

/// A file that was not there before. Secrets are stored too, so it is for its owner only.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    options.open(path)
}

/// The name of a file that is not whole yet. The file is removed with this, unless it is kept.
#[derive(Debug)]
pub(super) struct Unfinished {
    path: PathBuf,
    is_kept: bool,
}

impl Unfinished {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, is_kept: false }
    }

    pub(super) fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        std::mem::take(&mut self.path)
    }

    /// Gives the file the place of another.
    pub(super) fn rename(self, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)?;
        self.keep();
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A path next to another, named after it.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

/// Makes the names in a file's directory durable.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_lost_its_place_before_it_was_locked_is_not_taken_for_the_store() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("store.db"), directory.path().join("new"));
        let found = create_new(&path).unwrap();
        let compacted = LockedFile::create(&other).unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(LockedFile::lock(found, &path).unwrap().is_none());
        // The file that took its place is in use.
        let error = LockedFile::open(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(compacted);
        let found = LockedFile::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(
            LockedFile::lock(found.try_clone().unwrap(), &path)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn an_unfinished_file_is_removed_and_a_finished_one_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("one"), directory.path().join("other"));
        create_new(&path).unwrap();
        drop(Unfinished::new(path.clone()));
        assert!(!path.exists());
        create_new(&path).unwrap();
        Unfinished::new(path.clone()).rename(&other).unwrap();
        assert!(other.exists());
    }
}
