//! Files of this machine, for tests: packages themselves know of none.

use std::{fs, io, path::Path};

use packages::{Entry, FileError, Files};

pub(crate) struct Disk;

impl Files for Disk {
    fn resolve(&self, path: &Path) -> Result<Entry, FileError> {
        let resolved = fs::canonicalize(path).map_err(|error| told(&error))?;
        Ok(if resolved.is_dir() {
            Entry::Folder(resolved)
        } else {
            Entry::File(resolved)
        })
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        fs::read(path).map_err(|error| told(&error))
    }
}

fn told(error: &io::Error) -> FileError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileError::NotFound,
        _ => FileError::Unreadable(error.to_string()),
    }
}
