//! Creating the file: written beside its place and moved there complete, so that a crash leaves no
//! file or a whole one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use tracing::warn;
use uuid::Uuid;

use super::beside;
use super::error::OpenError;
use super::header::{self, Slot};
use super::lock::LockedFile;

/// Revisions start above zero, which clients take for "any".
const FIRST_REVISION: u64 = 1;

pub(super) fn create_if_absent(path: &Path, boot: u64) -> Result<(), OpenError> {
    if !is_absent_or_empty(path).map_err(|error| OpenError::io(path, error))? {
        return Ok(());
    }
    let draft = beside(path, "new");
    initialise(&draft, boot).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => OpenError::Locked { path: draft.clone() },
        _ => OpenError::io(&draft, error),
    })?;
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

fn initialise(draft: &Path, boot: u64) -> io::Result<()> {
    let file = empty_file(draft)?;
    header::write_identity(&file, Uuid::new_v4())?;
    let slot = Slot {
        sequence: 1,
        length: header::LEN,
        revision: FIRST_REVISION,
        boot,
    };
    slot.write(&file)?;
    file.sync_all()
}

/// An empty file that is locked by this process. Secrets are stored too, so it is for its owner only.
pub(super) fn empty_file(path: &Path) -> io::Result<LockedFile> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    let file = LockedFile::new(options.open(path)?)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.set_len(0)?;
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

/// Makes the names in a file's directory durable.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}
