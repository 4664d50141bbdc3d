//! One commit in the file: its length, its revision, a checksum over everything, and its records.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::bytes::{take, take_u64};
use super::record::{self, Record};

const MARK: [u8; 8] = *b"commit\n\0";
pub(super) const HEAD: u64 = 8 + 8 + 8 + 8;

/// Makes a commit in a buffer: `fill` appends the records.
pub(super) fn build(revision: u64, buffer: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    buffer.clear();
    buffer.resize(HEAD as usize, 0);
    fill(buffer);
    let (head, records) = buffer.split_at_mut(HEAD as usize);
    let length = records.len() as u64;
    head[..8].copy_from_slice(&MARK);
    head[8..16].copy_from_slice(&length.to_le_bytes());
    head[16..24].copy_from_slice(&revision.to_le_bytes());
    head[24..].copy_from_slice(&checksum(revision, records).to_le_bytes());
}

/// A commit read from the file.
pub(super) struct Commit<'a> {
    /// Where the next one begins.
    pub(super) end: u64,
    pub(super) revision: u64,
    /// Whether it is what was once written, to the last bit.
    pub(super) sound: bool,
    records: &'a [u8],
}

impl<'a> Commit<'a> {
    /// Reads the commit at an offset into a buffer, as it stands there; `None` where there is none up to
    /// `limit`.
    pub(super) fn read(
        file: &File,
        at: u64,
        limit: u64,
        buffer: &'a mut Vec<u8>,
    ) -> io::Result<Option<Self>> {
        buffer.resize(HEAD as usize, 0);
        if limit.saturating_sub(at) < HEAD || !read_at(file, buffer, at)? {
            return Ok(None);
        }
        let Some((length, revision, sum)) = parse_head(buffer) else {
            return Ok(None);
        };
        if length > limit - at - HEAD {
            return Ok(None);
        }
        buffer.resize((HEAD + length) as usize, 0);
        let records = &mut buffer[HEAD as usize..];
        if !read_at(file, records, at + HEAD)? {
            return Ok(None);
        }
        Ok(Some(Self {
            end: at + HEAD + length,
            revision,
            sound: sum == checksum(revision, records),
            records,
        }))
    }

    /// Its records, as far as they can be told apart.
    pub(super) fn records(&self) -> Records<'a> {
        Records {
            rest: self.records,
            torn: false,
        }
    }
}

/// Hands out one record after the other.
pub(super) struct Records<'a> {
    rest: &'a [u8],
    torn: bool,
}

impl Records<'_> {
    /// Whether the last record that was asked for was no record.
    pub(super) fn is_torn(&self) -> bool {
        self.torn
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.torn {
            return None;
        }
        let record = record::next(&mut self.rest);
        self.torn = record.is_none();
        record
    }
}

fn parse_head(mut head: &[u8]) -> Option<(u64, u64, u64)> {
    let mark: [u8; 8] = take(&mut head)?;
    let parts = (take_u64(&mut head)?, take_u64(&mut head)?, take_u64(&mut head)?);
    (mark == MARK).then_some(parts)
}

fn checksum(revision: u64, records: &[u8]) -> u64 {
    xxh3_64_with_seed(records, revision)
}

/// Fills the buffer from an offset; false where the file ends before.
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<bool> {
    match file.read_exact_at(buffer, at) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
