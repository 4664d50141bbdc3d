//! Pods of lower priority make room for a pod of higher priority.

mod groups;

use std::{cmp::Reverse, sync::Arc};

use reconcile::selectors;

use crate::{cluster::Cluster, demand::Demand, filters::Prepared, placement::Unplaceable};

pub(crate) use groups::{make_room_for_group, would_fit_without};

/// So many nodes are looked at; in a large cluster the best of them is good enough.
const LOOKED_AT: usize = 100;

/// Who has to leave which node.
#[derive(Clone, Debug)]
pub struct Preemption {
    pub node: String,
    /// Nobody, if those who have to leave are on their way already.
    pub victims: Vec<Arc<Demand>>,
}

pub(crate) fn may_not_preempt(demand: &Demand) -> bool {
    let spec = demand.pod.spec.as_ref();
    spec.and_then(|spec| spec.preemption_policy.as_deref()) == Some("Never")
}

/// The node that becomes free for the pod at the least cost. `None` if no pod of lower priority
/// stands in its way, or if the pod may not preempt. The cluster is the same afterwards.
pub fn preempt(cluster: &mut Cluster, demand: &Demand, failure: &Unplaceable) -> Option<Preemption> {
    if may_not_preempt(demand) || !cluster.has_below(demand.priority) {
        return None;
    }
    if let Some(node) = awaited(cluster, demand) {
        return Some(Preemption {
            node,
            victims: Vec::new(),
        });
    }
    cheapest(cluster, demand, demand.priority, failure)
}

/// The node that becomes free at the least cost when only pods below this priority leave.
fn cheapest(cluster: &mut Cluster, demand: &Demand, below: i32, failure: &Unplaceable) -> Option<Preemption> {
    let mut best: Option<(Cost, Preemption)> = None;
    let mut found = 0;
    for name in &failure.hopeful {
        let Some(victims) = victims(cluster, demand, below, name) else {
            continue;
        };
        let cost = cost(cluster, &victims, name);
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            let node = name.clone();
            best = Some((cost, Preemption { node, victims }));
        }
        found += 1;
        if found == LOOKED_AT {
            break;
        }
    }
    best.map(|(_, preemption)| preemption)
}

/// The node that was promised to the pod, while those who make room there are still leaving.
fn awaited(cluster: &Cluster, demand: &Demand) -> Option<String> {
    let status = demand.pod.status.as_ref()?;
    let node = cluster.node(status.nominated_node_name.as_deref()?)?;
    let makes_room = |pod: &Arc<Demand>| pod.priority < demand.priority && is_leaving(pod);
    node.pods.iter().any(makes_room).then(|| node.name.to_string())
}

fn is_leaving(pod: &Demand) -> bool {
    pod.pod.metadata.deletion_timestamp.is_some()
}

/// The fewest and least important pods whose leaving makes room on the node.
fn victims(cluster: &mut Cluster, demand: &Demand, below: i32, node: &str) -> Option<Vec<Arc<Demand>>> {
    let mut lower: Vec<Arc<Demand>> = cluster
        .node(node)?
        .pods
        .iter()
        .filter(|pod| pod.priority < below && !pod.is_of_same_group(demand))
        .cloned()
        .collect();
    if lower.is_empty() {
        return None;
    }
    for pod in &lower {
        cluster.remove_pod(pod.uid());
    }
    let mut victims = Vec::new();
    let is_possible = fits(cluster, demand, node);
    if is_possible {
        // Those a budget protects are brought back first, then the most important, while the pod fits;
        // and last those who leave anyway.
        lower.sort_by_key(|pod| {
            let is_protected = is_protected(cluster, pod);
            (
                is_leaving(pod),
                !is_protected,
                Reverse(pod.priority),
                started(pod),
            )
        });
        for pod in &lower {
            cluster.put(pod.clone(), node);
            if !fits(cluster, demand, node) {
                cluster.remove_pod(pod.uid());
                victims.push(pod.clone());
            }
        }
        lower.clone_from(&victims);
    }
    for pod in lower {
        cluster.put(pod, node);
    }
    is_possible.then_some(victims)
}

fn fits(cluster: &Cluster, demand: &Demand, node: &str) -> bool {
    let prepared = Prepared::new(cluster, demand);
    cluster
        .node(node)
        .is_some_and(|node| prepared.objections(node).is_empty())
}

/// Whether taking the pod away would break a disruption budget.
fn is_protected(cluster: &Cluster, pod: &Demand) -> bool {
    let mut budgets = cluster.budgets.iter();
    budgets.any(|(key, budget)| {
        let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        let status = budget.status.as_ref();
        &*key.namespace == pod.namespace()
            && status.is_none_or(|status| status.disruptions_allowed <= 0)
            && selector.is_some_and(|selector| selectors::matches(selector, pod.pod.metadata.labels.as_ref()))
    })
}

fn started(pod: &Demand) -> Option<k8s_openapi::jiff::Timestamp> {
    let status = pod.pod.status.as_ref();
    status
        .and_then(|status| status.start_time.as_ref())
        .map(|time| time.0)
}

/// Of those who do not leave anyway: broken budgets, the importance of the most important victim, then of all, then their number, then
/// how long the most important has run.
type Cost = (
    usize,
    Option<i32>,
    i64,
    usize,
    Reverse<Option<k8s_openapi::jiff::Timestamp>>,
    String,
);

fn cost(cluster: &Cluster, victims: &[Arc<Demand>], node: &str) -> Cost {
    let victims: Vec<&Arc<Demand>> = victims.iter().filter(|pod| !is_leaving(pod)).collect();
    let highest = victims.iter().map(|pod| pod.priority).max();
    let sum: i64 = victims.iter().map(|pod| i64::from(pod.priority)).sum();
    let broken = victims.iter().filter(|pod| is_protected(cluster, pod)).count();
    let earliest = victims
        .iter()
        .filter(|pod| Some(pod.priority) == highest)
        .map(|pod| started(pod))
        .min()
        .flatten();
    (
        broken,
        highest,
        sum,
        victims.len(),
        Reverse(earliest),
        node.to_owned(),
    )
}
