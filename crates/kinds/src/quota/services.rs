//! What services count: themselves, and the node ports and load balancers they take.

use serde_json::Value;

use super::Usage;
use crate::{
    quantity::Quantity,
    read::{get, int, list, text},
};

pub(super) fn tracks(name: &str) -> bool {
    matches!(name, "services" | "services.nodeports" | "services.loadbalancers")
}

pub(super) fn usage(service: &Value) -> Usage {
    let spec = get(service, "spec");
    let counts = [
        ("services", 1),
        (
            "services.loadbalancers",
            i64::from(outside_type(service) == "LoadBalancer"),
        ),
        ("services.nodeports", node_ports(spec) as i64),
    ];
    counts
        .map(|(name, count)| (name.to_owned(), Quantity::from_int(count)))
        .into()
}

/// How many ports it will take on every node. They may not be chosen yet, so the intent counts.
fn node_ports(spec: &Value) -> usize {
    let ports = list(spec, "ports");
    match text(spec, "type") {
        "LoadBalancer" if get(spec, "allocateLoadBalancerNodePorts") == &Value::Bool(false) => ports
            .iter()
            .filter(|port| int(port, "nodePort").is_some_and(|number| number != 0))
            .count(),
        "NodePort" | "LoadBalancer" => ports.len(),
        _ => 0,
    }
}

/// The type of a service that counts more than itself; empty for all others.
pub(super) fn outside_type(service: &Value) -> &str {
    match text(get(service, "spec"), "type") {
        counted @ ("NodePort" | "LoadBalancer") => counted,
        _ => "",
    }
}
