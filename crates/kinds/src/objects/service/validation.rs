//! What a Service must be, whatever it was before.

use std::collections::BTreeSet;

use manifests::field::FieldError;
use serde_json::{Value, json};

use super::{
    TOPOLOGY_HINTS, TOPOLOGY_MODE, cluster_ips, is_external_name, is_externally_accessible, is_headless,
    is_load_balancer, needs_health_check,
};
use crate::{
    addresses, label_selector, names,
    objects::{
        field::{Errors, Field},
        syntax,
    },
    read,
};

const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";
const MAX_AFFINITY_SECONDS: i64 = 86400;

/// `old` is null for a new Service. Addresses accepted before stay accepted.
pub(super) fn validate(service: &Value, old: &Value, errors: &mut Errors) {
    let root = Field::root(service);
    let spec = root.child("spec");
    let before = read::get(old, "spec");
    validate_topology(&root, errors);
    let ports = spec.child("ports");
    if ports.is_empty() && !is_headless(spec.value) && !is_external_name(spec.value) {
        ports.required(errors);
    }
    validate_type_fields(&spec, errors);
    validate_ports(&ports, errors);
    let selector = spec.child("selector");
    label_selector::validate_labels(selector.value, &selector.path(), errors);
    validate_affinity(&spec, errors);
    cluster_ips::validate(&spec, before, errors);
    validate_external_ips(&spec, before, errors);
    spec.child("type")
        .require_one_of(&["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], errors);
    validate_port_clashes(&spec, errors);
    validate_source_ranges(&root, old, errors);
    validate_load_balancer(&spec, errors);
    validate_traffic(&spec, errors);
}

fn validate_topology(root: &Field<'_>, errors: &mut Errors) {
    let annotations = root.child("metadata.annotations");
    let (hints, mode) = (annotations.key(TOPOLOGY_HINTS), annotations.key(TOPOLOGY_MODE));
    if hints.is_set() && mode.is_set() && hints.value != mode.value {
        mode.invalid(
            format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified"),
            errors,
        );
    }
}

fn validate_type_fields(spec: &Field<'_>, errors: &mut Errors) {
    let kind = spec.child("type").text();
    match kind {
        "LoadBalancer" | "NodePort" if is_headless(spec.value) => {
            for first in spec.child("clusterIPs").items() {
                first.invalid(format!("may not be set to 'None' for {kind} services"), errors);
            }
        }
        "ExternalName" => {
            for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                let field = spec.child(field);
                if !field.is_empty() {
                    field.forbidden("may not be set for ExternalName services", errors);
                }
            }
            validate_external_name(&spec.child("externalName"), errors);
        }
        _ => {}
    }
}

/// A name in the DNS; a dot at its end says that it is complete.
fn validate_external_name(name: &Field<'_>, errors: &mut Errors) {
    let text = name.text();
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.is_empty() {
        name.required(errors);
    }
    if !text.is_empty() {
        for complaint in names::dns_subdomain(text) {
            name.invalid_as(text, complaint, errors);
        }
    }
}

fn validate_ports(ports: &Field<'_>, errors: &mut Errors) {
    let several = ports.list().len() > 1;
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let name = port.child("name");
        if !name.is_empty() {
            name.syntax(names::dns_label, errors);
            if !seen.insert(read::text(port.value, "name")) {
                name.duplicate(errors);
            }
        } else if several {
            name.required(errors);
        }
        port.child("port").port_number(errors);
        port.child("protocol")
            .require_one_of(&["SCTP", "TCP", "UDP"], errors);
        validate_target_port(&port.child("targetPort"), errors);
        let protocol = port.child("appProtocol");
        if protocol.is_set() {
            protocol.syntax(names::qualified_name, errors);
        }
    }
}

fn validate_target_port(target: &Field<'_>, errors: &mut Errors) {
    if target.value.is_string() {
        target.syntax(syntax::port_name, errors);
    } else {
        target.port_number(errors);
    }
}

fn validate_affinity(spec: &Field<'_>, errors: &mut Errors) {
    let affinity = spec.child("sessionAffinity");
    affinity.require_one_of(&["ClientIP", "None"], errors);
    let config = spec.child("sessionAffinityConfig");
    match affinity.text() {
        "ClientIP" => validate_client_ip(&config, errors),
        "None" if config.is_set() => {
            config.forbidden("must not be set when session affinity is None", errors);
        }
        _ => {}
    }
}

fn validate_client_ip(config: &Field<'_>, errors: &mut Errors) {
    let (client, timeout) = (config.child("clientIP"), config.child("clientIP.timeoutSeconds"));
    if let Some(missing) = [*config, client, timeout].iter().find(|field| !field.is_set()) {
        missing.required_because("when session affinity type is ClientIP", errors);
    } else if !(1..=MAX_AFFINITY_SECONDS).contains(&timeout.int().unwrap_or_default()) {
        timeout.invalid(
            format!("must be greater than 0 and less than {MAX_AFFINITY_SECONDS}"),
            errors,
        );
    }
}

fn validate_external_ips(spec: &Field<'_>, before: &Value, errors: &mut Errors) {
    let accepted = read::list(before, "externalIPs");
    for ip in spec.child("externalIPs").items() {
        let path = ip.path();
        if accepted.contains(ip.value) || addresses::validate(ip.text(), &path, errors) {
            addresses::validate_endpoint(ip.text(), &path, errors);
        }
    }
}

fn validate_port_clashes(spec: &Field<'_>, errors: &mut Errors) {
    let ports = spec.child("ports");
    if spec.child("type").text() == "ClusterIP" {
        for port in ports.items() {
            let node_port = port.child("nodePort");
            if node_port.int().unwrap_or_default() != 0 {
                node_port.forbidden("may not be used when `type` is 'ClusterIP'", errors);
            }
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let node_port = port.child("nodePort");
        let number = node_port.int().unwrap_or_default();
        if number != 0 && !seen.insert((read::text(port.value, "protocol"), number)) {
            node_port.duplicate(errors);
        }
    }
    seen.clear();
    for port in ports.items() {
        let protocol = read::text(port.value, "protocol");
        let number = read::int(port.value, "port").unwrap_or_default();
        if !seen.insert((protocol, number)) {
            // Only what makes the port a duplicate is shown.
            let key = json!({"protocol": protocol, "port": number});
            Field::at(&key, &port.path()).duplicate_shown("ServicePort", errors);
        }
    }
}

/// Source ranges may be padded with blanks, and may also stand in an older annotation.
fn validate_source_ranges(root: &Field<'_>, old: &Value, errors: &mut Errors) {
    let spec = root.child("spec");
    let ranges = spec.child("loadBalancerSourceRanges");
    let annotations = root.child("metadata.annotations");
    let annotation = annotations.key(SOURCE_RANGES);
    let balances = is_load_balancer(spec.value);
    if !ranges.is_empty() {
        // Errors name this field with a capital letter.
        let path = spec.path().child("LoadBalancerSourceRanges");
        if !balances {
            errors.push(FieldError::forbidden(&path, ONLY_LOAD_BALANCER));
        }
        let accepted = read::list(read::get(old, "spec"), "loadBalancerSourceRanges");
        for (index, range) in ranges.items().enumerate() {
            if !accepted.contains(range.value) {
                addresses::validate_cidr(range.text().trim(), &path.index(index), errors);
            }
        }
    } else if annotation.is_set() {
        if !balances {
            annotation.forbidden(ONLY_LOAD_BALANCER, errors);
        }
        let accepted = read::at(old, &["metadata", "annotations", SOURCE_RANGES]);
        if annotation.value != accepted && !annotation.text().trim().is_empty() {
            for range in annotation.text().trim().split(',') {
                addresses::validate_cidr(range.trim(), &annotation.path(), errors);
            }
        }
    }
}

fn validate_load_balancer(spec: &Field<'_>, errors: &mut Errors) {
    let allocate = spec.child("allocateLoadBalancerNodePorts");
    let balances = is_load_balancer(spec.value);
    if allocate.is_set() && !balances {
        allocate.forbidden(ONLY_LOAD_BALANCER, errors);
    }
    if balances && !allocate.is_set() {
        Field::root(allocate.value)
            .renamed("allocateLoadBalancerNodePorts")
            .required(errors);
    }
    validate_load_balancer_class(spec, errors);
}

pub(super) fn validate_load_balancer_class(spec: &Field<'_>, errors: &mut Errors) {
    let class = spec.child("loadBalancerClass");
    if !class.is_set() {
        return;
    }
    if is_load_balancer(spec.value) {
        class.syntax(names::qualified_name, errors);
    } else {
        class.forbidden(ONLY_LOAD_BALANCER, errors);
    }
}

fn validate_traffic(spec: &Field<'_>, errors: &mut Errors) {
    let external = spec.child("externalTrafficPolicy");
    if is_externally_accessible(spec.value) {
        external.require_one_of(&["Cluster", "Local"], errors);
    } else if !external.is_empty() {
        external.invalid("may only be set for externally-accessible services", errors);
    }
    let health_check = spec.child("healthCheckNodePort");
    let has_port = health_check.int().unwrap_or_default() != 0;
    match (needs_health_check(spec.value), has_port) {
        (true, true) => {
            health_check.port_number(errors);
        }
        (true, false) => health_check.required(errors),
        (false, true) => health_check.invalid(
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
            errors,
        ),
        (false, false) => {}
    }
    let internal = spec.child("internalTrafficPolicy");
    if internal.is_set() {
        internal.one_of(&["Cluster", "Local"], errors);
    } else if matches!(
        spec.child("type").text(),
        "NodePort" | "LoadBalancer" | "ClusterIP"
    ) {
        internal.required(errors);
    }
    spec.child("trafficDistribution")
        .optional_one_of(&["PreferClose", "PreferSameZone", "PreferSameNode"], errors);
}
