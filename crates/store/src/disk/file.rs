//! The engine's access to the file, with two things it leaves open settled.
//!
//! The engine flushes a commit in one phase: pages and the header that makes them current, in any
//! order, with one sync. Here the header goes last, so that a killed process leaves the old commit or
//! the new one and never half of it. And where the engine would silently give up the newest commit
//! for the one before it, that can be refused.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};
use xxhash_rust::xxh3::xxh3_128;

const FLAGS: usize = 9;
const CURRENT_SLOT: u8 = 1;
const SLOTS: usize = 64;
const SLOT_LEN: usize = 128;
const SLOT_SUMMED: usize = SLOT_LEN - 16;
const HEADER_LEN: usize = SLOTS + 2 * SLOT_LEN;

/// Notes that the newest commit was found incomplete, and that the file was left as it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusal(Arc<AtomicBool>);

impl Refusal {
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub(super) struct OrderedFile {
    file: FileBackend,
    /// The header that waits for the pages it speaks of.
    header: Mutex<Option<Vec<u8>>>,
    /// Given where an incomplete commit is to be refused.
    refusal: Option<Refusal>,
}

impl OrderedFile {
    pub(super) fn new(file: File, refusal: Option<Refusal>) -> Result<Self, DatabaseError> {
        let (file, header) = (FileBackend::new(file)?, Mutex::new(None));
        Ok(Self {
            file,
            header,
            refusal,
        })
    }

    fn refuse(&self) -> io::Result<()> {
        let Some(refusal) = &self.refusal else {
            return Ok(());
        };
        refusal.note();
        Err(io::Error::other("the current commit is damaged"))
    }

    /// A read sees the waiting header, as if it had been written.
    fn overlay(&self, offset: u64, out: &mut [u8]) {
        let waiting = self.header.lock();
        let written = waiting
            .as_deref()
            .and_then(|header| header.get(offset as usize..));
        for (byte, written) in out.iter_mut().zip(written.unwrap_or_default()) {
            *byte = *written;
        }
    }
}

/// Whether the slot that holds the current commit is intact. With any other the engine falls back.
fn current_slot_is_sound(header: &[u8]) -> bool {
    let slot = usize::from(header[FLAGS] & CURRENT_SLOT);
    let (summed, sum) = header[SLOTS + slot * SLOT_LEN..][..SLOT_LEN].split_at(SLOT_SUMMED);
    xxh3_128(summed).to_le_bytes() == *sum
}

type From = Bound<u64>;
type To = Bound<u64>;

impl StorageBackend for OrderedFile {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)?;
        self.overlay(offset, out);
        if offset == 0 && out.len() >= HEADER_LEN && !current_slot_is_sound(out) {
            self.refuse()?;
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset == 0 && data.len() == HEADER_LEN {
            *self.header.lock() = Some(data.to_vec());
            return Ok(());
        }
        self.file.write(offset, data)
    }

    fn sync_data(&self) -> io::Result<()> {
        if let Some(header) = self.header.lock().take() {
            self.file.write(0, &header)?;
        }
        self.file.sync_data()
    }

    /// A header still waiting belongs to a commit that failed, and goes with it.
    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn try_lock_range(&self, from: From, to: To) -> Result<bool, BackendError> {
        self.file.try_lock_range(from, to)
    }

    fn try_lock_shared_range(&self, from: From, to: To) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(from, to)
    }

    fn lock_range(&self, from: From, to: To) -> Result<(), BackendError> {
        self.file.lock_range(from, to)
    }

    fn lock_shared_range(&self, from: From, to: To) -> Result<(), BackendError> {
        self.file.lock_shared_range(from, to)
    }

    fn unlock_range(&self, from: From, to: To) -> Result<(), BackendError> {
        self.file.unlock_range(from, to)
    }

    fn query_lock_range(&self, from: From, to: To) -> Result<bool, BackendError> {
        self.file.query_lock_range(from, to)
    }
}
