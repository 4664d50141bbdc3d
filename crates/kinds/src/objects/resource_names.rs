//! Names of resources (`cpu`, `requests.storage`, `example.com/gpu`) and the amounts that fit them.

use serde_json::Value;

use super::field::{Errors, Field};
use crate::{names, quantity::Quantity};

/// What only quotas count.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

const COMPUTE: [&str; 9] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

/// The amount in a field; a missing one is zero.
pub(crate) fn quantity(value: &Value) -> Quantity {
    match value {
        Value::String(text) => Quantity::parse(text).unwrap_or(Quantity::ZERO),
        Value::Number(number) => Quantity::parse(&number.to_string()).unwrap_or(Quantity::ZERO),
        _ => Quantity::ZERO,
    }
}

pub(crate) fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// A resource Kubernetes itself knows, as opposed to one that a vendor adds.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether requests may be lower than limits.
pub(crate) fn is_overcommit_allowed(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

pub(crate) fn is_quota_name(name: &str) -> bool {
    is_quota_huge_pages(name)
        || COMPUTE.contains(&name)
        || COUNTED.contains(&name)
        || name == "requests.storage"
}

fn is_quota_huge_pages(name: &str) -> bool {
    is_huge_pages(name) || name.starts_with("requests.hugepages-")
}

fn is_standard(name: &str) -> bool {
    is_quota_name(name) || name == "storage"
}

/// A resource name of any kind. Complaints name the entry.
pub(crate) fn validate(name: &str, entry: &Field<'_>, errors: &mut Errors) -> bool {
    let complaints = names::qualified_name(name);
    let fine = complaints.is_empty();
    for complaint in complaints {
        entry.invalid_as(name, complaint, errors);
    }
    if fine && !name.contains('/') && !is_standard(name) {
        entry.invalid_as(
            name,
            "must be a standard resource type or fully qualified",
            errors,
        );
        return false;
    }
    fine
}

/// A resource that containers use.
pub(crate) fn validate_container(name: &str, entry: &Field<'_>, errors: &mut Errors) {
    validate(name, entry, errors);
    if !name.contains('/') {
        if !["cpu", "memory", "ephemeral-storage"].contains(&name) && !is_huge_pages(name) {
            entry.invalid_as(name, "must be a standard resource for containers", errors);
        }
    } else if !is_native(name) && !is_extended(name) {
        entry.invalid_as(name, "doesn't follow extended resource name standard", errors);
    }
}

/// A resource that quotas count.
pub(crate) fn validate_quota(name: &str, entry: &Field<'_>, errors: &mut Errors) {
    validate(name, entry, errors);
    if !name.contains('/') && !is_quota_name(name) {
        entry.invalid_as(name, "must be a standard resource for quota", errors);
    }
}

/// An amount from zero up, whole where the resource comes in pieces.
pub(crate) fn validate_amount(name: &str, entry: &Field<'_>, errors: &mut Errors) {
    let amount = quantity(entry.value);
    if amount.is_negative() {
        entry.invalid_as(amount.to_string(), "must be greater than or equal to 0", errors);
    }
    if (COUNTED.contains(&name) || is_extended(name)) && !is_whole(&amount) {
        entry.invalid_as(amount.to_string(), "must be an integer", errors);
    }
}

/// Whole to a thousandth, which is as far as the API looks.
pub(crate) fn is_whole(amount: &Quantity) -> bool {
    amount.milli_value() % 1000 == 0
}

/// An amount above zero.
pub(crate) fn validate_positive(entry: &Field<'_>, errors: &mut Errors) -> bool {
    let amount = quantity(entry.value);
    let fine = !amount.is_negative() && !amount.is_zero();
    if !fine {
        entry.invalid_as(amount.to_string(), "must be greater than zero", errors);
    }
    fine
}
