//! Endpoints: the addresses behind a Service, in the older form.

use serde_json::Value;

use super::field::{Errors, Field};
use crate::{addresses, checks::same, names, read, strategy::Strategy};

const LISTS: [&str; 2] = ["addresses", "notReadyAddresses"];
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    validate,
    validate_update: |endpoints, old, errors| {
        // What was accepted before stays accepted.
        let mut found = Vec::new();
        validate(endpoints, &mut found);
        if !found.is_empty() && !same(read::get(endpoints, "subsets"), read::get(old, "subsets")) {
            errors.append(&mut found);
        }
    },
    warnings_on_create: warnings,
    warnings_on_update: |endpoints, _| warnings(endpoints),
    ..Strategy::NONE
};

fn default(endpoints: &mut Value) {
    for subset in read::list_mut(endpoints, "subsets") {
        for port in read::list_mut(subset, "ports") {
            if read::text(port, "protocol").is_empty() {
                port["protocol"] = "TCP".into();
            }
        }
    }
}

fn validate(endpoints: &Value, errors: &mut Errors) {
    for subset in Field::root(endpoints).child("subsets").items() {
        if LISTS.iter().all(|list| subset.child(list).is_empty()) {
            subset.required_because("must specify `addresses` or `notReadyAddresses`", errors);
        }
        for list in LISTS {
            for address in subset.child(list).items() {
                validate_address(&address, errors);
            }
        }
        let ports = subset.child("ports");
        for port in ports.items() {
            validate_port(&port, ports.list().len() > 1, errors);
        }
    }
}

fn validate_address(address: &Field<'_>, errors: &mut Errors) {
    let ip = address.child("ip");
    addresses::validate(ip.text(), &ip.path(), errors);
    address
        .child("hostname")
        .optional_syntax(names::dns_label, errors);
    let node = address.child("nodeName");
    if node.is_set() {
        node.syntax(names::dns_subdomain, errors);
    }
    addresses::validate_endpoint(ip.text(), &ip.path(), errors);
}

fn validate_port(port: &Field<'_>, several: bool, errors: &mut Errors) {
    let name = port.child("name");
    if several {
        name.require(errors);
    }
    name.optional_syntax(names::dns_label, errors);
    port.child("port").port_number(errors);
    port.child("protocol")
        .require_one_of(&["SCTP", "TCP", "UDP"], errors);
    let protocol = port.child("appProtocol");
    if protocol.is_set() {
        protocol.syntax(names::qualified_name, errors);
    }
}

fn warnings(endpoints: &Value) -> Vec<String> {
    // The controller writes good addresses only.
    if read::at(endpoints, &["metadata", "labels", MANAGED_BY]) == "endpoint-controller" {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    for subset in Field::root(endpoints).child("subsets").items() {
        for list in LISTS {
            for address in subset.child(list).items() {
                let ip = address.child("ip");
                warnings.extend(addresses::warnings(ip.text(), &ip.path()));
            }
        }
    }
    warnings
}
