//! The node for a pod, or why there is none.

use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap, sync::Arc};

use crate::{cluster::Cluster, demand::Demand, filters::Prepared, node::Node, scores};

/// Why a pod cannot go to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: Cow<'static, str>,
    /// It would stand even if other pods left.
    pub is_lasting: bool,
}

impl Refusal {
    pub(crate) fn lasting(reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason: reason.into(),
            is_lasting: true,
        }
    }

    pub(crate) fn passing(reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason: reason.into(),
            is_lasting: false,
        }
    }
}

/// A pod for which no node will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unplaceable {
    pub nodes: usize,
    /// What keeps it from every node.
    pub obstacle: Option<String>,
    /// Which nodes gave which reason.
    pub reasons: BTreeMap<String, Vec<Arc<str>>>,
    /// Nodes that would do if other pods left, in the order of their names.
    pub hopeful: Vec<String>,
}

impl Unplaceable {
    /// Whether the node would do if other pods left.
    pub(crate) fn can_hope_for(&self, node: &str) -> bool {
        self.hopeful
            .binary_search_by(|hopeful| hopeful.as_str().cmp(node))
            .is_ok()
    }
}

/// The best node for the pod.
pub fn place(cluster: &Cluster, demand: &Demand) -> Result<String, Unplaceable> {
    let prepared = Prepared::new(cluster, demand);
    let possible: Vec<&Node> = match prepared.volumes.obstacle() {
        Some(_) => Vec::new(),
        None => cluster
            .nodes()
            .filter(|node| prepared.objections(node).is_empty())
            .collect(),
    };
    let scored = scores::score(cluster, demand, &possible);
    let best = possible
        .into_iter()
        .zip(scored)
        .max_by_key(|(node, score)| (*score, Reverse(node.pods.len()), Reverse(&node.name)));
    best.map(|(node, _)| node.name.to_string())
        .ok_or_else(|| refusals(cluster, demand))
}

/// Why each node will not do.
pub(crate) fn refusals(cluster: &Cluster, demand: &Demand) -> Unplaceable {
    let prepared = Prepared::new(cluster, demand);
    let mut failure = Unplaceable {
        nodes: cluster.nodes().len(),
        obstacle: prepared.volumes.obstacle().map(str::to_owned),
        ..Unplaceable::default()
    };
    if failure.obstacle.is_some() {
        return failure;
    }
    for node in cluster.nodes() {
        let objections = prepared.objections(node);
        if objections.iter().all(|refusal| !refusal.is_lasting) {
            failure.hopeful.push(node.name.to_string());
        }
        for refusal in objections {
            let nodes = failure.reasons.entry(refusal.reason.into_owned()).or_default();
            nodes.push(node.name.clone());
        }
    }
    failure
}
