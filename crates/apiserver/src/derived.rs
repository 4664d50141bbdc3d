//! What is read out of a stored object once and kept with it as long as that state of it lives.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use serde_json::Value;
use store::Object;

use crate::{error::Result, kind::Kind, object, selection::Facts};

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
    pub(crate) fn facts(&self, kind: &Kind, stored: &Object) -> Result<&Facts> {
        kept(&self.facts, || Facts::read(kind, stored))
    }
}

/// What a cell holds, made where it holds nothing yet.
fn kept<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(kept) = cell.get() {
        return Ok(kept);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}

/// The value of an object that other requests ask about again and again: a service account, a
/// priority class. A value is several times as large as its bytes, so this is not for the many
/// objects that are asked about only for themselves.
pub(crate) fn parsed(stored: &Object) -> Result<Parsed> {
    let derived = Derived::of(stored);
    kept(&derived.value, || object::parse(stored))?;
    Ok(Parsed(derived))
}

/// A value that is kept with its object.
pub(crate) struct Parsed(Arc<Derived>);

impl Deref for Parsed {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.0.value.get().unwrap_or(&Value::Null)
    }
}
