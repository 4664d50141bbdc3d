//! Causes that concern the cluster itself: no pod starts there, whatever it asks for.

use super::{
    causes::{Cause, Class, Observed},
    of_job,
};
use crate::{
    ailments::{self, Ailment},
    jobs::job::text,
};

/// Warnings that follow from a cluster that is ill.
pub(super) const EXPLAINED: [&str; 4] = [
    "FailedScheduling",
    "FailedCreatePodSandBox",
    "NetworkNotReady",
    "NodeNotReady",
];

pub(super) fn causes(observed: &Observed, command: &dyn Fn(&str) -> String) -> Vec<Cause> {
    if observed.subject.has_succeeded() || observed.subject.has_failed() || !waits(observed) {
        return Vec::new();
    }
    let mut found: Vec<Ailment> = Vec::new();
    if let Some(machine) = &observed.machine {
        found.extend(machine.disk.clone());
    }
    found.extend(nodes(observed, command));
    let told = |ailment: Ailment| {
        // A network that is down is told of once, also when it has died again.
        let topic = if ailment.what.contains("network") {
            "network".to_owned()
        } else {
            ailment.what.clone()
        };
        let cause = Cause::new(Class::Cluster, ailment.what).about(topic);
        cause.advise(ailment.hint)
    };
    found.into_iter().map(told).collect()
}

/// Whether a cause says in other words that the cluster is ill, or follows from that.
pub(super) fn accounts_for(cause: &Cause) -> bool {
    let is_unnoticed = cause.class == Class::Held && cause.what == of_job::UNNOTICED_WORDS;
    is_unnoticed
        || cause.class == Class::Unplaced
            && (cause.what.contains("{node.kubernetes.io/") || cause.what.contains("no nodes available"))
}

/// Whether some of its pods have not started, or are not there yet.
fn waits(observed: &Observed) -> bool {
    let runs = |phase: &str| ["Running", "Succeeded"].contains(&phase);
    observed.pods.is_empty()
        || observed
            .pods
            .iter()
            .any(|(_, pod)| !runs(text(&pod["status"]["phase"])))
}

/// What is wrong with the nodes, where it is in the way: of several, those that are well take the pods.
fn nodes(observed: &Observed, command: &dyn Fn(&str) -> String) -> Vec<Ailment> {
    let Some(nodes) = &observed.nodes else {
        return Vec::new();
    };
    let dir = observed.machine.as_ref().map(|machine| machine.dir.as_path());
    if nodes.is_empty()
        && observed
            .machine
            .as_ref()
            .is_some_and(|machine| !machine.runs_pods)
    {
        return vec![ailments::without_pods(&command("down"), &command("up"))];
    }
    let is_placed_on = |node: &&serde_json::Value| {
        observed
            .pods
            .iter()
            .any(|(_, pod)| pod["spec"]["nodeName"] == node["metadata"]["name"])
    };
    if nodes.iter().any(ailments::is_ready) && observed.machine.is_none() {
        let own: Vec<_> = nodes.iter().filter(is_placed_on).cloned().collect();
        return if own.is_empty() {
            Vec::new()
        } else {
            ailments::of_nodes(&own, None)
        };
    }
    ailments::of_nodes(nodes, dir)
}
