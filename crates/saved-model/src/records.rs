//! Files of records, each with its length and checksums, in which TensorFlow keeps messages.

use bytes::{BufMut as _, Bytes, BytesMut};

use crate::bundle::masked;

/// Before a record: its length and the checksum of that.
const HEAD: usize = 12;
/// After it: its checksum.
const TAIL: usize = 4;

/// The file is cut off or was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {number} is cut off or does not match its checksum")]
pub struct DamagedRecord {
    /// Counted from 1.
    pub number: usize,
}

/// The records of a file, in their order.
pub fn records(file: &Bytes) -> Result<Vec<Bytes>, DamagedRecord> {
    let (mut records, mut place) = (Vec::new(), 0);
    while place < file.len() {
        let number = records.len() + 1;
        let record = record(file, place).ok_or(DamagedRecord { number })?;
        place += HEAD + record.len() + TAIL;
        records.push(record);
    }
    Ok(records)
}

fn record(file: &Bytes, place: usize) -> Option<Bytes> {
    let head: &[u8; HEAD] = file.get(place..)?.first_chunk()?;
    let (length, sum) = head.split_first_chunk::<8>()?;
    if masked(crc32c::crc32c(length)).to_le_bytes() != sum {
        return None;
    }
    let start = place + HEAD;
    let end = start.checked_add(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let sum: &[u8; TAIL] = file.get(end..)?.first_chunk()?;
    let content = file.slice(start..end);
    (masked(crc32c::crc32c(&content)).to_le_bytes() == *sum).then_some(content)
}

/// A record as it is written.
pub fn written(content: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(HEAD + content.len() + TAIL);
    let length = (content.len() as u64).to_le_bytes();
    bytes.put_slice(&length);
    bytes.put_u32_le(masked(crc32c::crc32c(&length)));
    bytes.put_slice(content);
    bytes.put_u32_le(masked(crc32c::crc32c(content)));
    bytes.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let file = Bytes::from([written(b"plum"), written(b""), written(b"kiwi")].concat());
        assert_eq!(records(&file).unwrap(), [&b"plum"[..], b"", b"kiwi"]);
        assert!(records(&Bytes::new()).unwrap().is_empty());
    }

    /// As TensorFlow's own writer writes them.
    #[test]
    fn a_record_is_laid_out_as_tensorflow_does() {
        assert_eq!(written(b"").len(), 16);
        assert_eq!(written(b"plum")[..8], 4_u64.to_le_bytes());
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_found() {
        let file = Bytes::from([written(b"plum"), written(b"kiwi")].concat());
        let first = written(b"plum").len();
        for cut in (1..file.len()).filter(|cut| *cut != first) {
            assert!(records(&file.slice(..cut)).is_err(), "{cut}");
        }
        for place in 0..file.len() {
            let mut changed = file.to_vec();
            changed[place] ^= 0x10;
            assert!(records(&changed.into()).is_err(), "{place}");
        }
    }
}
