//! Going on without the records that are damaged, after setting a copy of the file aside.

use std::fs::File;
use std::io::{self, Seek as _};
use std::path::{Path, PathBuf};

use tracing::warn;

use super::draft::{Draft, Snapshot};
use super::error::OpenError;
use super::file::{LockedFile, Unfinished, beside, create_new, sync_directory};
use super::header::{Header, Slot};
use super::recover::Recovered;
use super::{compaction, record};

/// Added to the revision when records are dropped: the newest one handed out may be among them.
const REVISIONS_SKIPPED: u64 = 1_000_000;

/// Puts a file without the damaged records in the place of the one that has them.
pub(super) fn without_damaged(
    path: &Path,
    file: &File,
    header: &Header,
    recovered: &Recovered,
    boot: u64,
) -> Result<(LockedFile, Slot), OpenError> {
    let revision = recovered.slot.revision + REVISIONS_SKIPPED;
    let snapshot: Snapshot = (recovered.contents.collections.iter())
        .map(|(collection, objects)| (collection.clone(), objects.values().cloned().collect()))
        .collect();
    let io = |error| OpenError::io(path, error);
    let mut draft = Draft::create(&compaction::draft_path(path), header.cluster_id).map_err(io)?;
    draft.write(&snapshot, revision).map_err(io)?;
    let copy = set_aside(path, file).map_err(io)?;
    for key in &recovered.contents.damaged {
        warn!(record = record::readable(key), copy = %copy.display(), "dropping a damaged record");
    }
    draft.move_to(path, revision, boot).map_err(io)
}

/// Makes a durable copy under a name that was not taken.
fn set_aside(path: &Path, mut file: &File) -> io::Result<PathBuf> {
    let (mut copy, name) = unused(path)?;
    file.rewind()?;
    io::copy(&mut file, &mut copy)?;
    copy.sync_all()?;
    sync_directory(path)?;
    Ok(name.keep())
}

fn unused(path: &Path) -> io::Result<(File, Unfinished)> {
    let mut name = beside(path, "damaged");
    for number in 2_u64.. {
        match create_new(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                name = beside(path, &format!("damaged-{number}"));
            }
            created => return Ok((created?, Unfinished::new(name))),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
