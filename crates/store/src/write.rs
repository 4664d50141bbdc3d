//! What callers ask the writer to do, and what can come of it.

use std::sync::Arc;

use crate::disk::DiskError;
use crate::name::{Collection, Key, SEPARATOR};
use crate::object::{Body, Object};

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
        match &self.change {
            Change::Put { body, .. } | Change::Retire { last: body, .. } if !body.is_well_formed() => {
                Err(WriteError::Malformed("the body has no place for its revision"))
            }
            _ => Ok(()),
        }
    }
}
