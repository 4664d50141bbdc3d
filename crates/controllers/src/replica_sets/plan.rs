//! How many pods to make, which to delete, and what to say of it. Pure.

use std::{cmp::Ordering, collections::HashMap, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use reconcile::Next;
use serde_json::{Value, json};

use super::replicated::Replicated;
use crate::pods::{
    health,
    order::{self, Candidate},
};

/// At most so many pods are made or deleted at one go, so that a mistyped number can be corrected.
const BURST: usize = 500;

#[derive(Debug)]
pub(crate) struct Plan {
    pub create: usize,
    pub delete: Vec<Arc<Pod>>,
    pub next: Next,
}

pub(crate) fn plan<R: Replicated>(set: &R, pods: &[Arc<Pod>], now: Timestamp) -> Plan {
    let active: Vec<&Arc<Pod>> = pods.iter().filter(|pod| health::is_active(pod)).collect();
    let wanted = usize::try_from(set.replicas()).unwrap_or_default();
    let next = next_look(set, &active, now);
    let (create, delete) = match active.len().cmp(&wanted) {
        // A set that is being deleted leaves its pods to the garbage collector.
        _ if set.meta().deletion_timestamp.is_some() => (0, Vec::new()),
        Ordering::Equal => (0, Vec::new()),
        Ordering::Less => ((wanted - active.len()).min(BURST), Vec::new()),
        Ordering::Greater => (0, victims(&active, (active.len() - wanted).min(BURST), now)),
    };
    Plan { create, delete, next }
}

fn victims(active: &[&Arc<Pod>], count: usize, now: Timestamp) -> Vec<Arc<Pod>> {
    let mut on_node: HashMap<&str, usize> = HashMap::new();
    for pod in active {
        *on_node.entry(node(pod)).or_default() += 1;
    }
    let mut candidates: Vec<(Candidate<'_>, &Arc<Pod>)> = active
        .iter()
        .map(|pod| {
            let neighbours = on_node[node(pod)];
            (Candidate { pod, neighbours }, *pod)
        })
        .collect();
    candidates.sort_by(|(one, _), (other, _)| order::compare(one, other, now));
    candidates
        .into_iter()
        .take(count)
        .map(|(_, pod)| pod.clone())
        .collect()
}

fn node(pod: &Pod) -> &str {
    let spec = pod.spec.as_ref();
    spec.and_then(|spec| spec.node_name.as_deref())
        .unwrap_or_default()
}

/// When the first of the ready pods becomes available without anything else happening.
fn next_look<R: Replicated>(set: &R, active: &[&Arc<Pod>], now: Timestamp) -> Next {
    let waits = active
        .iter()
        .filter_map(|pod| health::available_in(pod, set.min_ready_seconds(), now))
        .filter(SignedDuration::is_positive);
    let soonest = waits.min().and_then(|wait| Duration::try_from(wait).ok());
    soonest.map_or(Next::Wait, Next::After)
}

/// The changes that make the status true; `None` if it is.
pub(crate) fn status<R: Replicated>(
    set: &R,
    pods: &[Arc<Pod>],
    failure: Option<String>,
    now: Timestamp,
) -> Option<Value> {
    let active: Vec<&Arc<Pod>> = pods.iter().filter(|pod| health::is_active(pod)).collect();
    let is_available = |pod: &&&Arc<Pod>| {
        health::available_in(pod, set.min_ready_seconds(), now).is_some_and(|wait| wait.is_zero())
    };
    let before = set.status();
    let is_too_many = i32::try_from(active.len()).is_ok_and(|count| count > set.replicas());
    let reason = if is_too_many {
        "FailedDelete"
    } else {
        "FailedCreate"
    };
    let mut wanted = json!({
        "replicas": active.len(),
        "observedGeneration": set.meta().generation,
        "conditions": conditions(&before, failure.map(|message| (reason, message)), now),
    });
    let counts = [
        (
            "fullyLabeledReplicas",
            active.iter().filter(|pod| is_fully_labeled(set, pod)).count(),
        ),
        (
            "readyReplicas",
            active.iter().filter(|pod| health::is_ready(pod)).count(),
        ),
        ("availableReplicas", active.iter().filter(is_available).count()),
    ];
    for (name, count) in counts {
        wanted[name] = if count == 0 { Value::Null } else { json!(count) };
    }
    let is_true = wanted
        .as_object()
        .is_some_and(|fields| fields.iter().all(|(name, value)| before[name] == *value));
    (!is_true).then_some(wanted)
}

fn is_fully_labeled<R: Replicated>(set: &R, pod: &Pod) -> bool {
    let template = set.template().and_then(|template| template.metadata.as_ref());
    let wanted = template.and_then(|meta| meta.labels.as_ref());
    let labels = pod.metadata.labels.as_ref();
    wanted.is_none_or(|wanted| {
        wanted
            .iter()
            .all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
    })
}

/// A failure to make or delete pods is told once and taken back when it is over. Its message names the
/// pod, which has another name at each attempt: the same reason is the same failure, or telling of it
/// would be a change that leads to the next attempt at once.
fn conditions(before: &Value, failure: Option<(&str, String)>, now: Timestamp) -> Value {
    let known = before["conditions"].as_array().cloned().unwrap_or_default();
    let (failures, mut conditions): (Vec<Value>, Vec<Value>) = known
        .into_iter()
        .partition(|condition| condition["type"] == "ReplicaFailure");
    if let Some((reason, message)) = failure {
        let unchanged = failures
            .into_iter()
            .find(|known| known["status"] == "True" && known["reason"] == reason);
        conditions.push(unchanged.unwrap_or_else(|| {
            json!({
                "type": "ReplicaFailure",
                "status": "True",
                "reason": reason,
                "message": message,
                "lastTransitionTime": now.round(jiff::Unit::Second).unwrap_or(now),
            })
        }));
    }
    if conditions.is_empty() {
        Value::Null
    } else {
        Value::Array(conditions)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::ReplicaSet;

    use super::*;

    fn set(replicas: i32) -> ReplicaSet {
        serde_json::from_value(json!({
            "metadata": {"name": "s", "namespace": "n", "uid": "u", "generation": 3},
            "spec": {"replicas": replicas, "minReadySeconds": 10, "selector": {"matchLabels": {"app": "a"}},
                "template": {"metadata": {"labels": {"app": "a", "tier": "t"}}}},
        }))
        .unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod(name: &str, ready_since: Option<i64>) -> Arc<Pod> {
        let conditions: Vec<Value> = ready_since
            .map(|second| json!({"type": "Ready", "status": "True", "lastTransitionTime": at(second)}))
            .into_iter()
            .collect();
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": name, "uid": name, "labels": {"app": "a"}},
                "spec": {"nodeName": "node", "containers": []},
                "status": {"phase": "Running", "conditions": conditions},
            }))
            .unwrap(),
        )
    }

    #[test]
    fn missing_pods_are_made_and_finished_ones_do_not_count() {
        let mut finished = (*pod("b", None)).clone();
        finished.status.as_mut().unwrap().phase = Some("Failed".into());
        let plan = plan(&set(3), &[pod("a", None), Arc::new(finished)], at(0));
        assert_eq!((plan.create, plan.delete.len()), (2, 0));
    }

    #[test]
    fn the_surplus_goes_and_what_is_not_ready_goes_first() {
        let pods = [pod("a", Some(1)), pod("b", None), pod("c", Some(1))];
        let plan = plan(&set(2), &pods, at(100));
        let names: Vec<_> = plan
            .delete
            .iter()
            .filter_map(|pod| pod.metadata.name.as_deref())
            .collect();
        assert_eq!(names, ["b"]);
    }

    #[test]
    fn one_go_is_bounded() {
        assert_eq!(plan(&set(10_000), &[], at(0)).create, BURST);
    }

    #[test]
    fn a_ready_pod_is_looked_at_again_when_it_becomes_available() {
        let plan = plan(&set(1), &[pod("a", Some(100))], at(104));
        assert_eq!(plan.next, Next::After(Duration::from_secs(6)));
    }

    #[test]
    fn a_set_that_is_being_deleted_makes_nothing() {
        let mut set = set(3);
        set.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        assert_eq!(plan(&set, &[], at(0)).create, 0);
    }

    #[test]
    fn the_status_counts_and_is_written_once() {
        let pods = [pod("a", Some(1)), pod("b", Some(98)), pod("c", None)];
        let mut set = set(3);
        let wanted = status(&set, &pods, None, at(100)).unwrap();
        assert_eq!(
            wanted,
            json!({"replicas": 3, "observedGeneration": 3, "conditions": null,
                "fullyLabeledReplicas": null, "readyReplicas": 2, "availableReplicas": 1})
        );
        set.status = serde_json::from_value(wanted).unwrap();
        assert!(status(&set, &pods, None, at(100)).is_none());
    }

    #[test]
    fn a_failure_is_told_once_and_taken_back() {
        let mut set = set(1);
        let refusal = |name: &str| Some(format!("pods \"{name}\" is forbidden: exceeded quota"));
        let failed = status(&set, &[], refusal("s-2x7bq"), at(5)).unwrap();
        assert_eq!(failed["conditions"][0]["reason"], "FailedCreate");
        set.status = serde_json::from_value(failed).unwrap();
        assert!(status(&set, &[], refusal("s-9kd4w"), at(9)).is_none());
        let too_many = [pod("a", None), pod("b", None)];
        let other = status(&set, &too_many, Some("no".into()), at(9)).unwrap();
        assert_eq!(other["conditions"][0]["reason"], "FailedDelete");
        assert_eq!(status(&set, &[], None, at(9)).unwrap()["conditions"], Value::Null);
    }
}
