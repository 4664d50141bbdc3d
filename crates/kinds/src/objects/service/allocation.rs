//! What a Service needs from the cluster's pools of addresses and ports, and what it gives back. The
//! API server owns the pools; this says what to ask of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    cluster_ips::{Family, wants_node_ports},
    is_external_name, is_headless, needs_health_check,
    type_change::node_ports,
};
use crate::{addresses, read};

/// What one write of a Service asks of the pools.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Places in `spec.clusterIPs` to fill, with the address the user asked for.
    pub cluster_ips: Vec<ClusterIp>,
    /// Places in `spec.ports` whose `nodePort` is to be filled or reserved.
    pub node_ports: Vec<NodePort>,
    /// `spec.healthCheckNodePort` is to be filled (`Any`) or reserved.
    pub health_check: Option<Ask>,
    /// Addresses to give back once the write succeeded.
    pub released_ips: Vec<String>,
    /// Ports to give back once the write succeeded.
    pub released_ports: Vec<i64>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ClusterIp {
    pub index: usize,
    pub family: Family,
    /// The address the user asked for; any will do when there is none.
    pub wanted: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct NodePort {
    pub index: usize,
    pub ask: Ask,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Any free port.
    Any,
    /// This very port.
    Exactly(i64),
    /// The port given to this earlier item: one number serves several protocols.
    SameAs(usize),
}

/// What a new Service needs. Its families are settled.
pub fn plan_create(service: &Value) -> Plan {
    let spec = read::get(service, "spec");
    Plan {
        cluster_ips: wanted_ips(spec, 0),
        node_ports: if has_node_ports(spec) {
            new_node_ports(spec)
        } else {
            Vec::new()
        },
        health_check: needs_health_check(spec).then(|| health_check_ask(spec)),
        ..Plan::default()
    }
}

/// What a changed Service needs and gives back. Its families are settled.
pub fn plan_update(service: &Value, old: &Value) -> Plan {
    let (spec, before) = (read::get(service, "spec"), read::get(old, "spec"));
    let mut plan = Plan::default();
    plan_ips(spec, before, &mut plan);
    plan_node_ports(spec, before, &mut plan);
    match (needs_health_check(before), needs_health_check(spec)) {
        (false, true) => plan.health_check = Some(health_check_ask(spec)),
        (true, false) => plan
            .released_ports
            .extend(read::int(before, "healthCheckNodePort")),
        _ => {}
    }
    plan
}

/// What a deleted Service gives back.
pub fn plan_delete(service: &Value) -> Plan {
    let spec = read::get(service, "spec");
    let mut released_ports: Vec<i64> = node_ports(spec).into_iter().collect();
    if needs_health_check(spec) {
        released_ports.extend(read::int(spec, "healthCheckNodePort").filter(|port| *port > 0));
    }
    Plan {
        released_ips: held_ips(spec),
        released_ports,
        ..Plan::default()
    }
}

fn plan_ips(spec: &Value, before: &Value, plan: &mut Plan) {
    let stacks = |spec| read::list(spec, "ipFamilies").len();
    match (is_external_name(before), is_external_name(spec)) {
        (true, false) => plan.cluster_ips = wanted_ips(spec, 0),
        _ if is_headless(before) => {}
        (false, true) => plan.released_ips = held_ips(before),
        (false, false) if stacks(before) == 1 && stacks(spec) == 2 => plan.cluster_ips = wanted_ips(spec, 1),
        (false, false) if stacks(before) == 2 && stacks(spec) == 1 => {
            plan.released_ips = held_ips(before).split_off(1);
        }
        _ => {}
    }
}

/// The addresses from one place on: those asked for, and any for the families without.
fn wanted_ips(spec: &Value, from: usize) -> Vec<ClusterIp> {
    if is_external_name(spec) || is_headless(spec) {
        return Vec::new();
    }
    let asked = read::list(spec, "clusterIPs");
    let families = read::list(spec, "ipFamilies").iter().enumerate().skip(from);
    families
        .map(|(index, family)| ClusterIp {
            index,
            family: if family == "IPv6" { Family::V6 } else { Family::V4 },
            wanted: asked
                .get(index)
                .and_then(Value::as_str)
                .filter(|ip| !ip.is_empty())
                .map(str::to_owned),
        })
        .collect()
}

fn held_ips(spec: &Value) -> Vec<String> {
    let ips = read::list(spec, "clusterIPs").iter().filter_map(Value::as_str);
    ips.filter(|ip| addresses::parse(ip).is_some())
        .map(str::to_owned)
        .collect()
}

fn has_node_ports(spec: &Value) -> bool {
    matches!(read::text(spec, "type"), "NodePort" | "LoadBalancer")
}

/// One port number gets one node port, whatever its protocols, unless the user asks otherwise.
fn new_node_ports(spec: &Value) -> Vec<NodePort> {
    let ports = read::list(spec, "ports");
    let mut first_of: BTreeMap<i64, (usize, i64)> = BTreeMap::new();
    let mut asks = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let (number, wanted) = (port_number(port), wanted_port(port));
        if wanted == 0 && !wants_node_ports(spec) {
            continue;
        }
        let ask = match first_of.get(&number) {
            Some((_, given)) if wanted != 0 && *given == wanted => continue,
            Some(_) if wanted != 0 => Ask::Exactly(wanted),
            Some((first, _)) => Ask::SameAs(*first),
            None => {
                let same_number = ports.iter().filter(|other| port_number(other) == number);
                let requested = same_number
                    .map(wanted_port)
                    .find(|wanted| *wanted != 0)
                    .unwrap_or_default();
                first_of.insert(number, (index, requested));
                if requested == 0 {
                    Ask::Any
                } else {
                    Ask::Exactly(requested)
                }
            }
        };
        asks.push(NodePort { index, ask });
    }
    asks
}

fn plan_node_ports(spec: &Value, before: &Value, plan: &mut Plan) {
    let (held, kept) = (node_ports(before), node_ports(spec));
    if !has_node_ports(spec) {
        if has_node_ports(before) {
            plan.released_ports.extend(held);
        }
        return;
    }
    let mut asked = BTreeSet::new();
    for (index, port) in read::list(spec, "ports").iter().enumerate() {
        let wanted = wanted_port(port);
        if wanted == 0 && wants_node_ports(spec) {
            plan.node_ports.push(NodePort { index, ask: Ask::Any });
        } else if wanted != 0 && !held.contains(&wanted) && asked.insert(wanted) {
            plan.node_ports.push(NodePort {
                index,
                ask: Ask::Exactly(wanted),
            });
        }
    }
    plan.released_ports.extend(held.difference(&kept));
}

fn health_check_ask(spec: &Value) -> Ask {
    match read::int(spec, "healthCheckNodePort").unwrap_or_default() {
        0 => Ask::Any,
        port => Ask::Exactly(port),
    }
}

fn port_number(port: &Value) -> i64 {
    read::int(port, "port").unwrap_or_default()
}

fn wanted_port(port: &Value) -> i64 {
    read::int(port, "nodePort").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_port_shared_by_two_protocols_gets_one_node_port() {
        let service = json!({"spec": {
            "type": "NodePort", "ipFamilies": ["IPv4"],
            "ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}, {"port": 80, "nodePort": 30080}],
        }});
        let plan = plan_create(&service);
        assert_eq!(
            plan.cluster_ips,
            [ClusterIp {
                index: 0,
                family: Family::V4,
                wanted: None
            }]
        );
        assert_eq!(
            plan.node_ports,
            [
                NodePort {
                    index: 0,
                    ask: Ask::Any
                },
                NodePort {
                    index: 1,
                    ask: Ask::SameAs(0)
                },
                NodePort {
                    index: 2,
                    ask: Ask::Exactly(30080)
                },
            ]
        );
    }

    #[test]
    fn becoming_a_cluster_ip_service_gives_the_node_ports_back() {
        let old = json!({"spec": {"type": "NodePort", "ipFamilies": ["IPv4"], "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80, "nodePort": 30080}]}});
        let new = json!({"spec": {"type": "ClusterIP", "ipFamilies": ["IPv4"], "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80}]}});
        assert_eq!(
            plan_update(&new, &old),
            Plan {
                released_ports: vec![30080],
                ..Plan::default()
            }
        );
    }

    #[test]
    fn becoming_an_external_name_gives_the_addresses_back() {
        let old = json!({"spec": {"type": "ClusterIP", "ipFamilies": ["IPv4"], "clusterIPs": ["10.0.0.1"]}});
        let new = json!({"spec": {"type": "ExternalName", "externalName": "example.com"}});
        assert_eq!(plan_update(&new, &old).released_ips, ["10.0.0.1"]);
        assert_eq!(plan_update(&old, &new).cluster_ips.len(), 1);
    }
}
