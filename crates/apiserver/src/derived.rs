//! What is read out of a stored object once and kept with it as long as that state of it lives.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use serde_json::Value;
use store::Object;

use crate::{kind::Kind, selection::Facts};

/// Everything that may be kept with one object, each part from its first use on.
#[derive(Default)]
pub(crate) struct Derived {
    facts: OnceLock<Facts>,
    value: OnceLock<Value>,
}

impl Derived {
    pub(crate) fn of(stored: &Object) -> Arc<Self> {
        stored.memo(|_| Self::default())
    }

    /// What selectors look at.
    pub(crate) fn facts(&self, kind: &Kind, stored: &Object) -> &Facts {
        self.facts.get_or_init(|| Facts::read(kind, stored))
    }
}

/// The value of an object that other requests ask about again and again: a service account, a
/// priority class. A value is several times as large as its bytes, so this is not for the many
/// objects that are asked about only for themselves.
pub(crate) fn parsed(stored: &Object) -> Parsed {
    let derived = Derived::of(stored);
    derived
        .value
        .get_or_init(|| serde_json::from_slice(stored.json()).unwrap_or_default());
    Parsed(derived)
}

/// A value that is kept with its object.
pub(crate) struct Parsed(Arc<Derived>);

impl Deref for Parsed {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.0.value.get().unwrap_or(&Value::Null)
    }
}
