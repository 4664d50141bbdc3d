//! EndpointSlice: a part of the addresses behind a Service.

use std::net::IpAddr;

use serde_json::Value;

use super::field::{Errors, Field};
use crate::{addresses, checks::same, names, read, strategy::Strategy};

const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20000;
const MAX_HINTS: usize = 8;
const CONTROLLERS: [&str; 2] = [
    "endpointslice-controller.k8s.io",
    "endpointslicemirroring-controller.k8s.io",
];

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    prepare_for_create: |slice| drop_topology(slice, &Value::Null),
    prepare_for_update: drop_topology,
    validate,
    validate_update: |slice, old, errors| {
        validate_head(slice, errors);
        // What was accepted before stays accepted.
        let mut found = Vec::new();
        validate_endpoints(slice, &mut found);
        if !found.is_empty() && !same(read::get(slice, "endpoints"), read::get(old, "endpoints")) {
            errors.append(&mut found);
        }
        Field::root(slice)
            .child("addressType")
            .immutable(read::get(old, "addressType"), errors);
    },
    warnings_on_create: |slice| {
        let mut warnings = Vec::new();
        if read::text(slice, "addressType") == "FQDN" {
            warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        warnings.extend(address_warnings(slice));
        warnings
    },
    warnings_on_update: |slice, _| address_warnings(slice),
    ..Strategy::NONE
};

fn default(slice: &mut Value) {
    for port in read::list_mut(slice, "ports") {
        read::default(port, "name", "");
        read::default(port, "protocol", "TCP");
    }
}

/// `deprecatedTopology` cannot be written any more.
fn drop_topology(slice: &mut Value, old: &Value) {
    if !old.is_null() && same(read::get(slice, "endpoints"), read::get(old, "endpoints")) {
        return;
    }
    for endpoint in read::list_mut(slice, "endpoints") {
        endpoint
            .as_object_mut()
            .map(|endpoint| endpoint.remove("deprecatedTopology"));
    }
}

fn validate(slice: &Value, errors: &mut Errors) {
    validate_head(slice, errors);
    validate_endpoints(slice, errors);
}

fn validate_head(slice: &Value, errors: &mut Errors) {
    let root = Field::root(slice);
    root.child("addressType")
        .require_one_of(&["FQDN", "IPv4", "IPv6"], errors);
    let ports = root.child("ports");
    if ports.list().len() > MAX_PORTS {
        ports.too_many(MAX_PORTS, errors);
        return;
    }
    let mut seen = std::collections::BTreeSet::new();
    for port in ports.items() {
        let name = port.child("name");
        name.optional_syntax(names::dns_label, errors);
        if !seen.insert(read::text(port.value, "name")) {
            name.duplicate_as(name.text(), errors);
        }
        let protocol = port.child("protocol");
        if protocol.is_set() {
            protocol.one_of(&["SCTP", "TCP", "UDP"], errors);
        } else {
            protocol.required(errors);
        }
        let protocol = port.child("appProtocol");
        if protocol.is_set() {
            protocol.syntax(names::qualified_name, errors);
        }
    }
}

fn validate_endpoints(slice: &Value, errors: &mut Errors) {
    let kind = read::text(slice, "addressType");
    let root = Field::root(slice);
    let endpoints = root.child("endpoints");
    if endpoints.list().len() > MAX_ENDPOINTS {
        endpoints.too_many(MAX_ENDPOINTS, errors);
        return;
    }
    for endpoint in endpoints.items() {
        let list = endpoint.child("addresses");
        if list.is_empty() {
            list.required_because("must contain at least 1 address", errors);
        }
        list.at_most(MAX_ADDRESSES, errors);
        for address in list.items() {
            validate_address(kind, &address, &list, errors);
        }
        for (field, syntax) in [
            ("nodeName", names::dns_subdomain as names::Syntax),
            ("hostname", names::dns_label),
        ] {
            let field = endpoint.child(field);
            if field.is_set() {
                field.syntax(syntax, errors);
            }
        }
        validate_hints(&endpoint.child("hints.forZones"), names::label_value, errors);
        validate_hints(&endpoint.child("hints.forNodes"), names::dns_subdomain, errors);
    }
}

fn validate_address(kind: &str, address: &Field<'_>, list: &Field<'_>, errors: &mut Errors) {
    let (text, path) = (address.text(), address.path());
    let (fine, fits): (bool, fn(&IpAddr) -> bool) = match kind {
        "IPv4" => (addresses::validate(text, &path, errors), IpAddr::is_ipv4),
        "IPv6" => (
            addresses::validate_canonical(text, &path, errors),
            IpAddr::is_ipv6,
        ),
        "FQDN" => return validate_domain(address, errors),
        _ => return,
    };
    if fine {
        if !addresses::parse(text).is_some_and(|address| fits(&address)) {
            list.invalid_as(text, format!("must be an {kind} address"), errors);
        }
        addresses::validate_endpoint(text, &path, errors);
    }
}

/// A domain name with at least two labels; a dot at its end says that it is complete.
fn validate_domain(address: &Field<'_>, errors: &mut Errors) {
    if !address.require(errors) {
        return;
    }
    let name = address.text();
    let name = name.strip_suffix('.').unwrap_or(name);
    let complaints = names::dns_subdomain(name);
    if !complaints.is_empty() {
        address.invalid_as(name, complaints.join(","), errors);
    } else if !name.contains('.') {
        address.invalid_as(
            name,
            "should be a domain with at least two segments separated by dots",
            errors,
        );
    } else if let Some(label) = name.split('.').find(|label| label.len() > 63) {
        address.invalid_as(label, names::dns_label(label).join(","), errors);
    }
}

fn validate_hints(hints: &Field<'_>, syntax: names::Syntax, errors: &mut Errors) {
    if hints.list().len() > MAX_HINTS {
        hints.too_many(MAX_HINTS, errors);
        return;
    }
    hints.unique_by("name", errors);
    for hint in hints.items() {
        hint.child("name").syntax(syntax, errors);
    }
}

fn address_warnings(slice: &Value) -> Vec<String> {
    let manager = read::at(
        slice,
        &["metadata", "labels", "endpointslice.kubernetes.io/managed-by"],
    );
    // The controllers write good addresses only.
    if CONTROLLERS.iter().any(|controller| manager == controller) {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    for endpoint in Field::root(slice).child("endpoints").items() {
        for address in endpoint.child("addresses").items() {
            warnings.extend(addresses::warnings(address.text(), &address.path()));
        }
    }
    warnings
}
