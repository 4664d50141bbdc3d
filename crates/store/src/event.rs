//! One change of one object, as watchers see it.

use std::sync::Arc;

use crate::name::Key;
use crate::object::Object;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Added,
    Modified,
    Deleted,
}

/// A committed change. All watchers share one.
#[derive(Debug)]
pub struct Event {
    pub revision: u64,
    pub kind: Kind,
    /// The state after the change; for a delete the last state, with the delete's revision in it.
    pub object: Arc<Object>,
    /// The state before the change, absent for [`Kind::Added`].
    pub previous: Option<Arc<Object>>,
}

impl Event {
    pub(crate) fn new(kind: Kind, object: Object, previous: Option<Arc<Object>>) -> Self {
        Self {
            revision: object.revision(),
            kind,
            object: Arc::new(object),
            previous,
        }
    }

    /// The same change with its states in another form; see [`Object::reshaped`].
    #[must_use]
    pub fn reshaped(&self, object: Arc<Object>, previous: Option<Arc<Object>>) -> Self {
        Self {
            revision: self.revision,
            kind: self.kind,
            object,
            previous,
        }
    }

    pub fn key(&self) -> &Key {
        self.object.key()
    }

    /// The object this change leaves behind.
    pub(crate) fn survivor(&self) -> Option<&Arc<Object>> {
        (self.kind != Kind::Deleted).then_some(&self.object)
    }

    /// The memory that a watcher holds while it hands this event on: the states it is made from.
    pub(crate) fn size(&self) -> usize {
        let previous = self.previous.as_ref().map_or(0, |previous| previous.json().len());
        previous + self.object.json().len()
    }

    /// The memory that is held only because this event is remembered: the state it replaced, and for a
    /// delete the object itself.
    pub(crate) fn weight(&self) -> usize {
        const FIXED: usize = 256;
        let replaced = self.previous.as_ref().map_or(0, |previous| previous.json().len());
        let last = match self.kind {
            Kind::Deleted => self.object.json().len(),
            Kind::Added | Kind::Modified => 0,
        };
        FIXED + replaced + last
    }
}
