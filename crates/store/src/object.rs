//! One stored object at one revision, and the body a caller hands in to become one.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::name::Key;

/// What a caller derived from an object's JSON (parsed labels, say) and wants to find again with it.
pub type Memo = Arc<dyn Any + Send + Sync>;

/// JSON that has everything but its revision.
///
/// The caller serialises `"resourceVersion":""`; `revision_at` is the offset between the two
/// quotes, where the writer puts the digits.
pub struct Body {
    pub json: Vec<u8>,
    pub revision_at: usize,
    /// Handed on to the stored object; see [`Object::memo`].
    pub memo: Option<Memo>,
}

impl Body {
    pub fn new(json: Vec<u8>, revision_at: usize) -> Self {
        Self {
            json,
            revision_at,
            memo: None,
        }
    }

    /// Saves readers of the stored object from deriving what the caller already knows.
    #[must_use]
    pub fn with_memo<T: Any + Send + Sync>(mut self, memo: Arc<T>) -> Self {
        self.memo = Some(memo);
        self
    }

    pub(crate) fn is_well_formed(&self) -> bool {
        let at = self.revision_at;
        at > 0 && u32::try_from(at).is_ok() && self.json.get(at - 1..=at) == Some(b"\"\"")
    }
}

/// One object at one revision, immutable, and shared by everyone who reads it.
pub struct Object {
    key: Key,
    revision: u64,
    revision_at: u32,
    json: Bytes,
    memo: OnceLock<Memo>,
}

impl Object {
    /// The body as it is stored: with the revision written into it.
    pub(crate) fn stamped(key: Key, body: Body, revision: u64) -> Self {
        let json = splice(&body.json, body.revision_at..body.revision_at, revision);
        let memo = body.memo.map_or_else(OnceLock::new, OnceLock::from);
        Self {
            key,
            revision,
            revision_at: body.revision_at as u32,
            json,
            memo,
        }
    }

    /// The same object with another revision: what a watcher sees of a delete.
    pub(crate) fn restamped(&self, revision: u64) -> Self {
        let start = self.revision_at as usize;
        let digits = start..start + self.revision.to_string().len();
        Self {
            key: self.key.clone(),
            revision,
            revision_at: self.revision_at,
            json: splice(&self.json, digits, revision),
            memo: self.memo.clone(),
        }
    }

    /// The same state in another form: what a caller shows of an object, but does not store.
    #[must_use]
    pub fn reshaped(&self, body: Body) -> Self {
        Self::stamped(self.key.clone(), body, self.revision)
    }

    /// An object as read from the file, or `None` where its JSON does not carry its revision.
    pub(crate) fn loaded(key: Key, revision: u64, revision_at: u32, json: &[u8]) -> Option<Self> {
        let digits = json
            .get(revision_at as usize..)?
            .strip_prefix(revision.to_string().as_bytes())?;
        digits.starts_with(b"\"").then(|| Self {
            key,
            revision,
            revision_at,
            json: Bytes::copy_from_slice(json),
            memo: OnceLock::new(),
        })
    }

    pub fn key(&self) -> &Key {
        &self.key
    }

    pub fn namespace(&self) -> &str {
        self.key.namespace()
    }

    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// The revision of the write that made this state.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn revision_at(&self) -> u32 {
        self.revision_at
    }

    /// The whole object, its `resourceVersion` included.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// What the caller derives from this object, computed once and kept as long as the object.
    ///
    /// One type per process is meant: another type than the first is computed on every call.
    pub fn memo<T: Any + Send + Sync>(&self, derive: impl Fn(&Self) -> T) -> Arc<T> {
        let kept = self.memo.get_or_init(|| Arc::new(derive(self)));
        Arc::clone(kept)
            .downcast()
            .unwrap_or_else(|_| Arc::new(derive(self)))
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Object({} at {}, {} bytes)",
            self.key,
            self.revision,
            self.json.len()
        )
    }
}

/// `json` with the revision's digits in place of `range`, in a buffer without spare room.
fn splice(json: &[u8], range: std::ops::Range<usize>, revision: u64) -> Bytes {
    let digits = revision.to_string();
    let mut stamped = Vec::with_capacity(json.len() - range.len() + digits.len());
    stamped.extend_from_slice(&json[..range.start]);
    stamped.extend_from_slice(digits.as_bytes());
    stamped.extend_from_slice(&json[range.end..]);
    Bytes::from(stamped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> Body {
        Body::new(br#"{"metadata":{"resourceVersion":""},"a":1}"#.to_vec(), 32)
    }

    #[test]
    fn the_revision_is_written_between_the_quotes() {
        let object = Object::stamped(Key::new("", "a"), body(), 99);
        assert_eq!(object.json(), r#"{"metadata":{"resourceVersion":"99"},"a":1}"#);
        let deleted = object.restamped(100);
        assert_eq!(deleted.json(), r#"{"metadata":{"resourceVersion":"100"},"a":1}"#);
        assert_eq!(deleted.revision(), 100);
    }

    #[test]
    fn a_body_must_have_its_offset_between_two_quotes() {
        assert!(body().is_well_formed());
        for wrong in [0, 31, 33, 4000, usize::MAX] {
            assert!(
                !Body {
                    revision_at: wrong,
                    ..body()
                }
                .is_well_formed(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_loaded_object_must_carry_its_own_revision() {
        let load = |revision, at| {
            Object::loaded(Key::new("", "a"), revision, at, br#"{"resourceVersion":"42"}"#).is_some()
        };
        assert!(load(42, 20));
        assert!(!load(4, 20) && !load(43, 20) && !load(42, 19) && !load(42, 9000));
    }

    #[test]
    fn a_memo_is_derived_once_and_survives_the_delete() {
        let object = Object::stamped(Key::new("", "a"), body().with_memo(Arc::new(7_u32)), 5);
        assert_eq!(*object.memo(|_| 0_u32), 7);
        assert_eq!(*object.restamped(6).memo(|_| 0_u32), 7);
        assert_eq!(*object.memo(|object| object.json().len()), object.json().len());
    }
}
