//! Files that are whole or not there.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use rustix::fs::{FlockOperation, flock};

use super::error::StoreError;

/// How long a download that stopped may wait to be continued.
const PATIENCE: Duration = Duration::from_hours(24);

const TEMPORARY: &str = "~new";

/// Held while the store changes; ends with its process.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let locked = || -> io::Result<File> {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(path)?;
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        };
        match locked() {
            Ok(file) => Ok(Self { _file: file }),
            Err(source) => Err(StoreError::Lock {
                path: path.to_owned(),
                source,
            }),
        }
    }
}

pub(super) fn make_folder(path: &Path) -> Result<(), StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(cannot_write(path))
}

/// Replaces a file by one with this content, on disk when this returns.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let temporary = path.with_file_name(unique(TEMPORARY));
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        sync_parent(path)
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&temporary);
        cannot_write(path)(source)
    })
}

/// Moves something; on disk when this returns.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to)
        .and_then(|()| sync_parent(to))
        .map_err(cannot_write(to))
}

pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

pub(super) fn remove_file(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot_write(path)(error)),
        _ => Ok(()),
    }
}

/// What is in a folder.
pub(super) fn names(folder: &Path) -> Result<Vec<OsString>, StoreError> {
    let names = || -> io::Result<Vec<OsString>> {
        fs::read_dir(folder)?
            .map(|entry| Ok(entry?.file_name()))
            .collect()
    };
    names().map_err(|source| StoreError::Read {
        path: folder.to_owned(),
        source,
    })
}

/// Removes files that nobody holds and nobody has touched for long.
pub(super) fn remove_old(folder: &Path) -> Result<(), StoreError> {
    for name in names(folder)? {
        let path = folder.join(name);
        let is_old = || -> io::Result<bool> {
            let file = File::open(&path)?;
            let age = SystemTime::now().duration_since(file.metadata()?.modified()?);
            let is_held = flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
            Ok(!is_held && age.is_ok_and(|age| age > PATIENCE))
        };
        if is_old().unwrap_or(false) {
            remove_file(&path)?;
        }
    }
    Ok(())
}

/// Whether a file was on its way to its name. Nothing else is called like this.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes())
}

/// Removes files that never got their names. The caller holds the lock under which such are written.
pub(super) fn remove_temporary(folder: &Path) -> Result<(), StoreError> {
    for name in names(folder)?.iter().filter(|name| is_temporary(name)) {
        remove_file(&folder.join(name))?;
    }
    Ok(())
}

/// A name nobody else uses.
pub(super) fn unique(prefix: &str) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let nanoseconds = time.map_or(0, |time| time.as_nanos());
    format!("{prefix}-{}-{nanoseconds:x}-{number}", std::process::id())
}

pub(super) fn cannot_write(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path: PathBuf = path.to_owned();
    move |source| StoreError::Write { path, source }
}
