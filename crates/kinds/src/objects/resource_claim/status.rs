//! What the scheduler and drivers write into a claim: which devices it got, and who uses them.

use serde_json::Value;

use super::{Requests, validate_config};
use crate::{
    checks::same,
    names,
    objects::{
        conditions,
        csi::validate_driver_name,
        field::{Errors, Field, IMMUTABLE},
        node_selector,
        resource_slice::validate_pool_name,
    },
    read,
};

const MAX_USERS: usize = 256;
const MAX_RESULTS: usize = 32;
const MAX_CONFIGS: usize = 64;

pub(super) fn validate(claim: &Value, old: &Value, errors: &mut Errors) {
    let root = Field::root(claim);
    let (users, allocation) = (root.child("status.reservedFor"), root.child("status.allocation"));
    for user in users.items() {
        for field in ["resource", "name", "uid"] {
            user.child(field).require(errors);
        }
    }
    users.at_most(MAX_USERS, errors);
    users.unique_by("uid", errors);
    for device in root.child("status.devices").items() {
        validate_device(&device, allocation.value, errors);
    }
    if !users.is_empty() && !allocation.is_set() {
        users.forbidden("may not be specified when `allocated` is not set", errors);
    }
    let before = read::list(read::get(old, "status"), "reservedFor");
    let deleting = !read::at(claim, &["metadata", "deletionTimestamp"]).is_null();
    if deleting && allocation.is_set() && users.list().iter().any(|user| !before.contains(user)) {
        users.forbidden(
            "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
            errors,
        );
    }
    let old_allocation = read::at(old, &["status", "allocation"]);
    if allocation.is_set() && !old_allocation.is_null() {
        if !same(allocation.value, old_allocation) {
            allocation.invalid_shown("AllocationResult", IMMUTABLE, errors);
        }
    } else if allocation.is_set() {
        validate_allocation(
            &allocation,
            &Requests::of(read::at(claim, &["spec", "devices"])),
            errors,
        );
    }
}

fn validate_allocation(allocation: &Field<'_>, requests: &Requests<'_>, errors: &mut Errors) {
    let results = allocation.child("devices.results");
    for result in results.items() {
        requests.validate_reference(&result.child("request"), errors);
        validate_identity(&result, errors);
    }
    results.at_most(MAX_RESULTS, errors);
    let configs = allocation.child("devices.config");
    for config in configs.items() {
        config
            .child("source")
            .require_one_of(&["FromClaim", "FromClass"], errors);
        requests.validate_references(&config.child("requests"), errors);
        validate_config(&config, errors);
    }
    configs.at_most(MAX_CONFIGS, errors);
    let selector = allocation.child("nodeSelector");
    if selector.is_set() {
        node_selector::validate(&selector, errors);
    }
}

fn validate_identity(device: &Field<'_>, errors: &mut Errors) {
    validate_driver_name(&device.child("driver"), errors);
    validate_pool_name(&device.child("pool"), errors);
    device.child("device").syntax(names::dns_label, errors);
}

fn validate_device(device: &Field<'_>, allocation: &Value, errors: &mut Errors) {
    validate_identity(device, errors);
    let identity =
        |device: &Value| ["driver", "pool", "device"].map(|field| read::text(device, field).to_owned());
    let results = read::list(read::get(allocation, "devices"), "results");
    let own = identity(device.value);
    if !results.iter().any(|result| identity(result) == own) {
        device.invalid_as(own.join("/"), "must be an allocated device in the claim", errors);
    }
    conditions::validate(&device.child("conditions"), errors);
}
