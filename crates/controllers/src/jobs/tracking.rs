//! What a job reads off its pods: whether one is still to be counted, its index, when it finished.
//!
//! A pod carries a finalizer until the job's status has taken note of how it ended, so that no end
//! is lost if the pod is deleted meanwhile, and none is counted twice.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use serde_json::{Value, json};

use crate::pods::health;

pub(crate) const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
pub(crate) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
pub(crate) const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
pub(crate) const IGNORED_FAILURES: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// Whether the status has yet to take note of the pod's end.
pub(crate) fn is_tracked(pod: &Pod) -> bool {
    let mut finalizers = pod.metadata.finalizers.iter().flatten();
    finalizers.any(|finalizer| finalizer == FINALIZER)
}

/// The patch that ends tracking.
pub(crate) fn end(pod: &Pod) -> Value {
    json!({"metadata": {"uid": pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [FINALIZER]}})
}

pub(crate) fn uid(pod: &Pod) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

pub(crate) fn index(pod: &Pod) -> Option<u32> {
    annotation(pod, INDEX)?.parse().ok()
}

/// How often pods of this index had failed before, by the limit of failures.
pub(crate) fn failures(pod: &Pod) -> i32 {
    count(pod, FAILURES)
}

/// How often they had failed without its being held against them.
pub(crate) fn ignored_failures(pod: &Pod) -> i32 {
    count(pod, IGNORED_FAILURES)
}

fn count(pod: &Pod, name: &str) -> i32 {
    let count = annotation(pod, name).and_then(|count| count.parse().ok());
    count.filter(|count| *count >= 0).unwrap_or_default()
}

fn annotation<'a>(pod: &'a Pod, name: &str) -> Option<&'a str> {
    let annotations = pod.metadata.annotations.as_ref()?;
    annotations.get(name).map(String::as_str)
}

/// Asked to stop and not yet stopped.
pub(crate) fn is_stopping(pod: &Pod) -> bool {
    health::is_terminating(pod) && !health::is_finished(pod)
}

/// The best evidence of when the pod ended: its containers, its readiness, its deletion, its birth.
pub(crate) fn finished_at(pod: &Pod) -> Timestamp {
    containers_finished_at(pod)
        .or_else(|| {
            let ready = health::condition(pod, "Ready").filter(|ready| ready.status == "False")?;
            Some(ready.last_transition_time.as_ref()?.0)
        })
        .or_else(|| deletion_asked_at(pod))
        .or_else(|| Some(pod.metadata.creation_timestamp.as_ref()?.0))
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

fn containers_finished_at(pod: &Pod) -> Option<Timestamp> {
    let status = pod.status.as_ref()?;
    // Sidecars end after the others.
    let init = pod
        .spec
        .iter()
        .flat_map(|spec| spec.init_containers.iter().flatten());
    let sidecars: Vec<&str> = init
        .filter(|container| container.restart_policy.as_deref() == Some("Always"))
        .map(|container| container.name.as_str())
        .collect();
    let of_sidecars = status.init_container_statuses.iter().flatten();
    let of_sidecars = of_sidecars.filter(|container| sidecars.contains(&container.name.as_str()));
    let statuses = status.container_statuses.iter().flatten().chain(of_sidecars);
    let ends: Option<Vec<Timestamp>> = statuses.map(container_finished_at).collect();
    ends?.into_iter().max()
}

fn container_finished_at(container: &ContainerStatus) -> Option<Timestamp> {
    let terminated = container.state.as_ref()?.terminated.as_ref()?;
    Some(terminated.finished_at.as_ref()?.0)
}

fn deletion_asked_at(pod: &Pod) -> Option<Timestamp> {
    let deadline = pod.metadata.deletion_timestamp.as_ref()?.0;
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
    deadline.checked_sub(SignedDuration::from_secs(grace)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finished(pod: Value, second: i64) {
        let pod: Pod = serde_json::from_value(pod).unwrap();
        assert_eq!(finished_at(&pod).as_second(), second);
    }

    fn at(second: i64) -> Value {
        json!(Timestamp::from_second(second).unwrap().to_string())
    }

    fn container(name: &str, second: i64) -> Value {
        let state = json!({"terminated": {"exitCode": 1, "finishedAt": at(second)}});
        json!({"name": name, "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state})
    }

    #[test]
    fn the_last_container_ends_the_pod_sidecars_included() {
        let mut pod = json!({
            "metadata": {"creationTimestamp": at(1)},
            "spec": {"containers": [], "initContainers": [
                {"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"},
            ]},
            "status": {
                "containerStatuses": [container("a", 20), container("b", 30)],
                "initContainerStatuses": [container("setup", 90), container("proxy", 40)],
            },
        });
        finished(pod.clone(), 40);
        pod["status"]["containerStatuses"][0]["state"] = json!({"running": {}});
        finished(pod, 1);
    }

    #[test]
    fn without_containers_readiness_then_deletion_tell() {
        let mut pod = json!({"metadata": {
            "creationTimestamp": at(1), "deletionTimestamp": at(50), "deletionGracePeriodSeconds": 30,
        }});
        finished(pod.clone(), 20);
        pod["status"] = json!({"conditions": [
            {"type": "Ready", "status": "False", "lastTransitionTime": at(15)},
        ]});
        finished(pod, 15);
    }

    #[test]
    fn an_index_or_count_that_is_none_is_not_believed() {
        let pod = |index: &str| -> Pod {
            serde_json::from_value(json!({"metadata": {"annotations": {INDEX: index, FAILURES: index}}}))
                .unwrap()
        };
        assert_eq!((index(&pod("3")), failures(&pod("3"))), (Some(3), 3));
        assert_eq!((index(&pod("-3")), failures(&pod("-3"))), (None, 0));
        assert_eq!((index(&pod("x")), failures(&pod("x"))), (None, 0));
    }
}
