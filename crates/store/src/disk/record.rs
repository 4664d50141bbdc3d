//! How an object is laid out in the file.
//!
//! Key: `collection NUL namespace NUL name`. Value: a format byte, the revision, the offset of its
//! digits in the JSON, a checksum over all of that and the key, and the JSON.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::name::{Collection, Key, SEPARATOR};
use crate::object::Object;

const FORMAT: u8 = 1;
const HEADER: usize = 1 + 8 + 4 + 8;

/// The key of an object in the file.
pub(super) fn key(collection: &Collection, key: &Key) -> String {
    format!("{collection}{SEPARATOR}{}", key.joined())
}

/// Splits a key of the file; `None` when it cannot have been made by [`key`].
pub(super) fn split_key(key: &str) -> Option<(&str, &str)> {
    key.split_once(SEPARATOR)
        .filter(|(_, joined)| joined.matches(SEPARATOR).count() == 1)
}

/// A key of the file as people write it.
pub(super) fn readable(key: &str) -> String {
    key.replace(SEPARATOR, " ")
}

pub(super) fn encoded_len(object: &Object) -> usize {
    HEADER + object.json().len()
}

/// Writes the value of an object into a buffer of exactly [`encoded_len`] bytes.
pub(super) fn encode(key: &str, object: &Object, value: &mut [u8]) {
    let sum = checksum(key, object.revision(), object.revision_at(), object.json());
    value[0] = FORMAT;
    value[1..9].copy_from_slice(&object.revision().to_le_bytes());
    value[9..13].copy_from_slice(&object.revision_at().to_le_bytes());
    value[13..HEADER].copy_from_slice(&sum.to_le_bytes());
    value[HEADER..].copy_from_slice(object.json());
}

/// Reads a value back; `None` when any part of it is not what was written.
pub(super) fn decode(key: &str, joined: &str, value: &[u8]) -> Option<Object> {
    let (format, value) = value.split_first()?;
    let (revision, value) = value.split_first_chunk()?;
    let (revision_at, value) = value.split_first_chunk()?;
    let (sum, json) = value.split_first_chunk()?;
    let (revision, revision_at) = (u64::from_le_bytes(*revision), u32::from_le_bytes(*revision_at));
    if *format != FORMAT || u64::from_le_bytes(*sum) != checksum(key, revision, revision_at, json) {
        return None;
    }
    Object::loaded(Key::from_joined(joined), revision, revision_at, json)
}

fn checksum(key: &str, revision: u64, revision_at: u32, json: &[u8]) -> u64 {
    let seed = xxh3_64_with_seed(key.as_bytes(), revision) ^ u64::from(revision_at);
    xxh3_64_with_seed(json, seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Body;

    fn sample() -> (String, Object, Vec<u8>) {
        let body = Body::new(br#"{"metadata":{"resourceVersion":""},"a":1}"#.to_vec(), 32);
        let object = Object::stamped(Key::new("default", "web"), body, 77);
        let key = key(&"/pods".into(), object.key());
        let mut value = vec![0; encoded_len(&object)];
        encode(&key, &object, &mut value);
        (key, object, value)
    }

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        let (key, object, value) = sample();
        let (collection, joined) = split_key(&key).unwrap();
        assert_eq!(collection, "/pods");
        let read = decode(&key, joined, &value).unwrap();
        assert_eq!(
            (read.key(), read.revision(), read.json()),
            (object.key(), 77, object.json())
        );
    }

    #[test]
    fn every_single_bit_of_a_record_matters() {
        let (key, object, value) = sample();
        for bit in 0..value.len() * 8 {
            let mut broken = value.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert!(
                decode(&key, object.key().joined(), &broken).is_none(),
                "bit {bit}"
            );
        }
        for len in 0..value.len() {
            assert!(
                decode(&key, object.key().joined(), &value[..len]).is_none(),
                "length {len}"
            );
        }
    }

    #[test]
    fn a_record_under_another_key_is_not_accepted() {
        let (_, object, value) = sample();
        let other = key(&"/secrets".into(), object.key());
        assert!(decode(&other, object.key().joined(), &value).is_none());
    }

    #[test]
    fn foreign_keys_are_recognised() {
        for foreign in ["", "pods", "pods\0web", "pods\0default\0web\0extra"] {
            assert!(split_key(foreign).is_none(), "{foreign:?}");
        }
    }
}
