//! Who owns which field: the bridge between writes and the managedFields rules of `manifests::apply`.

use manifests::apply::{self, Write};
use serde_json::Value;

use crate::{
    admission::Operation,
    error::{ApiError, Result},
    kind::Definition,
    object,
    writes::{Writer, timestamp},
};

/// Whether the change recorded its own ownership (server-side apply does).
pub fn already_recorded(operation: Operation) -> bool {
    operation == Operation::Apply
}
