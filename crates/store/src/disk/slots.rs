//! Guards the one bit of the file that has no checksum of its own.
//!
//! The engine keeps its last two commits in two slots, and a bit in the header says which is
//! current. In two-phase mode it takes the bit's word, so a flipped bit would bring back the commit
//! before the last. The newer slot is either the current one or a commit that was being made when
//! the process died: trying it first is right in both cases, and what one-phase mode does.

use std::fs::File;
use std::io;
use std::ops::Bound;

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};
use xxhash_rust::xxh3::xxh3_128;

const FLAGS: usize = 9;
const CURRENT_SLOT: u8 = 1;
const TWO_PHASE: u8 = 4;
const SLOTS: usize = 64;
const SLOT_LEN: usize = 128;
const SLOT_SUMMED: usize = SLOT_LEN - 16;
const TRANSACTION_ID: usize = 104;
const HEADER_LEN: usize = SLOTS + 2 * SLOT_LEN;

/// Has the engine prefer the newer of two sound slots; it still verifies every page behind it, and
/// falls back to the other slot where the newer commit was cut short.
fn prefer_newer_slot(header: &mut [u8]) {
    let current = usize::from(header[FLAGS] & CURRENT_SLOT);
    let (Some(current), Some(other)) = (
        transaction_id(header, current),
        transaction_id(header, 1 - current),
    ) else {
        return;
    };
    if other > current {
        header[FLAGS] &= !TWO_PHASE;
    }
}

/// The transaction of a slot, or `None` where the slot fails its checksum.
fn transaction_id(header: &[u8], slot: usize) -> Option<u64> {
    let slot = &header[SLOTS + slot * SLOT_LEN..][..SLOT_LEN];
    let (summed, sum) = slot.split_at(SLOT_SUMMED);
    let sound = xxh3_128(summed).to_le_bytes() == *sum;
    sound
        .then(|| {
            summed[TRANSACTION_ID..]
                .first_chunk()
                .copied()
                .map(u64::from_le_bytes)
        })
        .flatten()
}

/// The engine's own file access, with the header read as above.
#[derive(Debug)]
pub(super) struct GuardedFile(FileBackend);

impl GuardedFile {
    pub(super) fn new(file: File) -> Result<Self, DatabaseError> {
        FileBackend::new(file).map(Self)
    }
}

type From = Bound<u64>;
type To = Bound<u64>;

impl StorageBackend for GuardedFile {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)?;
        if offset == 0 && out.len() >= HEADER_LEN {
            prefer_newer_slot(out);
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }

    fn try_lock_range(&self, from: From, to: To) -> Result<bool, BackendError> {
        self.0.try_lock_range(from, to)
    }

    fn try_lock_shared_range(&self, from: From, to: To) -> Result<bool, BackendError> {
        self.0.try_lock_shared_range(from, to)
    }

    fn lock_range(&self, from: From, to: To) -> Result<(), BackendError> {
        self.0.lock_range(from, to)
    }

    fn lock_shared_range(&self, from: From, to: To) -> Result<(), BackendError> {
        self.0.lock_shared_range(from, to)
    }

    fn unlock_range(&self, from: From, to: To) -> Result<(), BackendError> {
        self.0.unlock_range(from, to)
    }

    fn query_lock_range(&self, from: From, to: To) -> Result<bool, BackendError> {
        self.0.query_lock_range(from, to)
    }
}
