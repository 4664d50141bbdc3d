//! Approving certificate requests: only the conditions change, and each approver says so once.

use serde_json::Value;

use crate::{object, writes::update::Part};

pub(crate) const PART: Part = Part::Special("approval", prepare, |_, _, _| {});

fn prepare(new: &mut Value, old: &Value) {
    let conditions = new.pointer("/status/conditions").cloned();
    let managed = new.pointer("/metadata/managedFields").cloned();
    *new = old.clone();
    object::set_meta(new, "managedFields", managed);
    if let Some(conditions) = conditions {
        kinds::read::object_mut(new, "status").insert("conditions".to_owned(), conditions);
    }
}
