//! How one change is laid out in a commit.
//!
//! A mark, the lengths of key and JSON, the revision, the offset of its digits in the JSON, a checksum
//! over that and the key, one over the JSON, and then the key (`collection NUL namespace NUL name`) and
//! the JSON. Whose record it is can so be trusted although its JSON is damaged.
//! A removal has no JSON.

use std::sync::Arc;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::Change;
use super::bytes::take;
use crate::name::{Collection, Key, SEPARATOR};
use crate::object::Object;

const PUT: u8 = 1;
const REMOVE: u8 = 2;
const HEAD: usize = 1 + 4 + 4 + 8 + 4 + 8 + 8;

/// A change as it stands in the file.
pub(super) struct Record<'a> {
    pub(super) key: &'a str,
    /// `None` when the JSON is not what was written.
    pub(super) content: Option<Content>,
}

pub(super) enum Content {
    Put(Object),
    Remove,
}

/// Appends a change to a commit.
pub(super) fn append(change: &Change, out: &mut Vec<u8>) {
    if let Some(object) = change.event.survivor() {
        append_put(&change.collection, object, out);
    } else {
        let key = joined(&change.collection, change.event.key());
        append_parts(REMOVE, &key, 0, 0, &[], out);
    }
}

pub(super) fn append_put(collection: &Collection, object: &Object, out: &mut Vec<u8>) {
    let key = joined(collection, object.key());
    append_parts(
        PUT,
        &key,
        object.revision(),
        object.revision_at(),
        object.json(),
        out,
    );
}

/// How much room an object takes in the file, if there is one.
pub(super) fn put_len(collection: &Collection, object: Option<&Arc<Object>>) -> u64 {
    object.map_or(0, |object| {
        let key = collection.as_str().len() + 1 + object.key().joined().len();
        (HEAD + key + object.json().len()) as u64
    })
}

fn append_parts(mark: u8, key: &str, revision: u64, revision_at: u32, json: &[u8], out: &mut Vec<u8>) {
    out.push(mark);
    out.extend((key.len() as u32).to_le_bytes());
    out.extend((json.len() as u32).to_le_bytes());
    out.extend(revision.to_le_bytes());
    out.extend(revision_at.to_le_bytes());
    let head = head_checksum(mark, key, json.len(), revision, revision_at);
    out.extend(head.to_le_bytes());
    out.extend(xxh3_64_with_seed(json, head).to_le_bytes());
    out.extend(key.as_bytes());
    out.extend(json);
}

/// Takes the next record off a commit; `None` where the bytes cannot be told apart.
pub(super) fn next<'a>(bytes: &mut &'a [u8]) -> Option<Record<'a>> {
    let [mark] = take(bytes)?;
    let key_len = u32::from_le_bytes(take(bytes)?) as usize;
    let json_len = u32::from_le_bytes(take(bytes)?) as usize;
    let revision = u64::from_le_bytes(take(bytes)?);
    let revision_at = u32::from_le_bytes(take(bytes)?);
    let head = u64::from_le_bytes(take(bytes)?);
    let sum = u64::from_le_bytes(take(bytes)?);
    let (key, rest) = bytes.split_at_checked(key_len)?;
    let (json, rest) = rest.split_at_checked(json_len)?;
    *bytes = rest;
    let key = std::str::from_utf8(key).ok()?;
    if head != head_checksum(mark, key, json_len, revision, revision_at) {
        return None;
    }
    let (_, name) = split_key(key)?;
    let content = match mark {
        _ if sum != xxh3_64_with_seed(json, head) => None,
        PUT => Object::loaded(Key::from_joined(name), revision, revision_at, json).map(Content::Put),
        REMOVE => Some(Content::Remove),
        _ => None,
    };
    Some(Record { key, content })
}

fn joined(collection: &Collection, key: &Key) -> String {
    format!("{collection}{SEPARATOR}{}", key.joined())
}

/// Splits a key of the file into collection and name; `None` when it cannot have been made by [`joined`].
pub(super) fn split_key(key: &str) -> Option<(&str, &str)> {
    key.split_once(SEPARATOR)
        .filter(|(_, name)| name.matches(SEPARATOR).count() == 1)
}

/// A key of the file as people write it.
pub(super) fn readable(key: &str) -> String {
    key.replace(SEPARATOR, " ")
}

fn head_checksum(mark: u8, key: &str, json_len: usize, revision: u64, revision_at: u32) -> u64 {
    let mut parts = [0; 21];
    parts[0] = mark;
    parts[1..9].copy_from_slice(&(json_len as u64).to_le_bytes());
    parts[9..17].copy_from_slice(&revision.to_le_bytes());
    parts[17..].copy_from_slice(&revision_at.to_le_bytes());
    xxh3_64_with_seed(key.as_bytes(), xxh3_64(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Kind};
    use crate::object::Body;

    fn object(name: &str) -> Object {
        let body = Body::new(br#"{"metadata":{"resourceVersion":""},"a":1}"#.to_vec(), 32);
        Object::stamped(Key::new("default", name), body, 77)
    }

    fn record(kind: Kind, name: &str) -> Vec<u8> {
        let change = Change {
            collection: "/pods".into(),
            event: Arc::new(Event::new(kind, object(name), None)),
        };
        let mut bytes = Vec::new();
        append(&change, &mut bytes);
        bytes
    }

    #[test]
    fn a_change_reads_back_as_it_was_written() {
        let put = record(Kind::Added, "web");
        let length = put_len(&"/pods".into(), Some(&Arc::new(object("web"))));
        assert_eq!(put.len() as u64, length);
        let bytes = [put, record(Kind::Deleted, "old")].concat();
        let mut rest = bytes.as_slice();
        let put = next(&mut rest).unwrap();
        assert_eq!(split_key(put.key), Some(("/pods", "default\0web")));
        let Some(Content::Put(read)) = put.content else {
            panic!("not a put")
        };
        assert_eq!((read.revision(), read.json()), (77, object("web").json()));
        let removal = next(&mut rest).unwrap();
        assert_eq!(readable(removal.key), "/pods default old");
        assert!(matches!(removal.content, Some(Content::Remove)));
        assert!(rest.is_empty());
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed() {
        let bytes = record(Kind::Added, "web");
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let mut rest = damaged.as_slice();
            let read = next(&mut rest);
            assert!(
                read.is_none_or(|record| record.content.is_none()),
                "bit {bit} was not noticed"
            );
        }
    }
}
