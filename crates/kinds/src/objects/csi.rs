//! CSIDriver, CSINode and CSIStorageCapacity: the drivers that make and attach volumes, where they
//! run and how much they can still make.

use serde_json::{Value, json};

use super::{
    deprecated_labels,
    field::{Errors, Field, IMMUTABLE},
};
use crate::{
    checks::same, internal_form, label_selector, names, read, resource_list::amount_of, strategy::Strategy,
};

const MAX_NODE_ID_LENGTH: usize = 256;
const MIN_TOKEN_SECONDS: i64 = 600;

pub(crate) static DRIVER: Strategy = Strategy {
    default: default_driver,
    prepare_for_create: |driver| drop_update_period(driver, &Value::Null),
    prepare_for_update: drop_update_period,
    validate: validate_driver,
    validate_update: |driver, old, errors| {
        validate_driver(driver, errors);
        let root = Field::root(driver);
        let spec = root.child("spec");
        let before = read::get(old, "spec");
        let attach = spec.child("attachRequired");
        Field::at(attach.value, &spec.path().child("attachedRequired"))
            .immutable(read::get(before, "attachRequired"), errors);
        spec.child("volumeLifecycleModes")
            .immutable(read::get(before, "volumeLifecycleModes"), errors);
    },
    ..Strategy::NONE
};

pub(crate) static NODE: Strategy = Strategy {
    validate: validate_node,
    validate_update: |node, old, errors| {
        validate_node(node, errors);
        validate_node_drivers(node, old, errors);
    },
    ..Strategy::NONE
};

pub(crate) static STORAGE_CAPACITY: Strategy = Strategy {
    validate: validate_capacity,
    validate_update: |capacity, old, errors| {
        validate_capacity(capacity, errors);
        let root = Field::root(capacity);
        for field in ["nodeTopology", "storageClassName"] {
            root.child(field).immutable(read::get(old, field), errors);
        }
    },
    warnings_on_create: capacity_warnings,
    warnings_on_update: |capacity, _| capacity_warnings(capacity),
    ..Strategy::NONE
};

fn default_driver(driver: &mut Value) {
    let spec = super::spec_mut(driver);
    read::default(spec, "attachRequired", true);
    for off in [
        "podInfoOnMount",
        "storageCapacity",
        "requiresRepublish",
        "seLinuxMount",
    ] {
        read::default(spec, off, false);
    }
    read::default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    if read::list(spec, "volumeLifecycleModes").is_empty() {
        spec["volumeLifecycleModes"] = json!(["Persistent"]);
    }
}

/// Changing counts of attachable volumes are not enabled.
fn drop_update_period(driver: &mut Value, old: &Value) {
    const FIELD: &str = "nodeAllocatableUpdatePeriodSeconds";
    if read::at(old, &["spec", FIELD]).is_null()
        && let Some(Value::Object(spec)) = driver.get_mut("spec")
    {
        spec.remove(FIELD);
    }
}

/// A driver's name: a subdomain in any case, short enough for a label.
pub(crate) fn validate_driver_name(name: &Field<'_>, errors: &mut Errors) {
    name.require(errors);
    if name.text().len() > 63 {
        name.too_long(63, errors);
    }
    for complaint in names::dns_subdomain(&name.text().to_lowercase()) {
        name.invalid_as(name.text(), complaint, errors);
    }
}

fn validate_driver(driver: &Value, errors: &mut Errors) {
    let root = Field::root(driver);
    let spec = root.child("spec");
    spec.child("fsGroupPolicy")
        .optional_one_of(&["File", "None", "ReadWriteOnceWithFSType"], errors);
    validate_token_requests(&spec.child("tokenRequests"), errors);
    let modes = spec.child("volumeLifecycleModes");
    for mode in modes.items() {
        if !["Persistent", "Ephemeral"].contains(&mode.text()) {
            modes.not_supported_as(mode.value, &["Persistent", "Ephemeral"], errors);
        }
    }
    let period = spec.child("nodeAllocatableUpdatePeriodSeconds");
    if period.int().is_some_and(|seconds| seconds < 10) {
        period.invalid("must be greater than or equal to 10 seconds", errors);
    }
}

fn validate_token_requests(requests: &Field<'_>, errors: &mut Errors) {
    let mut seen = std::collections::BTreeSet::new();
    for request in requests.items() {
        if !seen.insert(read::text(request.value, "audience")) {
            let audience = request.child("audience");
            audience.duplicate_as(audience.text(), errors);
            continue;
        }
        let seconds = request.child("expirationSeconds");
        match seconds.int() {
            Some(..MIN_TOKEN_SECONDS) => {
                seconds.invalid("may not specify a duration less than 10 minutes", errors);
            }
            Some(number) if number > 1 << 32 => {
                seconds.invalid("may not specify a duration larger than 2^32 seconds", errors);
            }
            _ => {}
        }
    }
}

fn validate_node(node: &Value, errors: &mut Errors) {
    let root = Field::root(node);
    let drivers = root.child("spec.drivers");
    for driver in drivers.items() {
        validate_driver_name(&driver.child("name"), errors);
        let id = driver.child("nodeID");
        id.require(errors);
        if id.text().len() > MAX_NODE_ID_LENGTH {
            id.invalid(format!("must be {MAX_NODE_ID_LENGTH} characters or less"), errors);
        }
        driver.child("allocatable.count").not_negative(errors);
        validate_topology_keys(&driver, errors);
    }
    drivers.unique_by("name", errors);
}

/// Complaints about a key name its driver.
fn validate_topology_keys(driver: &Field<'_>, errors: &mut Errors) {
    let mut seen = std::collections::BTreeSet::new();
    for key in read::list(driver.value, "topologyKeys")
        .iter()
        .filter_map(Value::as_str)
    {
        if key.is_empty() {
            driver.required(errors);
        }
        if !seen.insert(key) {
            driver.duplicate_as(key, errors);
        }
        for complaint in names::qualified_name(key) {
            driver.invalid_as(key, complaint, errors);
        }
    }
}

fn validate_node_drivers(node: &Value, old: &Value, errors: &mut Errors) {
    let root = Field::root(node);
    let drivers = root.child("spec.drivers");
    for driver in drivers.items() {
        let before = read::list(read::get(old, "spec"), "drivers")
            .iter()
            .find(|old| read::get(old, "name") == read::get(driver.value, "name"));
        if before.is_some_and(|before| !same(driver.value, before)) {
            errors.push(internal_form::invalid(
                &drivers.path(),
                driver.value,
                "CSINodeDriver",
                IMMUTABLE,
            ));
        }
    }
}

fn validate_capacity(capacity: &Value, errors: &mut Errors) {
    let root = Field::root(capacity);
    let topology = root.child("nodeTopology");
    label_selector::validate(topology.value, &topology.path(), errors);
    root.child("storageClassName")
        .syntax(names::dns_subdomain, errors);
    let amount = root.child("capacity");
    if amount_of(amount.value).is_negative() {
        amount.invalid("must be greater than or equal to 0", errors);
    }
}

fn capacity_warnings(capacity: &Value) -> Vec<String> {
    let root = Field::root(capacity);
    let mut warnings = deprecated_labels::warnings(&root.child("nodeTopology.matchExpressions"));
    for (label, _) in root.child("nodeTopology.matchLabels").entries() {
        if let Some(message) = deprecated_labels::message(label) {
            warnings.push(format!("nodeTopology.matchLabels.{label}: {message}"));
        }
    }
    warnings
}
