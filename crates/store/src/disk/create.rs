//! Creating the store's file where there is none.
//!
//! An empty file is not "none". No crash of ours leaves one, so something was lost, and whoever lost it
//! should hear of it before a new cluster takes the place of the old.

use std::fs;
use std::path::Path;

use uuid::Uuid;

use super::draft::Draft;
use super::error::OpenError;
use super::file::{LockedFile, beside};

/// Revisions start above zero, which clients take for "any".
const FIRST_REVISION: u64 = 1;

/// Creates the file, unless there is one.
pub(super) fn create_if_absent(path: &Path, boot: u64) -> Result<Option<LockedFile>, OpenError> {
    if exists(path)? {
        return Ok(None);
    }
    let draft_path = beside(path, "new");
    let draft = Draft::create(&draft_path, Uuid::new_v4());
    let draft = draft.map_err(|error| OpenError::io(&draft_path, error))?;
    // Another process may have been faster. From here on none can be, as it would need the draft.
    if exists(path)? {
        return Ok(None);
    }
    let moved = draft.move_to(path, FIRST_REVISION, boot);
    moved
        .map(|(file, _)| Some(file))
        .map_err(|error| OpenError::io(path, error))
}

fn exists(path: &Path) -> Result<bool, OpenError> {
    fs::exists(path).map_err(|error| OpenError::io(path, error))
}
