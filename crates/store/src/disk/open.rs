//! Opening the file and trusting nothing in it that fails its checksum.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use tracing::warn;

use super::commit::Commit;
use super::compaction::{self, Draft, Snapshot};
use super::error::OpenError;
use super::header::{self, Header, Slot};
use super::load::{Contents, Reach, load};
use super::lock::LockedFile;
use super::{Disk, Loaded, beside, create, record};
use crate::options::Options;

/// Added to the revision when records are dropped: the newest one handed out may be among them.
const REVISIONS_SKIPPED: u64 = 1_000_000;

/// Opens the file, creating it where there is none, and reads it whole.
pub(crate) fn open(path: &Path, options: &Options) -> Result<(Disk, Loaded), OpenError> {
    let boot = header::boot(&options.boot_id);
    create::create_if_absent(path, boot)?;
    let file = lock(path)?;
    let header = Header::read(&file, path)?;
    let (contents, slot) = read(&file, path, &header, boot)?;
    let opened = Opened {
        header,
        slot,
        contents,
        boot,
        slack: options.slack,
    };
    if opened.contents.damaged.is_empty() {
        // What is left of a compaction that was interrupted is of no use.
        let _ = fs::remove_file(compaction::draft_path(path));
        return Ok(opened.into_disk(path, file));
    }
    if options.drop_damaged {
        return opened.without_damaged(path);
    }
    let records = opened.contents.damaged.iter();
    let records = records.map(|key| record::readable(key)).collect();
    Err(OpenError::damaged(path, "records fail their checksum", records))
}

fn lock(path: &Path) -> Result<LockedFile, OpenError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|error| OpenError::io(path, error))?;
    LockedFile::new(file).map_err(|error| match error {
        TryLockError::WouldBlock => OpenError::Locked {
            path: path.to_owned(),
        },
        TryLockError::Error(error) => OpenError::io(path, error),
    })
}

/// Reads all that was ever acknowledged: up to the newest commit, or up to the one before it where a
/// power failure cut that short.
fn read(file: &File, path: &Path, header: &Header, boot: u64) -> Result<(Contents, Slot), OpenError> {
    // While the machine stays up what was written stays whole, whatever happens to the process.
    let was_up_since = boot != 0 && header.newest.boot == boot;
    if header.has_broken_slot && was_up_since {
        return Err(OpenError::damaged(path, "its header is unreadable", Vec::new()));
    }
    let io = |error| OpenError::io(path, error);
    let slot = if header.has_broken_slot {
        with_commit_behind(file, header.newest).map_err(io)?
    } else {
        header.newest
    };
    let (contents, reach) = load(file, &slot, !was_up_since).map_err(io)?;
    let Reach::Broken(at) = reach else {
        return Ok((contents, slot));
    };
    match header.previous.filter(|previous| previous.length == at) {
        Some(previous) if !was_up_since => {
            warn!(path = %path.display(), "the machine stopped during a commit, which is undone");
            Ok((contents, previous))
        }
        Some(_) => Err(OpenError::damaged(
            path,
            "its last commit is incomplete",
            Vec::new(),
        )),
        None => Err(unreadable(file, path, &slot, at)),
    }
}

/// The slot of a commit may be lost while the commit itself is there.
fn with_commit_behind(file: &File, slot: Slot) -> std::io::Result<Slot> {
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

struct Opened {
    header: Header,
    slot: Slot,
    contents: Contents,
    boot: u64,
    slack: u64,
}

impl Opened {
    fn into_disk(self, path: &Path, file: LockedFile) -> (Disk, Loaded) {
        let live_bytes = self.contents.live_bytes();
        let is_exact = file
            .metadata()
            .is_ok_and(|metadata| metadata.len() == self.slot.length);
        let has_leftovers = !is_exact || self.header.has_broken_slot || self.header.newest != self.slot;
        let disk = Disk {
            path: path.to_owned(),
            file,
            cluster_id: self.header.cluster_id,
            boot: self.boot,
            current: self.slot,
            has_leftovers,
            has_moved: false,
            failure: None,
            slack: self.slack,
            live_bytes,
            patience: 0,
            compaction: None,
            buffer: Vec::new(),
        };
        let loaded = Loaded {
            collections: self.contents.collections,
            revision: self.slot.revision,
            cluster_id: self.header.cluster_id.to_string(),
        };
        (disk, loaded)
    }

    /// Sets a copy of the file aside and writes a new one without the damaged records.
    fn without_damaged(mut self, path: &Path) -> Result<(Disk, Loaded), OpenError> {
        let copy = beside(path, "damaged");
        fs::copy(path, &copy).map_err(|error| OpenError::io(&copy, error))?;
        for key in &self.contents.damaged {
            warn!(record = record::readable(key), copy = %copy.display(), "dropping a damaged record");
        }
        let revision = self.slot.revision + REVISIONS_SKIPPED;
        let snapshot: Snapshot = self
            .contents
            .collections
            .iter()
            .map(|(collection, objects)| (collection.clone(), objects.values().cloned().collect()))
            .collect();
        let draft = compaction::draft_path(path);
        let (file, slot) = Draft::write(draft, self.header.cluster_id, &snapshot, revision)
            .and_then(|draft| draft.move_to(path, revision, self.boot))
            .map_err(|error| OpenError::io(path, error))?;
        create::sync_directory(path).map_err(|error| OpenError::io(path, error))?;
        self.slot = slot;
        Ok(self.into_disk(path, file))
    }
}
