//! The name of an object within its kind.

use std::{fmt, sync::Arc};

use crate::Cached;

/// Namespace and name; the namespace is empty for what belongs to the whole cluster.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl Key {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    pub fn of(object: &impl Cached) -> Self {
        Self::new(object.namespace(), object.name())
    }

    /// The object that controls this one, if it is of the kind.
    pub fn of_controller(object: &impl Cached, kind: &str) -> Option<Self> {
        let owner = object.controller()?;
        (owner.kind == kind).then(|| Self::new(object.namespace(), owner.name))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            formatter.write_str(&self.name)
        } else {
            write!(formatter, "{}/{}", self.namespace, self.name)
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
