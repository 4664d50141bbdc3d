//! Objects that run: of which kinds they are, and what their status says.

use jiff::Timestamp;
use resources::{Kind, tasks::Child};
use serde_json::Value;

/// An object that runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub child: Child,
    pub uid: String,
    /// It was made for this task, not for somebody else under its name.
    pub is_ours: bool,
    pub attempt: i32,
    pub is_deleting: bool,
    pub state: RunState,
}

/// How far an object that runs has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunState {
    #[default]
    Waits,
    Runs,
    Succeeded {
        at: Option<Timestamp>,
    },
    Failed {
        at: Option<Timestamp>,
        reason: String,
        message: String,
    },
}

impl RunState {
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Succeeded { .. } | Self::Failed { .. })
    }
}

/// Whether objects of this kind run, and the others are only there for those that do.
pub fn runs(api_version: &str, kind: &str) -> bool {
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    matches!(
        (group, kind),
        ("batch", "Job") | ("", "Pod") | ("argoproj.io", "Workflow") | ("apps", "Deployment" | "StatefulSet")
    ) || Kind::of(api_version, kind).is_some()
}

/// What the status of an object says.
pub fn state(api_version: &str, kind: &str, object: &Value) -> RunState {
    let status = &object["status"];
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    match (group, kind) {
        ("", "Pod") => by_phase(&status["phase"], status, None),
        ("argoproj.io", "Workflow") => by_phase(&status["phase"], status, time(&status["finishedAt"])),
        ("mxnet.mlkube.io" | "mlkube.io", _) => mx_job(status),
        ("apps", _) => serving(object),
        _ => by_conditions(status),
    }
}

fn by_phase(phase: &Value, status: &Value, at: Option<Timestamp>) -> RunState {
    match phase.as_str().unwrap_or_default() {
        "Running" => RunState::Runs,
        "Succeeded" => RunState::Succeeded { at },
        "Failed" | "Error" => failed(at, status),
        _ => RunState::Waits,
    }
}

fn mx_job(status: &Value) -> RunState {
    match (status["phase"].as_str(), status["state"].as_str()) {
        (Some("Running" | "CleanUp"), _) => RunState::Runs,
        (Some("Done"), Some("Failed")) | (Some("Failed"), _) => failed(None, status),
        (Some("Done"), _) => RunState::Succeeded { at: None },
        _ => RunState::Waits,
    }
}

/// Something that serves runs for as long as nobody ends it.
fn serving(object: &Value) -> RunState {
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let ready = object["status"]["readyReplicas"].as_i64().unwrap_or(0);
    if ready >= wanted {
        RunState::Runs
    } else {
        RunState::Waits
    }
}

/// Jobs of Kubernetes and of the training operator.
fn by_conditions(status: &Value) -> RunState {
    let conditions = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let is_true = |kind: &str| {
        conditions
            .iter()
            .find(|condition| condition["type"] == kind && condition["status"] == "True")
    };
    if let Some(failed_by) = is_true("Failed") {
        let at = time(&status["completionTime"]).or_else(|| time(&failed_by["lastTransitionTime"]));
        return failed(at, failed_by);
    }
    if let Some(condition) = is_true("Complete").or_else(|| is_true("Succeeded")) {
        let at = time(&status["completionTime"]).or_else(|| time(&condition["lastTransitionTime"]));
        return RunState::Succeeded { at };
    }
    let is_ready = status["ready"].as_i64().unwrap_or(0) > 0;
    if is_ready || is_true("Running").is_some() {
        return RunState::Runs;
    }
    RunState::Waits
}

fn failed(at: Option<Timestamp>, told: &Value) -> RunState {
    let text = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
    RunState::Failed {
        at,
        reason: text("reason"),
        message: text("message"),
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(api_version: &str, kind: &str, status: Value) -> RunState {
        assert!(runs(api_version, kind), "{kind}");
        state(api_version, kind, &json!({"status": status}))
    }

    #[test]
    fn jobs_are_read_by_their_conditions() {
        assert_eq!(of("batch/v1", "Job", json!({})), RunState::Waits);
        assert_eq!(of("batch/v1", "Job", json!({"active": 1})), RunState::Waits);
        assert_eq!(
            of("batch/v1", "Job", json!({"active": 1, "ready": 1})),
            RunState::Runs
        );
        let done = json!({
            "completionTime": "2026-01-01T00:00:00Z",
            "conditions": [{"type": "Complete", "status": "True"}],
        });
        assert_eq!(
            of("batch/v1", "Job", done),
            RunState::Succeeded {
                at: "2026-01-01T00:00:00Z".parse().ok()
            }
        );
        let failed =
            json!({"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]});
        assert!(matches!(
            of("batch/v1", "Job", failed),
            RunState::Failed { reason, .. } if reason == "BackoffLimitExceeded"
        ));
        let running = json!({"conditions": [
            {"type": "Created", "status": "True"}, {"type": "Running", "status": "True"},
        ]});
        assert_eq!(of("kubeflow.org/v2beta1", "MPIJob", running), RunState::Runs);
    }

    #[test]
    fn pods_and_workflows_by_their_phase() {
        assert_eq!(of("v1", "Pod", json!({"phase": "Pending"})), RunState::Waits);
        assert_eq!(of("v1", "Pod", json!({"phase": "Running"})), RunState::Runs);
        assert!(matches!(
            of("argoproj.io/v1alpha1", "Workflow", json!({"phase": "Error", "message": "no"})),
            RunState::Failed { message, .. } if message == "no"
        ));
    }

    #[test]
    fn a_claim_does_not_run() {
        assert!(!runs("v1", "PersistentVolumeClaim"));
        assert!(!runs("example.com/v1", "Job"));
    }
}
