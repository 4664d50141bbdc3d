//! Finding out how much of a file was acknowledged, and trusting nothing that fails its checksum.

use std::fs::File;
use std::io;
use std::path::Path;

use tracing::warn;

use super::commit::Commit;
use super::error::OpenError;
use super::header::{self, Beside, Header, Slot};
use super::load::{Contents, Reach, load};

pub(super) struct Recovered {
    pub(super) contents: Contents,
    /// What is current: the newest slot, but for power failures.
    pub(super) slot: Slot,
    /// The bytes of the last commit, where it is not known to be on disk.
    pub(super) last_commit: Vec<u8>,
}

/// Reads all that was ever acknowledged: up to the newest commit, or up to the one before it where a
/// power failure cut that short.
pub(super) fn recover(file: &File, path: &Path, header: &Header, boot: u64) -> Result<Recovered, OpenError> {
    let io = |error| OpenError::io(path, error);
    // While the machine stays up what was written stays whole, whatever happens to the process.
    let was_up_since = boot != 0 && header.newest.boot == boot;
    let (slot, previous) = match header.beside {
        Beside::Broken if was_up_since => return Err(header::unreadable(path)),
        Beside::Broken => (with_commit_behind(file, header.newest).map_err(io)?, None),
        Beside::Previous(previous) if !was_up_since => (header.newest, Some(previous)),
        Beside::Previous(_) | Beside::Copy => (header.newest, None),
    };
    let (contents, reach) = load(file, &slot, previous.is_some()).map_err(io)?;
    match (reach, previous) {
        (Reach::End { last_commit }, _) => Ok(Recovered {
            contents,
            slot,
            last_commit,
        }),
        (Reach::Broken(at), Some(previous)) if previous.length == at => {
            warn!(path = %path.display(), "the machine stopped during a commit, which is undone");
            Ok(Recovered {
                contents,
                slot: previous,
                last_commit: Vec::new(),
            })
        }
        (Reach::Broken(at), _) => Err(unreadable(file, path, &slot, at)),
    }
}

/// The slot of a commit may be lost while the commit itself is there.
fn with_commit_behind(file: &File, slot: Slot) -> io::Result<Slot> {
    let length = file.metadata()?.len();
    let mut buffer = Vec::new();
    let commit = Commit::read(file, slot.length, length, &mut buffer)?;
    Ok(match commit {
        Some(commit) if commit.sound && commit.revision > slot.revision => Slot {
            sequence: slot.sequence + 1,
            length: commit.end,
            revision: commit.revision,
            ..slot
        },
        _ => slot,
    })
}

fn unreadable(file: &File, path: &Path, slot: &Slot, at: u64) -> OpenError {
    let is_short = file.metadata().is_ok_and(|metadata| metadata.len() < slot.length);
    let reason = if is_short {
        "the file ends too early".to_owned()
    } else {
        format!("its commit at byte {at} is unreadable")
    };
    OpenError::damaged(path, reason, Vec::new())
}
