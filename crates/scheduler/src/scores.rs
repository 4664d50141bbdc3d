//! Where a pod should go among the nodes where it can.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::{Affinity, PodAffinityTerm};
use reconcile::node_selectors;

use crate::{
    cluster::Cluster,
    demand::Demand,
    filters::{applies, is_of_kind, tolerates},
    node::Node,
};

/// The best a node can be in one respect.
const FULL: i64 = 100;

/// One score for each node; higher is better.
pub(crate) fn score(cluster: &Cluster, demand: &Demand, nodes: &[&Node]) -> Vec<i64> {
    let fixed = fixed(cluster, demand, nodes).into_iter();
    fixed
        .zip(nodes)
        .map(|(fixed, node)| fixed + own(demand, node))
        .collect()
}

/// What depends on how full the node itself is.
pub(crate) fn own(demand: &Demand, node: &Node) -> i64 {
    room(demand, node) + balance(demand, node)
}

/// What depends on the node's marks and on its place among the others.
pub(crate) fn fixed(cluster: &Cluster, demand: &Demand, nodes: &[&Node]) -> Vec<i64> {
    if nodes.len() < 2 {
        return vec![0; nodes.len()];
    }
    let mut total = vec![0; nodes.len()];
    let mut add = |weight: i64, scores: Vec<i64>| {
        for (total, score) in total.iter_mut().zip(scores) {
            *total += weight * score;
        }
    };
    let each = |score: &dyn Fn(&Node) -> i64| nodes.iter().map(|node| score(node)).collect::<Vec<_>>();
    add(3, scaled(each(&|node| -untolerated(demand, node))));
    add(2, scaled(each(&|node| preference(demand, node))));
    add(2, scaled(company(cluster, demand, nodes)));
    add(2, scaled(scatter(cluster, demand, nodes)));
    add(1, images(demand, nodes));
    total
}

/// Brings raw scores to 0..=100 by the distance between the worst and the best.
fn scaled(raw: Vec<i64>) -> Vec<i64> {
    let (Some(least), Some(most)) = (raw.iter().min().copied(), raw.iter().max().copied()) else {
        return raw;
    };
    match most - least {
        0 => vec![0; raw.len()],
        span => raw
            .into_iter()
            .map(|score| (score - least) * FULL / span)
            .collect(),
    }
}

/// How much is left: CPU and memory are spread, so that nobody is crowded. Devices are packed, so that
/// whole nodes stay free for the jobs that need many of them.
fn room(demand: &Demand, node: &Node) -> i64 {
    let devices = demand
        .requests
        .iter()
        .filter(|(name, amount)| is_device(name) && *amount > 0);
    let packed: Vec<i64> = devices
        .map(|(name, _)| FULL - share_left(demand, node, name))
        .collect();
    if !packed.is_empty() {
        return packed.iter().sum::<i64>() / i64::try_from(packed.len()).unwrap_or(1);
    }
    i64::midpoint(
        share_left(demand, node, "cpu"),
        share_left(demand, node, "memory"),
    )
}

fn is_device(name: &str) -> bool {
    name.contains('/')
}

/// Percent of a resource that would be free with the pod on the node.
fn share_left(demand: &Demand, node: &Node, name: &str) -> i64 {
    let all = node.allocatable.get(name);
    let left = (node.free(name) - demand.requests.get(name)).max(0);
    if all == 0 {
        0
    } else {
        left.saturating_mul(FULL) / all
    }
}

/// Best where CPU and memory would be used alike: neither is left over without the other.
fn balance(demand: &Demand, node: &Node) -> i64 {
    FULL - (share_left(demand, node, "cpu") - share_left(demand, node, "memory")).abs()
}

/// Taints that only advise against the node.
fn untolerated(demand: &Demand, node: &Node) -> i64 {
    let advice = node
        .taints
        .iter()
        .filter(|taint| taint.effect == "PreferNoSchedule");
    let count = advice.filter(|taint| !tolerates(demand, taint)).count();
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn affinity(demand: &Demand) -> Option<&Affinity> {
    demand.pod.spec.as_ref()?.affinity.as_ref()
}

/// The weights of the node terms the pod prefers and the node meets.
fn preference(demand: &Demand, node: &Node) -> i64 {
    let preferred = affinity(demand)
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|affinity| {
            affinity
                .preferred_during_scheduling_ignored_during_execution
                .as_ref()
        });
    let met = preferred
        .into_iter()
        .flatten()
        .filter(|term| node_selectors::matches_term(&term.preference, &node.name, &node.labels));
    met.map(|term| i64::from(term.weight)).sum()
}

/// The weights of the pods the pod would like to be near, less those it would like to avoid.
fn company(cluster: &Cluster, demand: &Demand, nodes: &[&Node]) -> Vec<i64> {
    let wishes = wishes(demand);
    let mut by_place: HashMap<(&str, &str), i64> = HashMap::new();
    if !wishes.is_empty() {
        for (node, other) in cluster.placed() {
            for (term, weight) in &wishes {
                if let Some(value) = node.labels.get(&term.topology_key)
                    && applies(cluster, &demand.pod, term, &other.pod)
                {
                    *by_place.entry((&term.topology_key, value)).or_default() += weight;
                }
            }
        }
    }
    let here = |node: &&Node| {
        let places = by_place
            .iter()
            .filter(|((key, value), _)| node.labels.get(*key).is_some_and(|own| own == value));
        places.map(|(_, weight)| weight).sum()
    };
    nodes.iter().map(here).collect()
}

fn wishes(demand: &Demand) -> Vec<(&PodAffinityTerm, i64)> {
    let Some(affinity) = affinity(demand) else {
        return Vec::new();
    };
    let near = affinity
        .pod_affinity
        .iter()
        .flat_map(|near| {
            near.preferred_during_scheduling_ignored_during_execution
                .iter()
                .flatten()
        })
        .map(|term| (&term.pod_affinity_term, i64::from(term.weight)));
    let far = affinity
        .pod_anti_affinity
        .iter()
        .flat_map(|far| {
            far.preferred_during_scheduling_ignored_during_execution
                .iter()
                .flatten()
        })
        .map(|term| (&term.pod_affinity_term, -i64::from(term.weight)));
    near.chain(far).collect()
}

/// Fewer pods of the same kind around are better, as constraints that may be broken ask for.
fn scatter(cluster: &Cluster, demand: &Demand, nodes: &[&Node]) -> Vec<i64> {
    let spec = demand.pod.spec.as_ref();
    let constraints = spec.and_then(|spec| spec.topology_spread_constraints.as_ref());
    let mut total = vec![0; nodes.len()];
    let wishes = constraints
        .into_iter()
        .flatten()
        .filter(|constraint| constraint.when_unsatisfiable == "ScheduleAnyway");
    for constraint in wishes {
        let mut found: HashMap<&str, i64> = HashMap::new();
        for (node, other) in cluster.placed() {
            if let Some(value) = node.labels.get(&constraint.topology_key)
                && other.namespace() == demand.namespace()
                && is_of_kind(constraint, &demand.pod, &other.pod)
            {
                *found.entry(value).or_default() += 1;
            }
        }
        for (total, node) in total.iter_mut().zip(nodes) {
            let value = node.labels.get(&constraint.topology_key);
            *total -= value
                .and_then(|value| found.get(value.as_str()))
                .copied()
                .unwrap_or_default();
        }
    }
    total
}

/// Images that need not be fetched, from 23 MB a pod to 1 GB a container; one that is on few nodes
/// counts less, so that not all pods go there.
fn images(demand: &Demand, nodes: &[&Node]) -> Vec<i64> {
    const MB: i64 = 1 << 20;
    let containers = demand.pod.spec.iter().flat_map(|spec| &spec.containers);
    let images: Vec<&str> = containers
        .filter_map(|container| container.image.as_deref())
        .collect();
    let all = i64::try_from(nodes.len()).unwrap_or(i64::MAX);
    let mut total = vec![0_i64; nodes.len()];
    for image in &images {
        let having = nodes
            .iter()
            .filter(|node| node.images.contains_key(*image))
            .count();
        let having = i64::try_from(having).unwrap_or(i64::MAX);
        for (total, node) in total.iter_mut().zip(nodes) {
            let size = node.images.get(*image).copied().unwrap_or_default();
            *total += size.saturating_mul(having) / all;
        }
    }
    let (least, most) = (
        23 * MB,
        1000 * MB * i64::try_from(images.len().max(1)).unwrap_or(1),
    );
    let score = |bytes: i64| FULL * (bytes.clamp(least, most) - least) / (most - least);
    total.into_iter().map(score).collect()
}
