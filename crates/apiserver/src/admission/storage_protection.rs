//! New claims and volumes get the finalizer that keeps them while something uses them.

use kinds::objects::storage_protection;
use serde_json::Value;

use crate::{call::Call, object};

pub(crate) fn admit(call: &Call, object: &mut Value) {
    if let Some(protection) = storage_protection::of(&call.kind.group, &call.kind.plural) {
        object::add_finalizer(object, protection.finalizer);
    }
}
