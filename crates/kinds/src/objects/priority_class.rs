//! PriorityClass: how important pods are. Its value never changes.

use serde_json::Value;

use super::field::{Errors, Field};
use crate::{checks::same, read, strategy::Strategy};

const HIGHEST_FOR_USERS: i64 = 1_000_000_000;
const SYSTEM: [(&str, i64); 2] = [
    ("system-node-critical", 2 * HIGHEST_FOR_USERS + 1000),
    ("system-cluster-critical", 2 * HIGHEST_FOR_USERS),
];

pub(crate) static STRATEGY: Strategy = Strategy {
    default: |class| read::default(class, "preemptionPolicy", "PreemptLowerPriority"),
    validate,
    validate_update: |class, old, errors| {
        let root = Field::root(class);
        let value = root.child("value");
        if !same(value.value, read::get(old, "value")) {
            value.forbidden("may not be changed in an update.", errors);
        }
        root.child("preemptionPolicy")
            .immutable(read::get(old, "preemptionPolicy"), errors);
    },
    ..Strategy::NONE
};

fn validate(class: &Value, errors: &mut Errors) {
    let root = Field::root(class);
    let name = root.child("metadata.name");
    let value = root.child("value").int().unwrap_or_default();
    if name.text().starts_with("system-") {
        if let Some(complaint) = system_complaint(name.text(), value, root.child("globalDefault").flag()) {
            name.forbidden(
                &format!("priority class names with 'system-' prefix are reserved for system use only. error: {complaint}"),
                errors,
            );
        }
    } else if value > HIGHEST_FOR_USERS {
        root.child("value").forbidden(
            &format!("maximum allowed value of a user defined priority is {HIGHEST_FOR_USERS}"),
            errors,
        );
    }
    let policy = root.child("preemptionPolicy");
    if policy.is_set() {
        policy.require_one_of(&["PreemptLowerPriority", "Never"], errors);
    }
}

fn system_complaint(name: &str, value: i64, global_default: bool) -> Option<String> {
    let Some((_, expected)) = SYSTEM.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if value != *expected {
        return Some(format!("value of {name} PriorityClass must be {expected}"));
    }
    global_default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}
