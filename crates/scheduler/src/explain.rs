//! Why a pod waits, in one message: the counts Kubernetes users know, and then the numbers behind
//! them: what is needed, what is free, and who holds the rest.

use std::cmp::Reverse;

use crate::{
    amounts::shown, cluster::Cluster, demand::Demand, node::Node, placement::Unplaceable,
    preemption::may_not_preempt,
};

/// How many holders are named.
const NAMED: usize = 3;

/// Why the pod waits and nobody makes room for it.
pub fn explain(cluster: &Cluster, demand: &Demand, failure: &Unplaceable) -> String {
    let mut message = counts(failure);
    if failure.nodes > 0 {
        message.push_str(&format!(" preemption: {}", without_preemption(demand, failure)));
    }
    message + &shortages(cluster, demand, failure)
}

/// Why the pod waits while others leave for it.
pub(crate) fn explain_for_now(cluster: &Cluster, demand: &Demand, failure: &Unplaceable) -> String {
    counts(failure) + &shortages(cluster, demand, failure)
}

fn shortages(cluster: &Cluster, demand: &Demand, failure: &Unplaceable) -> String {
    let mut message = String::new();
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
    if failure.nodes == 0 {
        return "no nodes available to schedule pods".to_owned();
    }
    if let Some(obstacle) = &failure.obstacle {
        return format!("0/{} nodes are available: {obstacle}.", failure.nodes);
    }
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

/// Why nobody was made to leave for the pod.
fn without_preemption(demand: &Demand, failure: &Unplaceable) -> String {
    if may_not_preempt(demand) {
        return "not eligible due to preemptionPolicy=Never.".to_owned();
    }
    let hopeful = failure.hopeful.len();
    let reasons = [
        (hopeful, "No preemption victims found for incoming pod"),
        (
            failure.nodes - hopeful,
            "Preemption is not helpful for scheduling",
        ),
    ];
    let reasons: Vec<String> = reasons
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| format!("{count} {reason}"))
        .collect();
    format!("0/{} nodes are available: {}.", failure.nodes, reasons.join(", "))
}

fn shortage(cluster: &Cluster, name: &str, wanted: i64) -> String {
    let largest = cluster.nodes().map(|node| node.allocatable.get(name)).max();
    // Of those with enough room another filter has said why not.
    let short = cluster.nodes().filter(|node| node.free(name) < wanted);
    let roomiest = short.max_by_key(|node| node.free(name));
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
