//! Pods that want to be near others, or far from them: of the same node, rack, zone or whatever a
//! label of nodes names.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::api::core::v1::{Affinity, Pod, PodAffinityTerm};
use reconcile::selectors;

use crate::{cluster::Cluster, demand::Demand, node::Node, placement::Refusal};

/// A place: a label of nodes and its value.
type Topology<'a> = (&'a str, &'a str);

pub(crate) struct PodAffinity<'a> {
    near: &'a [PodAffinityTerm],
    far: &'a [PodAffinityTerm],
    /// How many pods each term of `near` finds in a place.
    near_in: Vec<HashMap<Topology<'a>, usize>>,
    far_in: Vec<HashMap<Topology<'a>, usize>>,
    /// Places whose pods do not want this one near.
    unwelcome: Vec<Topology<'a>>,
    /// Whether the pod matches all of its own `near` terms: the first of its kind may go anywhere.
    is_own_kind: bool,
}

impl<'a> PodAffinity<'a> {
    pub(crate) fn new(cluster: &'a Cluster, demand: &'a Demand) -> Self {
        let affinity = affinity(&demand.pod);
        let near = affinity
            .and_then(|affinity| affinity.pod_affinity.as_ref())
            .and_then(|near| {
                near.required_during_scheduling_ignored_during_execution
                    .as_deref()
            })
            .unwrap_or_default();
        let far = required_far(&demand.pod);
        let count = |term: &'a PodAffinityTerm| count(cluster, &demand.pod, term);
        let near_in: Vec<_> = near.iter().map(count).collect();
        Self {
            is_own_kind: near
                .iter()
                .all(|term| applies(cluster, &demand.pod, term, &demand.pod)),
            far_in: far.iter().map(count).collect(),
            unwelcome: unwelcome(cluster, demand),
            near_in,
            near,
            far,
        }
    }

    pub(crate) fn objections(&self, node: &Node) -> Vec<Refusal> {
        if !self.is_near_enough(node) {
            return vec![Refusal::lasting("node(s) didn't match pod affinity rules")];
        }
        if self
            .far
            .iter()
            .zip(&self.far_in)
            .any(|(term, found)| finds(term, found, node))
        {
            return vec![Refusal::passing("node(s) didn't match pod anti-affinity rules")];
        }
        let is_here = |(key, value): &Topology<'_>| node.labels.get(*key).is_some_and(|own| own == value);
        if self.unwelcome.iter().any(is_here) {
            let reason = "node(s) didn't satisfy existing pods anti-affinity rules";
            return vec![Refusal::passing(reason)];
        }
        Vec::new()
    }

    fn is_near_enough(&self, node: &Node) -> bool {
        let terms = || self.near.iter().zip(&self.near_in);
        if terms().all(|(term, found)| finds(term, found, node)) {
            return true;
        }
        // Nobody of its kind is anywhere: the first one has to go somewhere that has the labels.
        let is_first = self.near_in.iter().all(HashMap::is_empty) && self.is_own_kind;
        is_first
            && self
                .near
                .iter()
                .all(|term| node.labels.contains_key(&term.topology_key))
    }
}

fn finds(term: &PodAffinityTerm, found: &HashMap<Topology<'_>, usize>, node: &Node) -> bool {
    let value = node.labels.get(&term.topology_key);
    value.is_some_and(|value| found.contains_key(&(term.topology_key.as_str(), value.as_str())))
}

fn affinity(pod: &Pod) -> Option<&Affinity> {
    pod.spec.as_ref()?.affinity.as_ref()
}

pub(crate) fn required_far(pod: &Pod) -> &[PodAffinityTerm] {
    affinity(pod)
        .and_then(|affinity| affinity.pod_anti_affinity.as_ref())
        .and_then(|far| far.required_during_scheduling_ignored_during_execution.as_deref())
        .unwrap_or_default()
}

fn count<'a>(cluster: &'a Cluster, owner: &Pod, term: &'a PodAffinityTerm) -> HashMap<Topology<'a>, usize> {
    let mut found = HashMap::new();
    for (node, other) in cluster.placed() {
        let Some(value) = node.labels.get(&term.topology_key) else {
            continue;
        };
        if other.pod.metadata.deletion_timestamp.is_none() && applies(cluster, owner, term, &other.pod) {
            *found
                .entry((term.topology_key.as_str(), value.as_str()))
                .or_default() += 1;
        }
    }
    found
}

fn unwelcome<'a>(cluster: &'a Cluster, demand: &Demand) -> Vec<Topology<'a>> {
    let mut places = Vec::new();
    for (node, other) in cluster.guarded() {
        for term in required_far(&other.pod) {
            if let Some(value) = node.labels.get(&term.topology_key)
                && applies(cluster, &other.pod, term, &demand.pod)
            {
                places.push((term.topology_key.as_str(), value.as_str()));
            }
        }
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// Whether a term of `owner` is about the pod.
pub(crate) fn applies(cluster: &Cluster, owner: &Pod, term: &PodAffinityTerm, pod: &Pod) -> bool {
    let labels = pod.metadata.labels.as_ref();
    is_in_namespaces(cluster, owner, term, pod)
        && term
            .label_selector
            .as_ref()
            .is_some_and(|selector| selectors::matches(selector, labels))
        && own_values(owner, term.match_label_keys.as_deref(), labels, true)
        && own_values(owner, term.mismatch_label_keys.as_deref(), labels, false)
}

/// Labels that must (or must not) have the value they have on the owner.
fn own_values(
    owner: &Pod,
    keys: Option<&[String]>,
    labels: Option<&BTreeMap<String, String>>,
    must_equal: bool,
) -> bool {
    let own = owner.metadata.labels.as_ref();
    keys.unwrap_or_default().iter().all(|key| {
        let Some(value) = own.and_then(|own| own.get(key)) else {
            return true;
        };
        (labels.and_then(|labels| labels.get(key)) == Some(value)) == must_equal
    })
}

fn is_in_namespaces(cluster: &Cluster, owner: &Pod, term: &PodAffinityTerm, pod: &Pod) -> bool {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let listed = term.namespaces.as_deref().unwrap_or_default();
    let is_selected = term
        .namespace_selector
        .as_ref()
        .is_some_and(|selector| selectors::matches(selector, cluster.namespaces.get(namespace)));
    match (listed, &term.namespace_selector) {
        ([], None) => pod.metadata.namespace == owner.metadata.namespace,
        (listed, _) => is_selected || listed.iter().any(|listed| listed == namespace),
    }
}
