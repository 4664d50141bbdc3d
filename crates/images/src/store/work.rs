//! A place to make something in. It is locked by whoever works there, so that others can tell work
//! from what a killed process left.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use super::{Store, error::StoreError, files};
use crate::digest::Digest;

const HELD: &str = "held.json";

/// A folder that is removed when the work ends.
#[derive(Debug)]
pub(crate) struct Work {
    folder: PathBuf,
    _lock: File,
}

impl Work {
    pub(crate) fn begin(store: &Store) -> Result<Self, StoreError> {
        // Under the lock nobody takes the new folder for an abandoned one.
        let _lock = store.lock()?;
        Self::begin_locked(store)
    }

    pub(super) fn begin_locked(store: &Store) -> Result<Self, StoreError> {
        let folder = store.work_folder().join(files::unique("work"));
        files::make_folder(&folder)?;
        let lock = File::open(&folder)
            .and_then(|file| Ok(flock(&file, FlockOperation::LockExclusive).map(|()| file)?))
            .map_err(files::cannot_write(&folder))?;
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.folder.join(name.as_ref())
    }

    /// Keeps layers, there or to be made, from being removed until this work ends.
    pub(crate) fn hold(&self, store: &Store, layers: &[Digest]) -> Result<(), StoreError> {
        let path = self.path(HELD);
        let text = serde_json::to_vec(layers)
            .map_err(io::Error::from)
            .map_err(files::cannot_write(&path))?;
        let _lock = store.lock()?;
        files::write(&path, &text)
    }

    pub(super) fn end(self) -> Result<(), StoreError> {
        remove_folder(&self.folder).map_err(files::cannot_write(&self.folder))
    }
}

/// Gives a finished folder its name. Somebody else may have made the same; then theirs stays.
pub(crate) fn publish(folder: &Path, name: &Path) -> Result<(), StoreError> {
    match fs::rename(folder, name) {
        Ok(()) => files::sync_parent(name).map_err(files::cannot_write(name)),
        Err(_) if name.is_dir() => Ok(()),
        Err(error) => Err(files::cannot_write(name)(error)),
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What cannot be removed now is abandoned work, and removed when the store is opened again.
        let _ = remove_folder(&self.folder);
    }
}

/// Layers that work in progress needs.
pub(super) fn held_layers(folder: &Path) -> Result<BTreeSet<Digest>, StoreError> {
    let mut held = BTreeSet::new();
    for name in files::names(folder)? {
        let path = folder.join(name).join(HELD);
        // Most work holds nothing.
        let Ok(text) = fs::read(&path) else { continue };
        let layers: Vec<Digest> =
            serde_json::from_slice(&text).map_err(|source| StoreError::Damaged { path, source })?;
        held.extend(layers);
    }
    Ok(held)
}

/// Removes the work of processes that are gone. The caller holds the store's lock.
pub(super) fn remove_abandoned(folder: &Path) -> Result<(), StoreError> {
    for name in files::names(folder)? {
        let path = folder.join(name);
        let is_abandoned = File::open(&path)
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        if is_abandoned {
            remove_folder(&path).map_err(files::cannot_write(&path))?;
        }
    }
    Ok(())
}

/// Images have folders that not even their owner may change; without root they are opened first.
fn remove_folder(folder: &Path) -> io::Result<()> {
    let removed = fs::remove_dir_all(folder);
    match removed {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_folders(folder)?;
            fs::remove_dir_all(folder)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn open_folders(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_folders(&entry.path())?;
        }
    }
    Ok(())
}
