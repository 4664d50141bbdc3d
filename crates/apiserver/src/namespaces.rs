//! What makes a namespace different from other objects: it is held by `spec.finalizers` until it is
//! empty.

use serde_json::{Value, json};

use crate::kind::Kind;

/// Whether a namespace still has content to lose.
pub(crate) fn awaits_finalizers(kind: &Kind, object: &Value) -> bool {
    kind.is("", "Namespace") && !kinds::read::list(kinds::read::get(object, "spec"), "finalizers").is_empty()
}

/// A namespace under deletion says so in its phase.
pub(crate) fn mark_terminating(kind: &Kind, object: &mut Value) {
    if kind.is("", "Namespace") {
        match object.get_mut("status").and_then(Value::as_object_mut) {
            Some(status) => {
                status.insert("phase".to_owned(), "Terminating".into());
            }
            None => object["status"] = json!({ "phase": "Terminating" }),
        }
    }
}
