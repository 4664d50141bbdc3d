//! Lease: who holds something, and until when.

use serde_json::Value;

use super::field::{Errors, Field};
use crate::{read, strategy::Strategy};

pub(crate) static STRATEGY: Strategy = Strategy {
    prepare_for_create: |lease| drop_election(lease, &Value::Null),
    prepare_for_update: drop_election,
    validate,
    validate_update: |lease, _, errors| validate(lease, errors),
    ..Strategy::NONE
};

/// Coordinated election is not enabled; leases that have its fields keep them.
fn drop_election(lease: &mut Value, old: &Value) {
    let Some(Value::Object(spec)) = lease.get_mut("spec") else {
        return;
    };
    for field in ["strategy", "preferredHolder"] {
        if read::at(old, &["spec", field]).is_null() {
            spec.remove(field);
        }
    }
}

fn validate(lease: &Value, errors: &mut Errors) {
    let root = Field::root(lease);
    let seconds = root.child("spec.leaseDurationSeconds");
    if seconds.int().is_some_and(|seconds| seconds <= 0) {
        seconds.invalid("must be greater than 0", errors);
    }
    root.child("spec.leaseTransitions").not_negative(errors);
}
