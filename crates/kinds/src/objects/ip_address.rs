//! IPAddress and ServiceCIDR: the addresses services have, and the networks they come from.

use manifests::field::Path;
use serde_json::{Value, json};

use super::field::{Errors, Field, IMMUTABLE};
use crate::{
    addresses::{self, Cidr},
    checks::same,
    names, read,
    strategy::Strategy,
};

/// The name of the network that is there from the start.
pub const DEFAULT_NETWORK: &str = "kubernetes";

pub(crate) static IP_ADDRESS: Strategy = Strategy {
    validate,
    validate_update: |address, old, errors| {
        validate(address, errors);
        let root = Field::root(address);
        let parent = root.child("spec.parentRef");
        if !same(parent.value, read::at(old, &["spec", "parentRef"])) {
            parent.invalid_shown("ParentReference", IMMUTABLE, errors);
        }
    },
    name_syntax: canonical_address,
    ..Strategy::NONE
};

pub(crate) static SERVICE_CIDR: Strategy = Strategy {
    prepare_for_create: |cidr| cidr["status"] = json!({}),
    validate: |cidr, errors| validate_networks(&Field::root(cidr).child("spec.cidrs"), errors),
    validate_update: validate_network_changes,
    prepare_for_status_update: super::keep_spec,
    ..Strategy::NONE
};

const FAMILY: &str = "ipaddress.kubernetes.io/ip-family";
const MANAGED_BY: &str = "ipaddress.kubernetes.io/managed-by";
const ALLOCATOR: &str = "ipallocator.k8s.io";

/// The object that shows whose a cluster address is.
pub fn of_service(address: &str, namespace: &str, name: &str) -> Value {
    let family = if address.contains(':') { "IPv6" } else { "IPv4" };
    json!({
        "metadata": { "name": address, "labels": { FAMILY: family, MANAGED_BY: ALLOCATOR } },
        "spec": { "parentRef": { "resource": "services", "namespace": namespace, "name": name } },
    })
}

/// Whether the server made the object for a Service. Others keep an address from being given out.
pub fn is_managed(address: &Value) -> bool {
    read::at(address, &["metadata", "labels", MANAGED_BY]) == ALLOCATOR
}

/// Says that the network all Services are in is ready to give addresses.
pub fn stamp_default_network(network: &mut Value, now: &str) {
    if read::at(network, &["metadata", "name"]) == DEFAULT_NETWORK {
        network["status"] = json!({ "conditions": [{
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        }] });
    }
}

/// The name of an IPAddress is the address.
fn canonical_address(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    addresses::validate_canonical(name, &Path::root(), &mut errors);
    errors.into_iter().map(|error| error.detail).collect()
}

fn validate(address: &Value, errors: &mut Errors) {
    let root = Field::root(address);
    let parent = root.child("spec.parentRef");
    if !parent.is_set() {
        parent.required(errors);
        return;
    }
    parent
        .child("group")
        .optional_syntax(names::dns_subdomain, errors);
    parent
        .child("resource")
        .require_syntax(names::path_segment, errors);
    parent.child("name").require_syntax(names::path_segment, errors);
    parent
        .child("namespace")
        .optional_syntax(names::path_segment, errors);
}

fn validate_networks(networks: &Field<'_>, errors: &mut Errors) {
    match networks.list().len() {
        0 => networks.required_because("at least one CIDR required", errors),
        1 | 2 => {
            for network in networks.items() {
                addresses::validate_canonical_cidr(network.text(), &network.path(), errors);
            }
            let families: Vec<bool> = networks
                .items()
                .filter_map(|network| Cidr::parse(network.text()))
                .map(|cidr| cidr.address.is_ipv4())
                .collect();
            if matches!(families.as_slice(), [first, second] if first == second) {
                networks.invalid(
                    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
                    errors,
                );
            }
        }
        _ => {
            let spec = json!({"cidrs": networks.value});
            Field::at(&spec, &networks.path()).invalid_shown(
                "ServiceCIDRSpec",
                "may only hold up to 2 values",
                errors,
            );
        }
    }
}

/// A second network may be added; everything else stays.
fn validate_network_changes(cidr: &Value, old: &Value, errors: &mut Errors) {
    let root = Field::root(cidr);
    let networks = root.child("spec.cidrs");
    let before = read::list(read::get(old, "spec"), "cidrs");
    let changed = |errors: &mut Errors| {
        for (network, old) in networks.items().zip(before) {
            if network.value != old {
                network.invalid(IMMUTABLE, errors);
            }
        }
    };
    match (before.len(), networks.list().len()) {
        (old, new) if old == new => changed(errors),
        (1, 2) => {
            changed(errors);
            validate_networks(&networks, errors);
        }
        _ => networks.invalid(IMMUTABLE, errors),
    }
}
