//! Creating the file: written beside its place and moved there complete, so that a crash leaves no
//! file or a whole one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use redb::{Builder, Database};
use tracing::warn;

use super::error::OpenError;
use super::meta::{self, META};
use super::{OBJECTS, beside};

pub(super) fn create_if_absent(path: &Path) -> Result<(), OpenError> {
    if !is_absent_or_empty(path).map_err(|error| OpenError::io(path, error))? {
        return Ok(());
    }
    let draft = beside(path, "new");
    let file = private_file(&draft).map_err(|error| OpenError::io(&draft, error))?;
    file.try_lock()
        .map_err(|_| OpenError::Locked { path: draft.clone() })?;
    file.set_len(0).map_err(|error| OpenError::io(&draft, error))?;
    initialise(file).map_err(|error| OpenError::engine(&draft, error))?;
    let moved = move_into_place(&draft, path).and_then(|()| sync_directory(path));
    moved.map_err(|error| OpenError::io(path, error))
}

fn is_absent_or_empty(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.is_file() && metadata.len() == 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

fn initialise(file: File) -> Result<(), redb::Error> {
    let database: Database = Builder::new().set_cache_size(0).create_file(file)?;
    let transaction = database.begin_write()?;
    transaction.open_table(OBJECTS)?;
    meta::initialise(&mut transaction.open_table(META)?)?;
    transaction.commit()?;
    Ok(())
}

/// Secrets are stored too, so the file is for its owner only.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

fn move_into_place(draft: &Path, path: &Path) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0) {
        warn!(path = %path.display(), "the store is an empty file; starting a new one");
        fs::remove_file(path)?;
    }
    // A link, unlike a rename, cannot replace a file that another process has just put there.
    match fs::hard_link(draft, path) {
        Ok(()) => fs::remove_file(draft),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs::remove_file(draft),
        Err(_) => fs::rename(draft, path),
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}
