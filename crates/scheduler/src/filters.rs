//! Where a pod can go. Each filter says of one node why not, in the words users know.

mod pod_affinity;
mod resources;
mod spread;
mod taints;
mod volumes;

use k8s_openapi::api::core::v1::Taint;
use reconcile::{demands::Port, node_selectors};

use crate::{cluster::Cluster, demand::Demand, node::Node, placement::Refusal};

pub(crate) use pod_affinity::{PodAffinity, applies, required_far};
pub(crate) use resources::reason as shortage_reason;
pub(crate) use spread::{Spread, is_of_kind};
pub(crate) use taints::tolerates;
pub(crate) use volumes::Volumes;

/// That a node's ports are taken.
pub(crate) const PORTS_TAKEN: &str = "node(s) didn't have free ports for the requested pod ports";

/// What is worked out once for a pod, before the nodes are looked at one by one.
pub(crate) struct Prepared<'a> {
    pub demand: &'a Demand,
    pub affinity: PodAffinity<'a>,
    pub spread: Spread<'a>,
    pub volumes: Volumes<'a>,
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(cluster: &'a Cluster, demand: &'a Demand) -> Self {
        Self {
            demand,
            affinity: PodAffinity::new(cluster, demand),
            spread: Spread::new(cluster, demand),
            volumes: Volumes::new(cluster, demand),
        }
    }

    /// Why the pod cannot go to the node; nothing if it can. The first filter that objects speaks,
    /// with all of its reasons.
    pub(crate) fn objections(&self, node: &Node) -> Vec<Refusal> {
        let filters: [&dyn Fn() -> Vec<Refusal>; 9] = [
            &|| cordon(self.demand, node),
            &|| node_name(self.demand, node),
            &|| taints::objections(self.demand, node),
            &|| node_affinity(self.demand, node),
            &|| ports(self.demand, node),
            &|| resources::objections(self.demand, node),
            &|| self.volumes.objections(node),
            &|| self.spread.objections(node),
            &|| self.affinity.objections(node),
        ];
        let mut objections = filters.iter().map(|filter| filter());
        objections
            .find(|objections| !objections.is_empty())
            .unwrap_or_default()
    }
}

fn cordon(demand: &Demand, node: &Node) -> Vec<Refusal> {
    let taint = Taint {
        key: "node.kubernetes.io/unschedulable".into(),
        effect: "NoSchedule".into(),
        ..Taint::default()
    };
    (node.is_cordoned && !tolerates(demand, &taint))
        .then(|| Refusal::lasting("node(s) were unschedulable"))
        .into_iter()
        .collect()
}

fn node_name(demand: &Demand, node: &Node) -> Vec<Refusal> {
    let wanted = demand
        .pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_name.as_deref());
    wanted
        .filter(|wanted| *wanted != &*node.name)
        .map(|_| Refusal::lasting("node(s) didn't match the requested node name"))
        .into_iter()
        .collect()
}

fn node_affinity(demand: &Demand, node: &Node) -> Vec<Refusal> {
    (!is_wanted(demand, node))
        .then(|| Refusal::lasting("node(s) didn't match Pod's node affinity/selector"))
        .into_iter()
        .collect()
}

/// Whether the node has what the pod's node selector and node affinity ask for.
fn is_wanted(demand: &Demand, node: &Node) -> bool {
    let spec = demand.pod.spec.as_ref();
    spec.is_none_or(|spec| node_selectors::admits(spec, &node.name, &node.labels))
}

fn ports(demand: &Demand, node: &Node) -> Vec<Refusal> {
    let taken = |port: &&Port| {
        let mut others = node.pods.iter().flat_map(|pod| &pod.ports);
        others.any(|other| port.collides(other))
    };
    let collision = demand.ports.iter().find(taken);
    collision
        .map(|_| Refusal::passing(PORTS_TAKEN))
        .into_iter()
        .collect()
}
