//! The first page of the file: what it is, and two slots that take turns in saying how far it is written.
//!
//! A commit is durable once its bytes and the slot that vouches for them are, which one sync sees to.
//! The slot before it stays as it was, so that there is always one to fall back to. Where nothing is to
//! be fallen back to, both say the same; a slot that says nothing is damaged.

use std::fs::File;
use std::io;
use std::path::Path;

use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_64;

use super::bytes::{take, take_u64};
use super::commit::read_at;
use super::error::OpenError;
use super::file::LockedFile;

/// Where the first commit begins.
pub(super) const LEN: u64 = 4096;
/// Raise it for changes that make one version misread what another wrote.
const FORMAT: u32 = 2;
const MAGIC: [u8; 16] = *b"trainyard store\n";
const IDENTITY_LEN: usize = 16 + 4 + 16 + 8;
/// A sector each, which a disk writes whole or not at all.
const SLOTS: [u64; 2] = [512, 1024];
const SLOT_LEN: usize = 5 * 8;
/// No count and no length gets so far, so that there is always a next one.
const LIMIT: u64 = 1 << 62;

/// How far the file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Counts the commits of the file.
    pub(super) sequence: u64,
    /// The length of the file with its last commit.
    pub(super) length: u64,
    /// The revision of the last commit.
    pub(super) revision: u64,
    /// The run of the machine that wrote it; see [`boot`].
    pub(super) boot: u64,
}

impl Slot {
    pub(super) fn write(&self, file: &LockedFile) -> io::Result<()> {
        file.write_all_at(&self.bytes(), place(self.sequence))
    }

    /// Writes it a second time, over what came before it or was meant to come after it.
    pub(super) fn write_in_place_of_next(&self, file: &LockedFile) -> io::Result<()> {
        file.write_all_at(&self.bytes(), place(self.sequence + 1))
    }

    fn bytes(&self) -> [u8; SLOT_LEN] {
        let mut bytes = [0; SLOT_LEN];
        let parts = [self.sequence, self.length, self.revision, self.boot];
        for (place, part) in bytes.chunks_exact_mut(8).zip(parts) {
            place.copy_from_slice(&part.to_le_bytes());
        }
        let sum = xxh3_64(&bytes[..SLOT_LEN - 8]);
        bytes[SLOT_LEN - 8..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn parse(mut bytes: &[u8]) -> Option<Self> {
        let sum = xxh3_64(bytes.get(..SLOT_LEN - 8)?);
        let slot = Self {
            sequence: take_u64(&mut bytes)?,
            length: take_u64(&mut bytes)?,
            revision: take_u64(&mut bytes)?,
            boot: take_u64(&mut bytes)?,
        };
        let is_possible =
            slot.sequence < LIMIT && slot.revision < LIMIT && (LEN..LIMIT).contains(&slot.length);
        (take_u64(&mut bytes)? == sum && is_possible).then_some(slot)
    }
}

fn place(sequence: u64) -> u64 {
    SLOTS[(sequence % 2) as usize]
}

/// Names a run of the machine: what was written in the present one can be torn only by damage, while
/// what an earlier one left may have been cut short by a power failure. 0 where runs cannot be told apart.
pub(super) fn boot(id: &str) -> u64 {
    if id.is_empty() { 0 } else { xxh3_64(id.as_bytes()) }
}

/// What the first page says.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) cluster_id: Uuid,
    pub(super) newest: Slot,
    pub(super) beside: Beside,
}

/// What the slot beside the newest holds.
#[derive(Debug)]
pub(super) enum Beside {
    /// The same.
    Copy,
    /// What the file was before its newest commit.
    Previous(Slot),
    /// Nothing that was ever written there whole.
    Broken,
}

/// Writes the first page of a new file. Its slots are yet to come.
pub(super) fn write_identity(file: &LockedFile, cluster_id: Uuid) -> io::Result<()> {
    let mut page = vec![0; LEN as usize];
    page[..16].copy_from_slice(&MAGIC);
    page[16..20].copy_from_slice(&FORMAT.to_le_bytes());
    page[20..36].copy_from_slice(cluster_id.as_bytes());
    let sum = xxh3_64(&page[..IDENTITY_LEN - 8]);
    page[36..IDENTITY_LEN].copy_from_slice(&sum.to_le_bytes());
    file.write_all_at(&page, 0)
}

impl Header {
    pub(super) fn read(file: &File, path: &Path) -> Result<Self, OpenError> {
        let mut page = vec![0; LEN as usize];
        let is_whole = read_at(file, &mut page, 0).map_err(|error| OpenError::io(path, error))?;
        if !is_whole {
            return Err(too_short(file, path));
        }
        let cluster_id = identity(&page, path)?;
        let slots = SLOTS.map(|at| Slot::parse(&page[at as usize..at as usize + SLOT_LEN]));
        let (newest, beside) = match slots {
            [Some(one), Some(other)] => in_order(one, other),
            [one, other] => one.or(other).map(|only| (only, Beside::Broken)),
        }
        .ok_or_else(|| unreadable(path))?;
        Ok(Self {
            cluster_id,
            newest,
            beside,
        })
    }
}

/// Which of two slots is the newer one; `None` where they are not of the same or of subsequent commits.
fn in_order(one: Slot, other: Slot) -> Option<(Slot, Beside)> {
    let (newest, other) = if one.sequence < other.sequence {
        (other, one)
    } else {
        (one, other)
    };
    match newest.sequence - other.sequence {
        0 if newest == other => Some((newest, Beside::Copy)),
        1 => Some((newest, Beside::Previous(other))),
        _ => None,
    }
}

pub(super) fn unreadable(path: &Path) -> OpenError {
    OpenError::damaged(path, "its header is unreadable", Vec::new())
}

/// A file that ends within its first page: another program's, unless it begins as ours do.
fn too_short(file: &File, path: &Path) -> OpenError {
    let mut magic = [0; 16];
    match read_at(file, &mut magic, 0) {
        Ok(true) if magic == MAGIC => OpenError::damaged(path, "the file ends too early", Vec::new()),
        _ if file.metadata().is_ok_and(|metadata| metadata.len() == 0) => {
            OpenError::damaged(path, "the file is empty", Vec::new())
        }
        _ => OpenError::NotAStore {
            path: path.to_owned(),
        },
    }
}

fn identity(mut page: &[u8], path: &Path) -> Result<Uuid, OpenError> {
    let sum = xxh3_64(&page[..IDENTITY_LEN - 8]);
    let damaged = || unreadable(path);
    let magic: [u8; 16] = take(&mut page).ok_or_else(damaged)?;
    if magic != MAGIC {
        return Err(OpenError::NotAStore {
            path: path.to_owned(),
        });
    }
    let format = u32::from_le_bytes(take(&mut page).ok_or_else(damaged)?);
    let cluster_id = Uuid::from_bytes(take(&mut page).ok_or_else(damaged)?);
    if take_u64(&mut page) != Some(sum) {
        return Err(damaged());
    }
    if format != FORMAT {
        return Err(OpenError::OtherFormat {
            path: path.to_owned(),
            found: format,
            supported: FORMAT,
        });
    }
    Ok(cluster_id)
}
