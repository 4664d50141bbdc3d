//! What a new status says that the old one did not: what is counted of jobs, once, whoever looks how often.

use resources::{
    Kind,
    conditions::{CREATED, FAILED, SUCCEEDED},
    kinds::{MPI_JOB, MX_JOB},
};
use serde_json::Value;

use crate::metrics::{
    JOBS_CREATED, JOBS_DELETED, JOBS_FAILED, JOBS_RESTARTED, JOBS_SUCCESSFUL, MPI_JOBS_CREATED,
    MPI_JOBS_FAILED, MPI_JOBS_RESTARTED, MPI_JOBS_SUCCESSFUL, Metrics,
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
            Milestone::Created => (&JOBS_CREATED, &MPI_JOBS_CREATED),
            Milestone::Succeeded => (&JOBS_SUCCESSFUL, &MPI_JOBS_SUCCESSFUL),
            Milestone::Failed => (&JOBS_FAILED, &MPI_JOBS_FAILED),
            Milestone::Restarted => (&JOBS_RESTARTED, &MPI_JOBS_RESTARTED),
        };
        metrics.count(of_all, &labels);
        if kind.kind == MPI_JOB.kind {
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
    if restarts(after) > restarts(before) && !is(after, FAILED) {
        reached.push(Milestone::Restarted);
    }
    reached
}

/// Restarts by the operator, and those of a launcher by its batch Job.
fn restarts(status: &Value) -> i64 {
    let own = status["restarts"]["count"].as_i64().unwrap_or_default();
    let of_launcher = status["replicaStatuses"]["Launcher"]["failed"].as_i64();
    own + of_launcher.unwrap_or_default()
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
    fn a_launcher_that_its_batch_job_starts_again_is_a_restart() {
        let status = |failed: i64| json!({"replicaStatuses": {"Launcher": {"active": 1, "failed": failed}}});
        assert_eq!(between(&status(0), &status(1)), [Milestone::Restarted]);
        let mut given_up = status(2);
        given_up["conditions"] = json!([{"type": "Failed", "status": "True"}]);
        assert_eq!(between(&status(1), &given_up), [Milestone::Failed]);
    }

    #[test]
    fn mpi_jobs_are_counted_under_their_own_names_too() {
        let metrics = Metrics::default();
        let (before, after) = (json!({}), json!({"restarts": {"count": 1}}));
        count(&metrics, &MPI_JOB, "team", &before, &after);
        assert!(metrics.text().contains("\nmpi_operator_jobs_restarted_total 1\n"));
    }

    #[test]
    fn jobs_with_a_phase_are_counted_by_it() {
        let creating = json!({"phase": "Creating"});
        let done = json!({"phase": "Done", "state": "Succeeded"});
        assert_eq!(between(&json!({"phase": ""}), &creating), [Milestone::Created]);
        assert_eq!(between(&creating, &done), [Milestone::Succeeded]);
    }
}
