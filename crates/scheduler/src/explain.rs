//! Why a pod waits, in one message: the counts Kubernetes users know, and then the numbers behind
//! them: what is needed, what is free, and who holds the rest.

mod holders;
mod queue;
mod shortages;

use crate::{cluster::Cluster, demand::Demand, placement::Unplaceable, preemption::may_not_preempt};

pub(crate) use queue::behind;
pub(crate) use shortages::shortages;

/// What is done for a pod that finds no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Help {
    /// Nobody leaves for it.
    None,
    /// Others are leaving for it.
    Coming,
    /// Others could leave, but their places are not enough for its group.
    NotEnough,
}

/// Why the pod waits and nobody makes room for it.
pub fn explain(cluster: &Cluster, demand: &Demand, failure: &Unplaceable) -> String {
    told(demand, failure, &shortages(cluster, demand, failure), Help::None)
}

/// Why the pod waits, with the numbers as they were when it found no place.
pub(crate) fn told(demand: &Demand, failure: &Unplaceable, shortages: &str, help: Help) -> String {
    let nodes = failure.nodes;
    let preemption = match help {
        Help::Coming => String::new(),
        _ if nodes == 0 => String::new(),
        Help::NotEnough if !may_not_preempt(demand) => format!(
            " preemption: 0/{nodes} nodes are available: {nodes} Preemption is not helpful for scheduling."
        ),
        _ => format!(" preemption: {}", without_preemption(demand, failure)),
    };
    counts(failure) + &preemption + shortages
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
        .map(|(reason, nodes)| format!("{} {reason}", nodes.len()))
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

#[cfg(test)]
mod tests;
