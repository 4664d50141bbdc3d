//! The node for a pod, or why there is none.

use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap};

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
    /// How many nodes gave which reason.
    pub reasons: BTreeMap<String, usize>,
    /// Nodes that would do if other pods left.
    pub hopeful: Vec<String>,
}

/// The best node for the pod.
pub fn place(cluster: &Cluster, demand: &Demand) -> Result<String, Unplaceable> {
    let prepared = Prepared::new(cluster, demand);
    let mut failure = Unplaceable {
        nodes: cluster.nodes().len(),
        ..Unplaceable::default()
    };
    let mut possible: Vec<&Node> = Vec::new();
    for node in cluster.nodes() {
        let objections = prepared.objections(node);
        if objections.is_empty() {
            possible.push(node);
            continue;
        }
        if objections.iter().all(|refusal| !refusal.is_lasting) {
            failure.hopeful.push(node.name.clone());
        }
        for refusal in objections {
            *failure.reasons.entry(refusal.reason.into_owned()).or_default() += 1;
        }
    }
    let scored = scores::score(cluster, demand, &possible);
    let best = possible
        .into_iter()
        .zip(scored)
        .max_by_key(|(node, score)| (*score, Reverse(node.pods.len()), Reverse(&node.name)));
    best.map(|(node, _)| node.name.clone()).ok_or(failure)
}
