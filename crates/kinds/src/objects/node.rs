//! Node: a machine. Its pod networks and its provider's id are set once.

use std::collections::BTreeSet;

use manifests::field::{FieldError, Path};
use serde_json::Value;

use super::{
    field::{Errors, Field},
    resource_names,
};
use crate::{
    addresses::{self, Cidr},
    internal_form, names, read,
    strategy::Strategy,
};

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    prepare_for_create: |node| {
        remove(node, "spec", "configSource");
        remove(node, "status", "config");
    },
    prepare_for_update: |node, old| {
        super::keep_status(node, old);
        if read::at(old, &["spec", "configSource"]).is_null() {
            remove(node, "spec", "configSource");
        }
    },
    validate,
    validate_update: |node, old, errors| {
        validate(node, errors);
        validate_changes(node, old, errors);
    },
    prepare_for_status_update: |node, old| {
        super::keep_spec(node, old);
        if read::at(old, &["status", "config"]).is_null() {
            remove(node, "status", "config");
        }
    },
    validate_status_update: |node, old, errors| {
        validate_resources(node, errors);
        validate_changes(node, old, errors);
        validate_taints(node, errors);
    },
    warnings_on_create: warnings,
    warnings_on_update: |node, _| warnings(node),
    ..Strategy::NONE
};

fn default(node: &mut Value) {
    // `podCIDR` is the first of `podCIDRs`; clients may set either.
    if let Some(spec) = node.get_mut("spec") {
        match (
            read::text(spec, "podCIDR").to_owned(),
            read::list(spec, "podCIDRs").first().cloned(),
        ) {
            (single, None) if !single.is_empty() => spec["podCIDRs"] = vec![Value::from(single)].into(),
            (single, Some(first)) if single.is_empty() => spec["podCIDR"] = first,
            _ => {}
        }
    }
    if let Some(status) = node.get_mut("status")
        && !read::has(status, "allocatable")
        && read::has(status, "capacity")
    {
        status["allocatable"] = read::get(status, "capacity").clone();
    }
}

fn remove(object: &mut Value, parent: &str, field: &str) {
    if let Some(Value::Object(parent)) = object.get_mut(parent) {
        parent.remove(field);
    }
}

fn validate(node: &Value, errors: &mut Errors) {
    validate_taints(node, errors);
    validate_resources(node, errors);
    let root = Field::root(node);
    let swap = root.child("status.nodeInfo.swap.capacity");
    if swap.is_set() {
        let path = Path::new("metadata").child("nodeSwapStatus").child("capacity");
        Field::at(swap.value, &path).positive(errors);
    }
    let networks = root.child("spec.podCIDRs");
    for network in networks.items() {
        addresses::validate_cidr(network.text(), &network.path(), errors);
    }
    let families: Vec<_> = networks
        .items()
        .filter_map(|network| Cidr::parse(network.text()))
        .map(|cidr| cidr.address.is_ipv4())
        .collect();
    if networks.list().len() > 1
        && families.as_slice() != [true, false]
        && families.as_slice() != [false, true]
    {
        networks.invalid("may specify no more than one CIDR for each IP family", errors);
    }
}

/// Errors name taints as if they stood in the metadata.
fn validate_taints(node: &Value, errors: &mut Errors) {
    let path = Path::new("metadata").child("taints");
    let taints = Field::at(read::at(node, &["spec", "taints"]), &path);
    let mut seen = BTreeSet::new();
    for taint in taints.items() {
        let (key, value, effect) = (taint.child("key"), taint.child("value"), taint.child("effect"));
        key.syntax(names::qualified_name, errors);
        let complaints = names::label_value(value.text());
        if !complaints.is_empty() {
            value.invalid(complaints.join(";"), errors);
        }
        effect.require_one_of(&EFFECTS, errors);
        if !seen.insert((read::text(taint.value, "key"), read::text(taint.value, "effect"))) {
            let error = FieldError::duplicate(&taint.path(), &Value::Null);
            let detail = "taints must be unique by key and effect pair".to_owned();
            errors.push(FieldError {
                value: internal_form::compact(taint.value, "Taint"),
                detail,
                ..error
            });
        }
    }
}

fn validate_resources(node: &Value, errors: &mut Errors) {
    for list in ["capacity", "allocatable"] {
        for (name, amount) in read::entries(read::get(node, "status"), list) {
            let path = Path::new("status").child(list).child(name);
            resource_names::validate_amount(name, &Field::at(amount, &path), errors);
        }
    }
}

fn validate_changes(node: &Value, old: &Value, errors: &mut Errors) {
    let root = Field::root(node);
    let mut seen = BTreeSet::new();
    for address in root.child("status.addresses").items() {
        if !seen.insert((
            read::text(address.value, "type"),
            read::text(address.value, "address"),
        )) {
            address.duplicate_shown("NodeAddress", errors);
        }
    }
    let before = read::get(old, "spec");
    let networks = root.child("spec.podCIDRs");
    let held = read::list(before, "podCIDRs");
    if !held.is_empty() && held != networks.list() {
        networks.forbidden(
            "node updates may not change podCIDR except from \"\" to valid",
            errors,
        );
    }
    let provider = root.child("spec.providerID");
    let held = read::text(before, "providerID");
    if !held.is_empty() && held != provider.text() {
        provider.forbidden(
            "node updates may not change providerID except from \"\" to valid",
            errors,
        );
    }
    let external = root.child("spec.externalID");
    if external.text() != read::text(before, "externalID") {
        external.forbidden("may not be updated", errors);
    }
}

fn warnings(node: &Value) -> Vec<String> {
    let root = Field::root(node);
    let mut warnings = Vec::new();
    if root.child("spec.configSource").is_set() {
        warnings.push("spec.configSource: the feature is removed".to_owned());
    }
    if !root.child("spec.externalID").is_empty() {
        warnings.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned());
    }
    for network in root.child("spec.podCIDRs").items() {
        warnings.extend(addresses::cidr_warnings(network.text(), &network.path()));
    }
    warnings
}
