//! What a pod lacks on the node that could best have taken it, and who holds it there.

use std::cmp::Reverse;

use super::holders::holders;
use crate::{
    amounts::shown,
    cluster::Cluster,
    demand::Demand,
    filters::{PORTS_TAKEN, shortage_reason},
    node::Node,
    placement::Unplaceable,
};

/// A sentence for each thing that is lacking, each with a space before it.
pub(crate) fn shortages(cluster: &Cluster, demand: &Demand, failure: &Unplaceable) -> String {
    let ports = ports(cluster, demand, failure);
    let resources = demand.requests.iter().filter_map(|(name, wanted)| {
        let nodes = refusing(cluster, failure, &shortage_reason(name));
        shortage(cluster, &nodes, demand, failure, (name, wanted))
    });
    let sentences = ports.into_iter().chain(resources);
    sentences.map(|sentence| format!(" {sentence}")).collect()
}

/// The nodes that gave a reason. Those that another filter kept the pod from have not been asked more.
fn refusing<'a>(cluster: &'a Cluster, failure: &Unplaceable, reason: &str) -> Vec<&'a Node> {
    let names = failure.reasons.get(reason).into_iter().flatten();
    names.filter_map(|name| cluster.node(name)).collect()
}

/// The node that could take the pod soonest: one that only other pods keep it from, with most to spare.
fn nearest<'a>(
    nodes: impl IntoIterator<Item = &'a Node>,
    failure: &Unplaceable,
    spare: impl Fn(&Node) -> i64,
) -> Option<&'a Node> {
    nodes
        .into_iter()
        .max_by_key(|node| (failure.can_hope_for(&node.name), spare(node), Reverse(&node.name)))
}

fn shortage(
    cluster: &Cluster,
    nodes: &[&Node],
    demand: &Demand,
    failure: &Unplaceable,
    (name, wanted): (&str, i64),
) -> Option<String> {
    let largest = nodes.iter().map(|node| node.allocatable.get(name)).max()?;
    let needs = format!("The pod needs {} {name}", shown(name, wanted));
    let large_enough = nodes.iter().copied();
    let large_enough = large_enough.filter(|node| node.allocatable.get(name) >= wanted);
    let Some(node) = nearest(large_enough, failure, |node| node.free(name)) else {
        let is_everywhere = cluster.nodes().all(|node| node.allocatable.get(name) <= largest);
        let which = if is_everywhere { "" } else { " that it may go to" };
        return Some(format!(
            "{needs}; no node{which} has more than {}.",
            shown(name, largest)
        ));
    };
    if name == "pods" {
        let (count, most) = (node.pods.len(), node.allocatable.get(name));
        return Some(format!(
            "Node {} has {count} pods and takes no more than {most}.",
            node.name
        ));
    }
    let free = shown(name, node.free(name).max(0));
    let held = match holders(&node.pods, name, demand).as_str() {
        "" => String::new(),
        holders => format!("; {holders}"),
    };
    Some(format!("{needs}; node {} has {free} free{held}.", node.name))
}

/// The ports that are taken on the node where the fewest are, and by whom.
fn ports(cluster: &Cluster, demand: &Demand, failure: &Unplaceable) -> Option<String> {
    let nodes = refusing(cluster, failure, PORTS_TAKEN);
    let taken_on = |node: &Node| i64::try_from(taken(demand, node).len()).unwrap_or(i64::MAX);
    let node = nearest(nodes, failure, |node| -taken_on(node))?;
    Some(format!(
        "On node {} {}.",
        node.name,
        taken(demand, node).join(", ")
    ))
}

/// `n/p holds port 80 (TCP)`, for each port that the pod needs and somebody has.
fn taken(demand: &Demand, node: &Node) -> Vec<String> {
    let wanted = demand.ports.iter();
    let holder = |port: &reconcile::demands::Port| {
        let mut pods = node.pods.iter();
        pods.find(|pod| pod.ports.iter().any(|other| port.collides(other)))
    };
    wanted
        .filter_map(|port| {
            let pod = holder(port)?;
            let (namespace, name) = (pod.namespace(), pod.name());
            Some(format!(
                "{namespace}/{name} holds port {} ({})",
                port.number, port.protocol
            ))
        })
        .collect()
}
