//! What an update drops when the new type of a Service no longer has it. A field goes only when the
//! server may have filled it in and the user did not change it as well; else validation complains.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{is_external_name, is_externally_accessible, is_load_balancer, needs_health_check};
use crate::{checks::same, read};

pub(super) fn drop_stale_fields(service: &mut Value, old: &Value) {
    let before = read::get(old, "spec");
    if let Some(spec) = service.get_mut("spec") {
        drop_cluster_ips(spec, before);
        drop_node_ports(spec, before);
        let lost = |spec: &Value, has: fn(&Value) -> bool| has(before) && !has(spec);
        if lost(spec, needs_health_check) {
            drop_unchanged(spec, before, &["healthCheckNodePort"]);
        }
        if lost(spec, is_load_balancer) {
            drop_unchanged(
                spec,
                before,
                &["allocateLoadBalancerNodePorts", "loadBalancerClass"],
            );
        }
        if lost(spec, is_externally_accessible) {
            drop_unchanged(spec, before, &["externalTrafficPolicy"]);
        }
    }
    drop_internal_policy(service);
    if !is_load_balancer(read::get(service, "spec")) {
        read::object_mut(service, "status").insert("loadBalancer".to_owned(), json!({}));
    }
}

/// An alias has no traffic of its own.
pub(super) fn drop_internal_policy(service: &mut Value) {
    if let Some(spec) = service.get_mut("spec").filter(|spec| is_external_name(spec)) {
        spec.as_object_mut()
            .map(|spec| spec.remove("internalTrafficPolicy"));
    }
}

fn drop_cluster_ips(spec: &mut Value, before: &Value) {
    if is_external_name(before) || !is_external_name(spec) {
        return;
    }
    let unchanged = |spec: &Value, field| same(read::get(spec, field), read::get(before, field));
    if unchanged(spec, "clusterIP") && unchanged(spec, "clusterIPs") {
        drop_unchanged(spec, before, &["clusterIP", "clusterIPs"]);
    }
    drop_unchanged(spec, before, &["ipFamilies", "ipFamilyPolicy"]);
}

fn drop_node_ports(spec: &mut Value, before: &Value) {
    let has_node_ports = |spec| matches!(read::text(spec, "type"), "NodePort" | "LoadBalancer");
    if has_node_ports(before) && !has_node_ports(spec) && node_ports(before).is_superset(&node_ports(spec)) {
        for port in read::list_mut(spec, "ports") {
            port.as_object_mut().map(|port| port.remove("nodePort"));
        }
    }
}

fn drop_unchanged(spec: &mut Value, before: &Value, fields: &[&str]) {
    let Value::Object(spec) = spec else { return };
    for field in fields {
        if spec
            .get(*field)
            .is_some_and(|value| same(value, read::get(before, field)))
        {
            spec.remove(*field);
        }
    }
}

/// The node ports a Service holds.
pub(super) fn node_ports(spec: &Value) -> BTreeSet<i64> {
    let ports = read::list(spec, "ports").iter();
    ports
        .filter_map(|port| read::int(port, "nodePort"))
        .filter(|port| *port != 0)
        .collect()
}
