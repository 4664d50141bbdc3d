//! Pods that seem to run: no kubelet is there, so their statuses are written here.

use serde_json::{Value, json};

use super::story::State;

pub(super) fn is_finished(pod: &Value) -> bool {
    ["Succeeded", "Failed"]
        .iter()
        .any(|phase| pod["status"]["phase"] == *phase)
}

/// The status a kubelet would give the pod. Times are those of the pod itself: nobody looks at them here.
pub(super) fn status(pod: &Value, state: State) -> Value {
    let time = &pod["metadata"]["creationTimestamp"];
    let ended = |code: i64| {
        json!({"terminated": {
            "exitCode": code, "startedAt": time, "finishedAt": time,
            "reason": if code == 0 { "Completed" } else { "Error" },
        }})
    };
    let (phase, containers) = match state {
        State::Running | State::Gone => ("Running", json!({"running": {"startedAt": time}})),
        State::Succeeded => ("Succeeded", ended(0)),
        State::Failed(code) => ("Failed", ended(code)),
        State::Evicted => {
            return json!({
                "phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory.", "startTime": time,
            });
        }
    };
    let is_running = phase == "Running";
    let ready = if is_running { "True" } else { "False" };
    let condition =
        |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": time});
    json!({
        "phase": phase,
        "startTime": time,
        "conditions": [
            condition("PodScheduled", "True"), condition("Initialized", "True"),
            condition("ContainersReady", ready), condition("Ready", ready),
        ],
        "initContainerStatuses": statuses(&pod["spec"]["initContainers"], &ended(0), false),
        "containerStatuses": statuses(&pod["spec"]["containers"], &containers, is_running),
    })
}

fn statuses(containers: &Value, state: &Value, ready: bool) -> Vec<Value> {
    let containers = containers.as_array().into_iter().flatten();
    let status = |container: &Value| {
        json!({
            "name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
            "ready": ready, "started": ready, "state": state,
        })
    };
    containers.map(status).collect()
}
