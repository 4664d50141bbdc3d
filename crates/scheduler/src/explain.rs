//! Why a pod waits, in one message: the counts Kubernetes users know, and then the numbers behind
//! them: what is needed, what is free, and who holds the rest.

use std::cmp::Reverse;

use crate::{amounts::shown, cluster::Cluster, demand::Demand, node::Node, placement::Unplaceable};

/// How many holders are named.
const NAMED: usize = 3;

pub fn explain(cluster: &Cluster, demand: &Demand, failure: &Unplaceable) -> String {
    let mut message = counts(failure);
    for (name, wanted) in demand.requests.iter() {
        if name != "pods" && failure.reasons.contains_key(&format!("Insufficient {name}")) {
            message.push(' ');
            message.push_str(&shortage(cluster, name, wanted));
        }
    }
    message
}

/// `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.`
fn counts(failure: &Unplaceable) -> String {
    let mut reasons: Vec<String> = failure
        .reasons
        .iter()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    reasons.sort();
    match reasons.as_slice() {
        [] => format!("0/{} nodes are available.", failure.nodes),
        reasons => format!("0/{} nodes are available: {}.", failure.nodes, reasons.join(", ")),
    }
}

fn shortage(cluster: &Cluster, name: &str, wanted: i64) -> String {
    let largest = cluster.nodes().map(|node| node.allocatable.get(name)).max();
    let roomiest = cluster.nodes().max_by_key(|node| node.free(name));
    let (Some(largest), Some(node)) = (largest, roomiest) else {
        return String::new();
    };
    let needs = format!("The pod needs {} {name}", shown(name, wanted));
    if largest < wanted {
        return format!("{needs}; no node has more than {}.", shown(name, largest));
    }
    let free = shown(name, node.free(name).max(0));
    match holders(node, name).as_str() {
        "" => format!("{needs}; node {} has {free} free.", node.name),
        holders => format!("{needs}; node {} has {free} free; {holders}.", node.name),
    }
}

/// Who holds most of a resource on a node.
fn holders(node: &Node, name: &str) -> String {
    let mut holders: Vec<_> = node
        .pods
        .iter()
        .map(|pod| (pod.requests.get(name), pod))
        .filter(|(amount, _)| *amount > 0)
        .collect();
    holders.sort_by_key(|(amount, pod)| (Reverse(*amount), pod.namespace(), pod.name()));
    let rest = holders.len().saturating_sub(NAMED);
    let mut named: Vec<String> = holders
        .iter()
        .take(NAMED)
        .map(|(amount, pod)| {
            format!(
                "{}/{} holds {}",
                pod.namespace(),
                pod.name(),
                shown(name, *amount)
            )
        })
        .collect();
    if rest > 0 {
        named.push(format!("{rest} more hold the rest"));
    }
    named.join(", ")
}
