//! The status of a pod on a simulated node, as an agent would write it. Pure.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodCondition};
use serde_json::{Value, json};

use crate::{lifecycle::running_since, node};

/// Containers run, for the nth time after the first.
pub(crate) fn running(pod: &Pod, now: Timestamp, restarts: i32) -> Value {
    let state = json!({"running": {"startedAt": now}});
    let mut status = status(pod, now, "Running", "True", None);
    status["containerStatuses"] = containers(pod, true, restarts, &state);
    let started = pod.status.as_ref().and_then(|status| status.start_time.as_ref());
    status["startTime"] = json!(started.map_or(now, |time| time.0));
    let address = address(pod);
    status["podIP"] = json!(address);
    status["podIPs"] = json!([{"ip": address}]);
    let host = node::of(pod).map(node::address);
    status["hostIP"] = json!(host);
    status["hostIPs"] = json!([{"ip": host}]);
    status
}

/// Containers have ended, all with the same code.
pub(crate) fn ended(pod: &Pod, now: Timestamp, code: i32) -> Value {
    let (phase, reason) = match code {
        0 => ("Succeeded", "Completed"),
        _ => ("Failed", "Error"),
    };
    let condition_reason = match code {
        0 => "PodCompleted",
        _ => "PodFailed",
    };
    let state = json!({"running": null, "terminated": {
        "exitCode": code, "reason": reason, "startedAt": running_since(pod).unwrap_or(now), "finishedAt": now,
    }});
    let mut status = status(pod, now, phase, "False", Some(condition_reason));
    status["containerStatuses"] = containers(pod, false, 0, &state);
    status
}

fn status(pod: &Pod, now: Timestamp, phase: &str, is_ready: &str, reason: Option<&str>) -> Value {
    let condition = |kind: &str, status: &str, reason: Option<&str>| {
        let before = before(pod, kind).filter(|before| before.status == status);
        let since = before.and_then(|before| before.last_transition_time.as_ref());
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "lastTransitionTime": since.map_or(now, |time| time.0),
            "observedGeneration": pod.metadata.generation,
        })
    };
    json!({
        "phase": phase,
        "observedGeneration": pod.metadata.generation,
        "conditions": [
            condition("PodReadyToStartContainers", is_ready, None),
            condition("Initialized", "True", reason.filter(|reason| *reason == "PodCompleted")),
            condition("Ready", if has_gates(pod) { "False" } else { is_ready }, reason),
            condition("ContainersReady", is_ready, reason),
            condition("PodScheduled", "True", None),
        ],
    })
}

fn before<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// Whether a gate that somebody else opens is still closed.
fn has_gates(pod: &Pod) -> bool {
    let mut gates = pod
        .spec
        .iter()
        .flat_map(|spec| spec.readiness_gates.iter().flatten());
    gates.any(|gate| before(pod, &gate.condition_type).is_none_or(|condition| condition.status != "True"))
}

fn containers(pod: &Pod, is_ready: bool, restarts: i32, state: &Value) -> Value {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let status = |container: &Container| {
        json!({
            "name": container.name,
            "image": container.image,
            "imageID": "",
            "containerID": format!("simulated://{uid}/{}/{restarts}", container.name),
            "ready": is_ready,
            "started": is_ready,
            "restartCount": restarts,
            "state": state,
        })
    };
    containers.map(status).collect()
}

/// An address in the node's range, from the pod's uid: it leads nowhere, and collisions do no harm.
fn address(pod: &Pod) -> Option<String> {
    let number = node::of(pod)?;
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let last = uid
        .bytes()
        .fold(0_u32, |hash, byte| hash.wrapping_mul(31) + u32::from(byte));
    let range = node::pod_range(number);
    let network = range.trim_end_matches("0/24");
    Some(format!("{network}{}", 1 + last % 254))
}
