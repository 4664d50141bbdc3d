//! Names of resources (`cpu`, `requests.storage`, `example.com/gpu`) and the amounts that fit them.

use crate::{
    checks::NOT_NEGATIVE,
    field::{Errors, Field},
    names,
    quantity::Quantity,
    resource_list::amount_of,
};

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

const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

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

/// A resource of any kind.
pub(crate) fn standard(name: &str) -> Vec<String> {
    let mut complaints = names::qualified_name(name);
    if complaints.is_empty() && !name.contains('/') && !is_standard(name) {
        complaints.push("must be a standard resource type or fully qualified".to_owned());
    }
    complaints
}

/// A resource that containers use.
pub(crate) fn of_containers(name: &str) -> Vec<String> {
    let mut complaints = standard(name);
    if !name.contains('/') {
        if !OF_CONTAINERS.contains(&name) && !is_huge_pages(name) {
            complaints.push("must be a standard resource for containers".to_owned());
        }
    } else if !is_native(name) && !is_extended(name) {
        complaints.push("doesn't follow extended resource name standard".to_owned());
    }
    complaints
}

/// A resource that quotas count.
pub(crate) fn of_quotas(name: &str) -> Vec<String> {
    let mut complaints = standard(name);
    if !name.contains('/') && !is_quota_name(name) {
        complaints.push("must be a standard resource for quota".to_owned());
    }
    complaints
}

/// An amount from zero up, whole where the resource comes in pieces.
pub(crate) fn validate_amount(name: &str, entry: &Field<'_>, errors: &mut Errors) {
    let amount = amount_of(entry.value);
    if amount.is_negative() {
        entry.invalid_as(amount.to_string(), NOT_NEGATIVE, errors);
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
    let amount = amount_of(entry.value);
    let fine = !amount.is_negative() && !amount.is_zero();
    if !fine {
        entry.invalid_as(amount.to_string(), "must be greater than zero", errors);
    }
    fine
}
