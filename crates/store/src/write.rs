//! What callers ask the writer to do, and what can come of it.

use std::sync::Arc;

use crate::disk::DiskError;
use crate::name::{Collection, Key, SEPARATOR};
use crate::object::{Body, Object};

/// How many bytes a name or a body may have: their lengths are stored in four bytes, and the digits of the
/// revision come on top.
const LARGEST: usize = u32::MAX as usize - 20;

/// One compare-and-swap on one object.
pub struct Write {
    pub collection: Collection,
    pub key: Key,
    pub change: Change,
}

pub enum Change {
    Put {
        expect: Expect,
        body: Body,
    },
    /// Without an expected revision, whatever is there is deleted.
    Delete {
        expect: Option<u64>,
    },
    /// The object is replaced a last time and deleted, which are two changes to those who watch and
    /// one to those who write.
    Retire {
        expect: u64,
        last: Body,
    },
}

/// What must be stored for a put to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Absent,
    Revision(u64),
}

/// The state that was stored; for a delete the last state, with the delete's revision.
pub type WriteResult = Result<Arc<Object>, WriteError>;

#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    #[error("`{}` already exists", current.key())]
    AlreadyExists { current: Arc<Object> },
    #[error("not found")]
    NotFound,
    #[error("`{}` is at revision {}, not the one expected", current.key(), current.revision())]
    Conflict { current: Arc<Object> },
    #[error("{0}")]
    Malformed(&'static str),
    #[error("the store is closed")]
    Closed,
    /// Nothing changed for readers. Should the process end before the next successful write, the
    /// change may turn out to have reached the file.
    #[error("the change could not be made durable")]
    Disk(#[source] Arc<DiskError>),
}

impl Write {
    pub fn create(collection: &Collection, key: Key, body: Body) -> Self {
        Self::put(collection, key, Expect::Absent, body)
    }

    pub fn update(collection: &Collection, key: Key, expected: u64, body: Body) -> Self {
        Self::put(collection, key, Expect::Revision(expected), body)
    }

    pub fn put(collection: &Collection, key: Key, expect: Expect, body: Body) -> Self {
        Self {
            collection: collection.clone(),
            key,
            change: Change::Put { expect, body },
        }
    }

    pub fn delete(collection: &Collection, key: Key, expect: Option<u64>) -> Self {
        Self {
            collection: collection.clone(),
            key,
            change: Change::Delete { expect },
        }
    }

    pub fn retire(collection: &Collection, key: Key, expect: u64, last: Body) -> Self {
        Self {
            collection: collection.clone(),
            key,
            change: Change::Retire { expect, last },
        }
    }

    /// Whether the write could be stored and read back under its name.
    pub(crate) fn check_form(&self) -> Result<(), WriteError> {
        let separators = self.key.joined().matches(SEPARATOR).count();
        if separators != 1 || self.collection.as_str().contains(SEPARATOR) {
            return Err(WriteError::Malformed("a name contains a NUL character"));
        }
        let body = match &self.change {
            Change::Put { body, .. } | Change::Retire { last: body, .. } => body,
            Change::Delete { .. } => return Ok(()),
        };
        if !body.is_well_formed() {
            return Err(WriteError::Malformed("the body has no place for its revision"));
        }
        let name = self.collection.as_str().len() + self.key.joined().len();
        if name.max(body.json.len()) > LARGEST {
            return Err(WriteError::Malformed("the object is too large"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_whose_length_the_file_cannot_express_is_refused() {
        let with_length = |length| {
            let mut json = vec![0; length];
            json[..2].copy_from_slice(b"\"\"");
            let body = Body::new(json, 1);
            Write::create(&Collection::new("", "pods"), Key::new("a", "b"), body).check_form()
        };
        assert!(with_length(LARGEST).is_ok());
        assert!(matches!(with_length(LARGEST + 1), Err(WriteError::Malformed(_))));
    }
}
