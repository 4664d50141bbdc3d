//! What a new status says that the old one did not: what is counted of jobs, once, whoever looks how often.

use resources::{
    Kind,
    conditions::{CREATED, FAILED, SUCCEEDED},
    kinds::{MPI_JOB, MX_JOB},
};
use serde_json::Value;

use crate::metrics::{
    JOBS_CREATED, JOBS_DELETED, JOBS_FAILED, JOBS_RESTARTED, JOBS_SUCCESSFUL, MPI_JOBS_CREATED,
    MPI_JOBS_FAILED, MPI_JOBS_SUCCESSFUL, Metrics,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Milestone {
    Created,
    Succeeded,
    Failed,
    Restarted,
}

/// Counts what has happened to a job between two of its statuses.
pub(crate) fn count(metrics: &Metrics, kind: &Kind, namespace: &str, before: &Value, after: &Value) {
    let labels = [("job_namespace", namespace), ("framework", framework(kind))];
    for milestone in between(before, after) {
        let (of_all, of_mpi) = match milestone {
            Milestone::Created => (&JOBS_CREATED, Some(&MPI_JOBS_CREATED)),
            Milestone::Succeeded => (&JOBS_SUCCESSFUL, Some(&MPI_JOBS_SUCCESSFUL)),
            Milestone::Failed => (&JOBS_FAILED, Some(&MPI_JOBS_FAILED)),
            Milestone::Restarted => (&JOBS_RESTARTED, None),
        };
        metrics.count(of_all, &labels);
        if let Some(of_mpi) = of_mpi.filter(|_| kind.kind == MPI_JOB.kind) {
            metrics.count(of_mpi, &[]);
        }
    }
}

pub(crate) fn count_deleted(metrics: &Metrics, kind: &Kind, namespace: &str) {
    let labels = [("job_namespace", namespace), ("framework", framework(kind))];
    metrics.count(&JOBS_DELETED, &labels);
}

fn between(before: &Value, after: &Value) -> Vec<Milestone> {
    let mut reached = Vec::new();
    let states = [
        (CREATED, Milestone::Created),
        (SUCCEEDED, Milestone::Succeeded),
        (FAILED, Milestone::Failed),
    ];
    for (state, milestone) in states {
        if is(after, state) && !is(before, state) {
            reached.push(milestone);
        }
    }
    let restarts = |status: &Value| status["restarts"]["count"].as_i64().unwrap_or_default();
    if restarts(after) > restarts(before) {
        reached.push(Milestone::Restarted);
    }
    reached
}

/// Whether a status has come to a state, by its conditions or, for MxJobs, by its phase.
fn is(status: &Value, state: &str) -> bool {
    let phase = status["phase"].as_str().unwrap_or_default();
    if !phase.is_empty() {
        return match state {
            CREATED => true,
            FAILED => phase == "Failed" || status["state"] == "Failed",
            state => status["state"] == state,
        };
    }
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let mut of_state = conditions.filter(|condition| condition["type"] == state);
    of_state.any(|condition| condition["status"] == "True")
}

/// The name under which dashboards know a kind.
fn framework(kind: &Kind) -> &'static str {
    match kind.kind {
        "TFJob" => "tensorflow",
        "PyTorchJob" => "pytorch",
        "XGBoostJob" => "xgboost",
        "PaddleJob" => "paddle",
        "JAXJob" => "jax",
        "MPIJob" => "mpi",
        other => {
            debug_assert!(other == "MXJob" || other == MX_JOB.kind);
            "mxnet"
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(states: &[&str]) -> Value {
        let conditions: Vec<Value> = states
            .iter()
            .map(|state| json!({"type": state, "status": "True"}))
            .collect();
        json!({"conditions": conditions})
    }

    #[test]
    fn a_state_is_counted_when_it_is_new() {
        let (new, running, done) = (
            status(&[]),
            status(&["Created", "Running"]),
            status(&["Created", "Succeeded"]),
        );
        assert_eq!(between(&Value::Null, &new), []);
        assert_eq!(between(&new, &running), [Milestone::Created]);
        assert_eq!(between(&running, &done), [Milestone::Succeeded]);
        assert_eq!(between(&done, &done), []);
    }

    #[test]
    fn restarts_are_counted_by_the_job_itself() {
        let before = json!({"restarts": {"count": 1}});
        assert_eq!(
            between(&before, &json!({"restarts": {"count": 2}})),
            [Milestone::Restarted]
        );
        assert_eq!(between(&before, &before), []);
    }

    #[test]
    fn jobs_with_a_phase_are_counted_by_it() {
        let creating = json!({"phase": "Creating"});
        let done = json!({"phase": "Done", "state": "Succeeded"});
        assert_eq!(between(&json!({"phase": ""}), &creating), [Milestone::Created]);
        assert_eq!(between(&creating, &done), [Milestone::Succeeded]);
    }
}
