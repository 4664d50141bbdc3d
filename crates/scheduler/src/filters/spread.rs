//! Pods spread over zones, racks or nodes: no place may have many more of them than the emptiest.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::{Pod, TopologySpreadConstraint};
use reconcile::selectors;

use super::{is_wanted, tolerates};
use crate::{cluster::Cluster, demand::Demand, node::Node, placement::Refusal};

pub(crate) struct Spread<'a> {
    rules: Vec<Rule<'a>>,
}

struct Rule<'a> {
    constraint: &'a TopologySpreadConstraint,
    /// Pods of the kind by value of the topology key.
    found: HashMap<&'a str, usize>,
    fewest: usize,
    is_own_kind: bool,
}

impl<'a> Spread<'a> {
    pub(crate) fn new(cluster: &'a Cluster, demand: &'a Demand) -> Self {
        let constraints = demand
            .pod
            .spec
            .iter()
            .flat_map(|spec| spec.topology_spread_constraints.iter().flatten());
        let rules = constraints
            .filter(|constraint| constraint.when_unsatisfiable == "DoNotSchedule")
            .map(|constraint| Rule::new(cluster, demand, constraint))
            .collect();
        Self { rules }
    }

    pub(crate) fn objections(&self, node: &Node) -> Vec<Refusal> {
        let refusal = self.rules.iter().find_map(|rule| rule.objection(node));
        refusal.into_iter().collect()
    }
}

impl<'a> Rule<'a> {
    fn new(cluster: &'a Cluster, demand: &'a Demand, constraint: &'a TopologySpreadConstraint) -> Self {
        let mut found: HashMap<&str, usize> = HashMap::new();
        for node in cluster.nodes().filter(|node| counts(node, demand, constraint)) {
            let Some(value) = node.labels.get(&constraint.topology_key) else {
                continue;
            };
            let here = node.pods.iter().filter(|other| {
                other.namespace() == demand.namespace()
                    && other.pod.metadata.deletion_timestamp.is_none()
                    && is_of_kind(constraint, &demand.pod, &other.pod)
            });
            *found.entry(value.as_str()).or_default() += here.count();
        }
        let places = i32::try_from(found.len()).unwrap_or(i32::MAX);
        // With fewer places than there should be, the missing ones are empty.
        let fewest = match constraint.min_domains {
            Some(wanted) if places < wanted => 0,
            _ => found.values().min().copied().unwrap_or_default(),
        };
        Self {
            is_own_kind: is_of_kind(constraint, &demand.pod, &demand.pod),
            constraint,
            found,
            fewest,
        }
    }

    fn objection(&self, node: &Node) -> Option<Refusal> {
        let reason = "node(s) didn't match pod topology spread constraints";
        let Some(value) = node.labels.get(&self.constraint.topology_key) else {
            return Some(Refusal::lasting(format!("{reason} (missing required label)")));
        };
        let here =
            self.found.get(value.as_str()).copied().unwrap_or_default() + usize::from(self.is_own_kind);
        let skew = i32::try_from(here.saturating_sub(self.fewest)).unwrap_or(i32::MAX);
        (skew > self.constraint.max_skew).then(|| Refusal::passing(reason))
    }
}

pub(crate) fn is_of_kind(constraint: &TopologySpreadConstraint, owner: &Pod, pod: &Pod) -> bool {
    let labels = pod.metadata.labels.as_ref();
    let own = owner.metadata.labels.as_ref();
    let is_selected = constraint
        .label_selector
        .as_ref()
        .is_some_and(|selector| selectors::matches(selector, labels));
    let mut keys = constraint.match_label_keys.iter().flatten();
    is_selected
        && keys.all(|key| {
            let wanted = own.and_then(|own| own.get(key));
            wanted.is_none() || labels.and_then(|labels| labels.get(key)) == wanted
        })
}

/// Whether a node is one of the places: by default those the pod's own affinity allows, whatever
/// their taints.
fn counts(node: &Node, demand: &Demand, constraint: &TopologySpreadConstraint) -> bool {
    let honours_affinity = constraint.node_affinity_policy.as_deref() != Some("Ignore");
    let honours_taints = constraint.node_taints_policy.as_deref() == Some("Honor");
    (!honours_affinity || is_wanted(demand, node))
        && (!honours_taints
            || node
                .taints
                .iter()
                .filter(|taint| taint.effect != "PreferNoSchedule")
                .all(|taint| tolerates(demand, taint)))
}
