//! Opening the file: created where there is none, read whole, and made sure of.

use std::fs;
use std::path::Path;

use tracing::warn;

use super::error::OpenError;
use super::file::LockedFile;
use super::footing::Footing;
use super::header::{self, Header};
use super::recover::recover;
use super::{Disk, Loaded, compaction, create, record, salvage};
use crate::options::Options;

/// Opens the file, creating it where there is none, and reads it whole.
pub(crate) fn open(path: &Path, options: &Options) -> Result<(Disk, Loaded), OpenError> {
    let boot = header::boot(&options.boot_id);
    let file = match create::create_if_absent(path, boot)? {
        Some(created) => created,
        None => LockedFile::open(path).map_err(|error| OpenError::io(path, error))?,
    };
    let header = Header::read(&file, path)?;
    let recovered = recover(&file, path, &header, boot)?;
    let (file, current, footing) = if recovered.contents.damaged.is_empty() {
        // What is left of a compaction that was interrupted is of no use.
        let _ = fs::remove_file(compaction::draft_path(path));
        let last_commit = recovered.last_commit;
        (file, recovered.slot, Footing::Unsure { last_commit })
    } else if options.drop_damaged {
        let (file, slot) = salvage::without_damaged(path, &file, &header, &recovered, boot)?;
        (file, slot, Footing::Moved)
    } else {
        let damaged = recovered.contents.damaged.iter();
        let records = damaged.map(|key| record::readable(key)).collect();
        return Err(OpenError::damaged(path, "records fail their checksum", records));
    };
    let mut disk = Disk {
        path: path.to_owned(),
        file,
        cluster_id: header.cluster_id,
        boot,
        current,
        footing,
        failure: None,
        slack: options.slack,
        live_bytes: recovered.contents.live_bytes(),
        patience: 0,
        compaction: None,
        buffer: Vec::new(),
    };
    // What cannot be written now can be read all the same.
    if let Err(error) = disk.settle() {
        warn!(path = %path.display(), %error, "the store cannot be written");
    }
    let loaded = Loaded {
        collections: recovered.contents.collections,
        revision: current.revision,
        cluster_id: header.cluster_id.to_string(),
    };
    Ok((disk, loaded))
}
