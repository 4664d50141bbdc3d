//! Limit ranges: defaults for containers that ask for nothing, bounds for those that ask for too much.

use kinds::limit_range::{self, Target};
use serde_json::Value;
use store::Collection;

use super::Operation;
use crate::{
    call::Call,
    error::{ApiError, Result},
    object,
};

/// The limit ranges of the namespace, where the object can be limited at all.
fn ranges(call: &Call, operation: Operation, target: &Target<'_>) -> Vec<Value> {
    if operation == Operation::Delete || !target.is_limited() || call.key_namespace().is_empty() {
        return Vec::new();
    }
    let list = call
        .api
        .store
        .list(&Collection::new("", "limitranges"), call.namespace(), None, None);
    list.items
        .iter()
        .filter_map(|stored| object::readable(stored))
        .collect()
}

fn target<'a>(call: &'a Call, old: Option<&'a Value>) -> Target<'a> {
    Target {
        group: &call.kind.group,
        plural: &call.kind.plural,
        subresource: &call.target.subresource,
        old,
    }
}

pub(crate) fn admit(call: &Call, operation: Operation, object: &mut Value, old: Option<&Value>) {
    let target = target(call, old);
    let ranges = ranges(call, operation, &target);
    if !ranges.is_empty() {
        limit_range::admit(&ranges, &target, object);
        call.kind.complete(object);
    }
}

pub(crate) fn check(call: &Call, operation: Operation, object: &Value, old: Option<&Value>) -> Result<()> {
    let target = target(call, old);
    let ranges = ranges(call, operation, &target);
    limit_range::validate(&ranges, &target, object).map_err(|violation| {
        ApiError::forbidden(
            call.kind.qualified(),
            object::name(object),
            &violation.to_string(),
        )
    })
}
