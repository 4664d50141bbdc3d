//! What a pod on a simulated node does next. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use serde_json::Value;

use crate::status;

/// How long the containers of a pod run: a number of seconds, with or without an `s`. Without it pods
/// of Jobs run for a second, and others until they are deleted.
pub const DURATION: &str = "trainyard.dev/simulated-duration";

/// What the containers end with; 0 without it.
pub const EXIT_CODE: &str = "trainyard.dev/simulated-exit-code";

const OF_JOBS: SignedDuration = SignedDuration::from_secs(1);

#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    Nothing,
    Wait(Duration),
    Report(Value),
    /// It was deleted, and its containers are gone.
    Remove,
}

pub(crate) fn step(pod: &Pod, now: Timestamp) -> Step {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let is_over = matches!(phase, Some("Succeeded" | "Failed"));
    if pod.metadata.deletion_timestamp.is_some() {
        return Step::Remove;
    }
    if is_over {
        return Step::Nothing;
    }
    let Some(started) = running_since(pod) else {
        return Step::Report(status::running(pod, now, 0));
    };
    let Some(duration) = duration(pod) else {
        return Step::Nothing;
    };
    match Duration::try_from(duration - now.duration_since(started)) {
        Ok(left) if !left.is_zero() => Step::Wait(left),
        _ => end(pod, now),
    }
}

/// The containers have ended: they start again, or the pod is over.
fn end(pod: &Pod, now: Timestamp) -> Step {
    let code = exit_code(pod);
    let policy = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
    let restarts = match (policy, code) {
        (Some("Never"), _) | (Some("OnFailure"), 0) => None,
        _ => Some(first(pod).map_or(0, |container| container.restart_count) + 1),
    };
    Step::Report(match restarts {
        Some(count) => status::running(pod, now, count),
        None => status::ended(pod, now, code),
    })
}

fn first(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

/// Since when the containers run.
pub(crate) fn running_since(pod: &Pod) -> Option<Timestamp> {
    let state = first(pod)?.state.as_ref()?.running.as_ref()?;
    state.started_at.as_ref().map(|time| time.0)
}

fn annotation<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn duration(pod: &Pod) -> Option<SignedDuration> {
    let text = annotation(pod, DURATION);
    let seconds = text.and_then(|text| text.trim_end_matches('s').parse::<f64>().ok());
    let seconds = seconds.and_then(|seconds| SignedDuration::try_from_secs_f64(seconds).ok());
    let mut owners = pod.metadata.owner_references.iter().flatten();
    let is_of_job = owners.any(|owner| owner.controller == Some(true) && owner.kind == "Job");
    seconds.or(is_of_job.then_some(OF_JOBS))
}

fn exit_code(pod: &Pod) -> i32 {
    let code = annotation(pod, EXIT_CODE).and_then(|code| code.parse().ok());
    code.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(extra: Value, status: Value) -> Pod {
        let mut object = json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "6d1f"},
            "spec": {"nodeName": "simulated-0001", "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "i"}]},
            "status": status,
        });
        for (field, value) in extra.as_object().into_iter().flatten() {
            object["metadata"][field] = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// The status after a report.
    fn reported(pod: &Pod, second: i64) -> Value {
        match step(pod, at(second)) {
            Step::Report(status) => status,
            step => panic!("{step:?}"),
        }
    }

    #[test]
    fn a_pod_runs_until_its_time_is_up() {
        let annotations = json!({"annotations": {DURATION: "5s", EXIT_CODE: "3"}});
        let running = reported(&pod(annotations.clone(), json!({"phase": "Pending"})), 100);
        assert_eq!(running["phase"], "Running");
        let pod = pod(annotations, running);
        assert_eq!(step(&pod, at(102)), Step::Wait(Duration::from_secs(3)));
        let ended = reported(&pod, 105);
        assert_eq!(ended["phase"], "Failed");
        assert_eq!(
            ended["containerStatuses"][0]["state"]["terminated"]["exitCode"],
            3
        );
    }

    #[test]
    fn a_pod_without_a_time_runs_on_and_one_of_a_job_for_a_second() {
        let running = reported(&pod(json!({}), json!({})), 100);
        assert_eq!(step(&pod(json!({}), running.clone()), at(9_999)), Step::Nothing);
        let owner = json!({"ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": true},
        ]});
        assert_eq!(reported(&pod(owner, running), 101)["phase"], "Succeeded");
    }

    #[test]
    fn containers_that_must_run_always_start_again() {
        let annotations = json!({"annotations": {DURATION: "1"}});
        let mut pod = pod(annotations, json!({}));
        pod.spec.as_mut().unwrap().restart_policy = Some("Always".into());
        let running = reported(&pod, 100);
        pod.status = serde_json::from_value(running).unwrap();
        let again = reported(&pod, 101);
        assert_eq!(again["phase"], "Running");
        assert_eq!(again["containerStatuses"][0]["restartCount"], 1);
    }

    #[test]
    fn a_deleted_pod_goes() {
        let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        assert_eq!(
            step(&pod(deleted, json!({"phase": "Running"})), at(0)),
            Step::Remove
        );
    }
}
