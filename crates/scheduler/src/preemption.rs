//! Pods of lower priority make room for a pod of higher priority.

use std::{cmp::Reverse, sync::Arc};

use crate::{cluster::Cluster, demand::Demand, filters::Prepared, node::Node, placement::Unplaceable};

/// Who has to leave which node.
#[derive(Clone, Debug)]
pub struct Preemption {
    pub node: String,
    pub victims: Vec<Arc<Demand>>,
}

/// The node that becomes free for the pod at the least cost. `None` if no pod of lower priority
/// stands in its way, or if the pod may not preempt.
pub fn preempt(cluster: &Cluster, demand: &Demand, failure: &Unplaceable) -> Option<Preemption> {
    let policy = demand
        .pod
        .spec
        .as_ref()
        .and_then(|spec| spec.preemption_policy.as_deref());
    if policy == Some("Never") {
        return None;
    }
    let nodes = failure.hopeful.iter().filter_map(|name| cluster.node(name));
    nodes
        .filter_map(|node| Some((victims(cluster, demand, node)?, node)))
        .min_by_key(|(victims, node)| cost(victims, node))
        .map(|(victims, node)| Preemption {
            node: node.name.clone(),
            victims,
        })
}

/// The fewest and least important pods whose leaving makes room on the node.
fn victims(cluster: &Cluster, demand: &Demand, node: &Node) -> Option<Vec<Arc<Demand>>> {
    let mut lower: Vec<Arc<Demand>> = node
        .pods
        .iter()
        .filter(|pod| pod.priority < demand.priority)
        .cloned()
        .collect();
    if lower.is_empty() {
        return None;
    }
    let mut without = cluster.clone();
    for pod in &lower {
        without.remove_pod(pod.uid());
    }
    if !fits(&without, demand, &node.name) {
        return None;
    }
    // Bring back the most important first, as long as the pod still fits.
    lower.sort_by_key(|pod| (Reverse(pod.priority), started(pod)));
    let mut victims = Vec::new();
    for pod in lower {
        without.put(pod.clone(), &node.name);
        if !fits(&without, demand, &node.name) {
            without.remove_pod(pod.uid());
            victims.push(pod);
        }
    }
    Some(victims)
}

fn fits(cluster: &Cluster, demand: &Demand, node: &str) -> bool {
    let prepared = Prepared::new(cluster, demand);
    cluster
        .node(node)
        .is_some_and(|node| prepared.objections(node).is_empty())
}

fn started(pod: &Demand) -> Option<k8s_openapi::jiff::Timestamp> {
    let status = pod.pod.status.as_ref();
    status
        .and_then(|status| status.start_time.as_ref())
        .map(|time| time.0)
}

/// The importance of the most important victim, then of all, then their number, then how long the
/// most important has run.
fn cost(victims: &[Arc<Demand>], node: &Node) -> impl Ord + use<> {
    let highest = victims.iter().map(|pod| pod.priority).max();
    let sum: i64 = victims.iter().map(|pod| i64::from(pod.priority)).sum();
    let earliest = victims
        .iter()
        .filter(|pod| Some(pod.priority) == highest)
        .map(|pod| started(pod))
        .min();
    (highest, sum, victims.len(), Reverse(earliest), node.name.clone())
}
