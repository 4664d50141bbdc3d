//! The first page of the file: what it is, and two slots that take turns in saying how far it is written.
//!
//! A commit is durable once its bytes and the slot that vouches for them are, which one sync sees to.
//! The slot before it stays as it was, so that there is always one to fall back to.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_64;

use super::bytes::{take, take_u64};
use super::commit::read_at;
use super::error::OpenError;

/// Where the first commit begins.
pub(super) const LEN: u64 = 4096;
/// Raise it for changes an older version would misread.
const FORMAT: u32 = 1;
const MAGIC: [u8; 16] = *b"trainyard store\n";
const IDENTITY_LEN: usize = 16 + 4 + 16 + 8;
/// A sector each, which a disk writes whole or not at all.
const SLOTS: [u64; 2] = [512, 1024];
const SLOT_LEN: usize = 5 * 8;

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
    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        let mut bytes = [0; SLOT_LEN];
        let parts = [self.sequence, self.length, self.revision, self.boot];
        for (place, part) in bytes.chunks_exact_mut(8).zip(parts) {
            place.copy_from_slice(&part.to_le_bytes());
        }
        let sum = xxh3_64(&bytes[..SLOT_LEN - 8]);
        bytes[SLOT_LEN - 8..].copy_from_slice(&sum.to_le_bytes());
        file.write_all_at(&bytes, place(self.sequence))
    }

    /// Takes back what was written after this slot.
    pub(super) fn void_next(&self, file: &File) -> io::Result<()> {
        file.write_all_at(&[0; SLOT_LEN], place(self.sequence + 1))
    }

    fn parse(mut bytes: &[u8]) -> Option<Self> {
        let sum = xxh3_64(bytes.get(..SLOT_LEN - 8)?);
        let slot = Self {
            sequence: take_u64(&mut bytes)?,
            length: take_u64(&mut bytes)?,
            revision: take_u64(&mut bytes)?,
            boot: take_u64(&mut bytes)?,
        };
        (take_u64(&mut bytes)? == sum).then_some(slot)
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
    /// What the file was before its newest commit.
    pub(super) previous: Option<Slot>,
    /// One slot holds something that was never written there whole.
    pub(super) has_broken_slot: bool,
}

/// Writes the first page of a new file. Its first slot is yet to come.
pub(super) fn write_identity(file: &File, cluster_id: Uuid) -> io::Result<()> {
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
        let slots = SLOTS.map(|at| &page[at as usize..at as usize + SLOT_LEN]);
        let parsed = slots.map(Slot::parse);
        let (newest, previous) = match parsed {
            [Some(one), Some(other)] if one.sequence > other.sequence => (one, Some(other)),
            [Some(one), Some(other)] => (other, Some(one)),
            [one, other] => {
                let only = one.or(other);
                (
                    only.ok_or_else(|| OpenError::damaged(path, "its header is unreadable", Vec::new()))?,
                    None,
                )
            }
        };
        let is_broken =
            |(bytes, slot): (&&[u8], &Option<Slot>)| slot.is_none() && bytes.iter().any(|byte| *byte != 0);
        Ok(Self {
            cluster_id,
            newest,
            previous,
            has_broken_slot: slots.iter().zip(&parsed).any(is_broken),
        })
    }
}

/// A file that ends within its first page: another program's, unless it begins as ours do.
fn too_short(file: &File, path: &Path) -> OpenError {
    let mut magic = [0; 16];
    match read_at(file, &mut magic, 0) {
        Ok(true) if magic == MAGIC => OpenError::damaged(path, "the file ends too early", Vec::new()),
        _ => OpenError::NotAStore {
            path: path.to_owned(),
        },
    }
}

fn identity(mut page: &[u8], path: &Path) -> Result<Uuid, OpenError> {
    let sum = xxh3_64(&page[..IDENTITY_LEN - 8]);
    let damaged = || OpenError::damaged(path, "its header is unreadable", Vec::new());
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
    if format > FORMAT {
        return Err(OpenError::NewerFormat {
            path: path.to_owned(),
            found: format,
            supported: FORMAT,
        });
    }
    Ok(cluster_id)
}
