//! Whether an object is as its user wants it. Workloads are when all of their pods are ready, jobs when they run or
//! have ended well, everything else as soon as its own conditions do not say otherwise.

use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    /// Not yet, because of this.
    Waits(String),
    /// It will not be, because of this.
    Failed(String),
}

pub(super) fn readiness(object: &Value) -> Readiness {
    let (generation, observed) = (
        &object["metadata"]["generation"],
        &object["status"]["observedGeneration"],
    );
    if observed
        .as_i64()
        .is_some_and(|observed| Some(observed) < generation.as_i64())
    {
        return Readiness::Waits("what was applied has not been seen".to_owned());
    }
    match object["kind"].as_str().unwrap_or_default() {
        "Deployment" => deployment(object),
        "ReplicaSet" | "ReplicationController" => counted(object, &["availableReplicas"]),
        "StatefulSet" => stateful_set(object),
        "DaemonSet" => daemons(object),
        "Pod" => pod(object),
        "Namespace" => phase(object, "Active"),
        "CustomResourceDefinition" => is_true(object, "Established", "it is not served yet"),
        _ if has_ended_badly(object) => Readiness::Failed(message(object, "Failed")),
        "Job" => job(object),
        "Workflow" => workflow(object),
        _ if is_a_training_job(object) => training_job(object),
        _ => by_conditions(object),
    }
}

/// Those of the old kind that are still there count as available too, so that there may be enough without a new one.
fn deployment(object: &Value) -> Readiness {
    let count = |field: &str| object["status"][field].as_i64().unwrap_or_default();
    match counted(object, &["updatedReplicas", "availableReplicas"]) {
        Readiness::Ready if count("replicas") > count("updatedReplicas") => {
            if has_stalled(object) {
                return Readiness::Failed(message(object, "Progressing"));
            }
            let old = count("replicas") - count("updatedReplicas");
            Readiness::Waits(format!("{old} old replicas are still there"))
        }
        other => other,
    }
}

/// Pods below the partition, and with `OnDelete` all of them, stay what they are until somebody says otherwise.
fn stateful_set(object: &Value) -> Readiness {
    let ready = counted(object, &["readyReplicas"]);
    let strategy = &object["spec"]["updateStrategy"];
    if ready != Readiness::Ready || strategy["type"] == "OnDelete" {
        return ready;
    }
    let partition = strategy["rollingUpdate"]["partition"]
        .as_i64()
        .unwrap_or_default();
    let wanted = wanted(object) - partition;
    let updated = object["status"]["updatedReplicas"].as_i64().unwrap_or_default();
    if updated >= wanted {
        Readiness::Ready
    } else {
        Readiness::Waits(format!("{updated} of {wanted} replicas are new"))
    }
}

fn wanted(object: &Value) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap_or(1)
}

fn counted(object: &Value, fields: &[&str]) -> Readiness {
    if object["status"]["observedGeneration"].is_null() {
        return Readiness::Waits("what was applied has not been seen".to_owned());
    }
    let wanted = wanted(object);
    let counts = fields
        .iter()
        .map(|field| object["status"][*field].as_i64().unwrap_or_default());
    let ready = counts.min().unwrap_or_default();
    if ready >= wanted {
        return Readiness::Ready;
    }
    if has_stalled(object) {
        return Readiness::Failed(message(object, "Progressing"));
    }
    Readiness::Waits(format!("{ready} of {wanted} replicas are ready"))
}

fn has_stalled(object: &Value) -> bool {
    condition(object, "Progressing").is_some_and(|found| found["reason"] == "ProgressDeadlineExceeded")
}

fn daemons(object: &Value) -> Readiness {
    let count = |field: &str| object["status"][field].as_i64();
    let Some(wanted) = count("desiredNumberScheduled") else {
        return Readiness::Waits("what was applied has not been seen".to_owned());
    };
    let available = count("numberAvailable");
    let ready = if object["spec"]["updateStrategy"]["type"] == "OnDelete" {
        available
    } else {
        available.min(count("updatedNumberScheduled"))
    }
    .unwrap_or_default();
    if ready >= wanted {
        Readiness::Ready
    } else {
        Readiness::Waits(format!("{ready} of {wanted} replicas are ready"))
    }
}

fn pod(object: &Value) -> Readiness {
    match object["status"]["phase"].as_str() {
        Some("Succeeded") => Readiness::Ready,
        Some("Failed") => Readiness::Failed(
            object["status"]["message"]
                .as_str()
                .unwrap_or("its containers have failed")
                .to_owned(),
        ),
        _ => is_true(object, "Ready", "it is not ready"),
    }
}

fn job(object: &Value) -> Readiness {
    let is_done = condition(object, "Complete").is_some_and(|found| found["status"] == "True");
    let is_running = object["status"]["ready"].as_i64().unwrap_or_default() > 0;
    if is_done || is_running || object["spec"]["suspend"] == true {
        Readiness::Ready
    } else {
        Readiness::Waits("none of its pods runs".to_owned())
    }
}

fn workflow(object: &Value) -> Readiness {
    let status = &object["status"];
    match status["phase"].as_str().unwrap_or_default() {
        "Running" | "Succeeded" => Readiness::Ready,
        phase @ ("Failed" | "Error") => {
            let message = status["message"].as_str().filter(|text| !text.is_empty());
            Readiness::Failed(message.unwrap_or(phase).to_owned())
        }
        _ if object["spec"]["suspend"] == true => Readiness::Ready,
        _ => Readiness::Waits("it does not run yet".to_owned()),
    }
}

fn is_a_training_job(object: &Value) -> bool {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    resources::Kind::of(text("apiVersion"), text("kind")).is_some()
}

fn training_job(object: &Value) -> Readiness {
    let is = |name: &str| condition(object, name).is_some_and(|found| found["status"] == "True");
    if is("Running") || is("Succeeded") || is("Suspended") {
        Readiness::Ready
    } else {
        Readiness::Waits("it does not run yet".to_owned())
    }
}

fn by_conditions(object: &Value) -> Readiness {
    match condition(object, "Ready") {
        Some(found) if found["status"] != "True" => Readiness::Waits(message(object, "Ready")),
        _ => Readiness::Ready,
    }
}

fn phase(object: &Value, wanted: &str) -> Readiness {
    let phase = object["status"]["phase"].as_str().unwrap_or(wanted);
    if phase == wanted {
        Readiness::Ready
    } else {
        Readiness::Waits(format!("it is {phase}"))
    }
}

fn is_true(object: &Value, name: &str, otherwise: &str) -> Readiness {
    match condition(object, name) {
        Some(found) if found["status"] == "True" => Readiness::Ready,
        Some(_) => Readiness::Waits(message(object, name)),
        None => Readiness::Waits(otherwise.to_owned()),
    }
}

fn has_ended_badly(object: &Value) -> bool {
    condition(object, "Failed").is_some_and(|found| found["status"] == "True")
}

fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let mut conditions = object["status"]["conditions"].as_array()?.iter();
    conditions.find(|condition| condition["type"] == name)
}

/// What a condition says of itself.
fn message(object: &Value, name: &str) -> String {
    let found = condition(object, name);
    let text = |field: &str| {
        found
            .and_then(|found| found[field].as_str())
            .filter(|text| !text.is_empty())
    };
    text("message").or(text("reason")).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(object: Value, expected: &str) {
        let found = match readiness(&object) {
            Readiness::Ready => "ready".to_owned(),
            Readiness::Waits(why) => format!("waits: {why}"),
            Readiness::Failed(why) => format!("failed: {why}"),
        };
        assert_eq!(found, expected, "{object}");
    }

    #[test]
    fn workloads_are_ready_with_their_pods() {
        let deployment = |status: Value| json!({"kind": "Deployment", "metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": status});
        check(deployment(json!({})), "waits: what was applied has not been seen");
        check(
            deployment(json!({"observedGeneration": 1, "updatedReplicas": 2, "availableReplicas": 2})),
            "waits: what was applied has not been seen",
        );
        check(
            deployment(json!({"observedGeneration": 2, "updatedReplicas": 2, "availableReplicas": 1})),
            "waits: 1 of 2 replicas are ready",
        );
        check(
            deployment(json!({"observedGeneration": 2, "updatedReplicas": 2, "availableReplicas": 2})),
            "ready",
        );
    }

    #[test]
    fn pods_of_what_was_before_do_not_make_a_deployment_ready() {
        let deployment =
            |status: Value| json!({"kind": "Deployment", "spec": {"replicas": 1}, "status": status});
        check(
            deployment(
                json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 1}),
            ),
            "waits: 1 old replicas are still there",
        );
        check(
            deployment(
                json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 1,
                "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
                    "message": "it has timed out"}]}),
            ),
            "failed: it has timed out",
        );
        check(
            deployment(
                json!({"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}),
            ),
            "ready",
        );
    }

    #[test]
    fn pods_that_are_to_stay_as_they_are_are_not_waited_for() {
        let set = |strategy: Value| {
            json!({"kind": "StatefulSet", "spec": {"replicas": 3, "updateStrategy": strategy},
                "status": {"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 1}})
        };
        check(set(json!({})), "waits: 1 of 3 replicas are new");
        check(set(json!({"type": "OnDelete"})), "ready");
        let partition =
            |partition: i64| json!({"type": "RollingUpdate", "rollingUpdate": {"partition": partition}});
        check(set(partition(2)), "ready");
        check(set(partition(1)), "waits: 1 of 2 replicas are new");
    }

    #[test]
    fn workflows_are_ready_when_they_run() {
        let workflow = |status: Value| json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "status": status});
        check(workflow(json!({})), "waits: it does not run yet");
        check(workflow(json!({"phase": "Running"})), "ready");
        check(
            workflow(json!({"phase": "Error", "message": "no template"})),
            "failed: no template",
        );
    }

    #[test]
    fn jobs_are_ready_when_they_run_and_failed_when_they_fail() {
        let job = |status: Value| json!({"apiVersion": "batch/v1", "kind": "Job", "status": status});
        check(job(json!({})), "waits: none of its pods runs");
        check(job(json!({"ready": 1})), "ready");
        check(
            job(json!({"conditions": [{"type": "Failed", "status": "True", "message": "too often"}]})),
            "failed: too often",
        );
        let training = |name: &str| {
            json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
                "status": {"conditions": [{"type": name, "status": "True"}]}})
        };
        check(training("Created"), "waits: it does not run yet");
        check(training("Running"), "ready");
    }

    #[test]
    fn others_are_ready_unless_they_say_otherwise() {
        check(json!({"kind": "ConfigMap"}), "ready");
        check(
            json!({"kind": "Queue", "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Full"}]}}),
            "waits: Full",
        );
        check(
            json!({"kind": "Pod", "status": {"phase": "Pending"}}),
            "waits: it is not ready",
        );
    }
}
