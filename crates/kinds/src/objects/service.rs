//! Service: a stable address for a set of pods. Its fields depend on its type and on each other, and
//! some are allocated; what to allocate is worked out here, from what is the API server's choice.

pub mod allocation;
pub mod cluster_ips;
mod type_change;
mod update;
mod validation;

use serde_json::{Value, json};

use super::field::Field;
use crate::{addresses, names, read, strategy::Strategy};

const DEFAULT_AFFINITY_SECONDS: i64 = 10800;
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    prepare_for_create: |service| {
        service["status"] = json!({"loadBalancer": {}});
        type_change::drop_internal_policy(service);
    },
    prepare_for_update: |service, old| {
        super::keep_status(service, old);
        type_change::drop_stale_fields(service, old);
    },
    validate: |service, errors| validation::validate(service, &Value::Null, errors),
    validate_update: update::validate,
    prepare_for_status_update: super::keep_spec,
    validate_status_update: update::validate_status,
    warnings_on_create: warnings,
    warnings_on_update: |service, _| warnings(service),
    name_syntax: names::dns1035_label,
    ..Strategy::NONE
};

fn default(service: &mut Value) {
    let spec = super::spec_mut(service);
    if read::text(spec, "sessionAffinity").is_empty() {
        spec["sessionAffinity"] = "None".into();
    }
    default_affinity_config(spec);
    if read::text(spec, "type").is_empty() {
        spec["type"] = "ClusterIP".into();
    }
    for port in read::list_mut(spec, "ports") {
        default_port(port);
    }
    if is_externally_accessible(spec) && read::text(spec, "externalTrafficPolicy").is_empty() {
        spec["externalTrafficPolicy"] = "Cluster".into();
    }
    if matches!(
        read::text(spec, "type"),
        "NodePort" | "LoadBalancer" | "ClusterIP"
    ) {
        read::default(spec, "internalTrafficPolicy", "Cluster");
    }
    if is_load_balancer(spec) {
        read::default(spec, "allocateLoadBalancerNodePorts", true);
        if let Some(balancer) = service.pointer_mut("/status/loadBalancer") {
            for point in read::list_mut(balancer, "ingress") {
                if !read::text(point, "ip").is_empty() {
                    read::default(point, "ipMode", "VIP");
                }
            }
        }
    }
}

fn default_affinity_config(spec: &mut Value) {
    match read::text(spec, "sessionAffinity") {
        "None" => {
            spec.as_object_mut()
                .map(|spec| spec.remove("sessionAffinityConfig"));
        }
        "ClientIP" if read::at(spec, &["sessionAffinityConfig", "clientIP", "timeoutSeconds"]).is_null() => {
            spec["sessionAffinityConfig"] = json!({"clientIP": {"timeoutSeconds": DEFAULT_AFFINITY_SECONDS}});
        }
        _ => {}
    }
}

fn default_port(port: &mut Value) {
    if read::text(port, "protocol").is_empty() {
        port["protocol"] = "TCP".into();
    }
    let target = read::get(port, "targetPort");
    if target.is_null() || target == 0 || target == "" {
        port["targetPort"] = read::get(port, "port").clone();
    }
}

fn is_load_balancer(spec: &Value) -> bool {
    read::text(spec, "type") == "LoadBalancer"
}

/// `ExternalName` is an alias in the DNS; it has no address of its own.
fn is_external_name(spec: &Value) -> bool {
    read::text(spec, "type") == "ExternalName"
}

fn is_externally_accessible(spec: &Value) -> bool {
    match read::text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !read::list(spec, "externalIPs").is_empty(),
        _ => false,
    }
}

/// Load balancers that keep traffic on its node ask each node whether it has a backend.
fn needs_health_check(spec: &Value) -> bool {
    is_load_balancer(spec) && read::text(spec, "externalTrafficPolicy") == "Local"
}

fn is_headless(spec: &Value) -> bool {
    matches!(read::list(spec, "clusterIPs"), [Value::String(only)] if only == "None")
}

fn warnings(service: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if !read::at(service, &["metadata", "annotations", TOPOLOGY_HINTS]).is_null() {
        warnings.push(format!(
            "annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
        ));
    }
    let root = Field::root(service);
    let spec = root.child("spec");
    let cluster_ip = spec.child("clusterIP");
    if !cluster_ip.is_empty() && cluster_ip.text() != "None" {
        for ip in spec.child("clusterIPs").items() {
            warnings.extend(addresses::warnings(ip.text(), &ip.path()));
        }
    }
    let external_ips = spec.child("externalIPs");
    if spec.child("type").text() == "ClusterIP" && cluster_ip.text() == "None" {
        let ignored = [
            ("loadBalancerIP", !spec.child("loadBalancerIP").is_empty()),
            ("externalIPs", !external_ips.is_empty()),
            ("SessionAffinity", spec.child("sessionAffinity").text() != "None"),
        ];
        for (field, _) in ignored.iter().filter(|(_, set)| *set) {
            warnings.push(format!("spec.{field} is ignored for headless services"));
        }
    }
    for ip in external_ips.items() {
        warnings.extend(addresses::warnings(ip.text(), &ip.path()));
    }
    let balancer_ip = spec.child("loadBalancerIP");
    warnings.extend(addresses::warnings(balancer_ip.text(), &balancer_ip.path()));
    for range in spec.child("loadBalancerSourceRanges").items() {
        warnings.extend(addresses::cidr_warnings(range.text(), &range.path()));
    }
    if is_external_name(spec.value) && !external_ips.is_empty() {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !is_external_name(spec.value) && !spec.child("externalName").is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    warnings
}
