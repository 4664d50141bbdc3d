//! Which pods to give up first: those whose loss costs least.

use std::cmp::{Ordering, Reverse};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use super::health;

const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A pod and how many pods of its family share its node.
pub(crate) struct Candidate<'a> {
    pub pod: &'a Pod,
    pub neighbours: usize,
}

/// Less is given up earlier: not yet placed, not yet running, not ready, cheap by the user's own word,
/// on a crowded node, ready or made only lately, restarted often.
pub(crate) fn compare(one: &Candidate<'_>, other: &Candidate<'_>, now: Timestamp) -> Ordering {
    rank(one, now).cmp(&rank(other, now))
}

fn rank(candidate: &Candidate<'_>, now: Timestamp) -> impl Ord + use<> {
    let pod = candidate.pod;
    let is_placed = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    let phase = match health::phase(pod) {
        "Pending" => 0,
        "Unknown" => 1,
        _ => 2,
    };
    let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    (
        is_placed,
        phase,
        health::is_ready(pod),
        deletion_cost(pod),
        Reverse(candidate.neighbours),
        health::ready_since(pod).map(|since| age_class(since, now)),
        Reverse(restarts(pod)),
        created.map(|created| age_class(created, now)),
        // Ages of the same class are equal on purpose, so that bursts of pods are thinned out evenly;
        // the uid makes the choice the same each time.
        pod.metadata.uid.clone(),
    )
}

/// Ages on a logarithmic scale: 0, 1, 2–3, 4–7 … seconds.
fn age_class(since: Timestamp, now: Timestamp) -> u32 {
    let seconds = u64::try_from(now.duration_since(since).as_secs()).unwrap_or_default();
    u64::BITS - seconds.leading_zeros()
}

fn deletion_cost(pod: &Pod) -> i32 {
    let annotations = pod.metadata.annotations.as_ref();
    let cost = annotations.and_then(|annotations| annotations.get(COST));
    cost.and_then(|cost| cost.parse().ok()).unwrap_or_default()
}

fn restarts(pod: &Pod) -> i32 {
    let statuses = pod
        .status
        .iter()
        .filter_map(|status| status.container_statuses.as_ref());
    let counts = statuses.flatten().map(|container| container.restart_count);
    counts.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn first_to_go(one: Value, other: Value) -> Ordering {
        let pods = [one, other].map(|pod| serde_json::from_value::<Pod>(pod).unwrap());
        let [one, other] = pods.each_ref().map(|pod| Candidate { pod, neighbours: 1 });
        compare(&one, &other, Timestamp::from_second(1000).unwrap())
    }

    fn running(second: i64) -> Value {
        let time = Timestamp::from_second(second).unwrap();
        json!({
            "metadata": {"creationTimestamp": time},
            "spec": {"nodeName": "n", "containers": []},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": time},
            ]},
        })
    }

    #[test]
    fn a_pod_without_a_node_goes_before_a_running_one() {
        assert_eq!(first_to_go(json!({}), running(1)), Ordering::Less);
    }

    #[test]
    fn the_younger_goes_first_and_close_ages_are_equal() {
        assert_eq!(first_to_go(running(990), running(100)), Ordering::Less);
        assert_eq!(first_to_go(running(400), running(420)), Ordering::Equal);
    }

    #[test]
    fn the_users_own_word_outweighs_age() {
        let mut cheap = running(1);
        cheap["metadata"]["annotations"] = json!({ COST: "-5" });
        assert_eq!(first_to_go(cheap, running(999)), Ordering::Less);
    }
}
