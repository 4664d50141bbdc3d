//! How a job has ended, for whoever has waited for it.

use serde_json::{Value, json};

use crate::jobs::{
    api::ApiError,
    find,
    job::{Job, State, text},
    place::Cluster,
    replicas::Replica,
};

/// What the command ends with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) code: u8,
    /// What is to be said about it, where it did not go well.
    pub(super) words: Option<String>,
}

/// The exit code of a job that has ended: that of the replica which failed first.
pub(super) fn of(job: &Job, replicas: &[Replica]) -> End {
    if job.state() == State::Succeeded {
        return End { code: 0, words: None };
    }
    let failed = replicas.iter().filter_map(|replica| {
        let end = replica.end(job);
        let code = end["exitCode"].as_i64().filter(|code| *code != 0)?;
        let code = unstarted(end).unwrap_or(code);
        // Those that were ended because the job had failed come after the one it failed by.
        Some((
            replica.is_being_deleted(),
            text(&end["finishedAt"]).to_owned(),
            code,
        ))
    });
    let first = failed.min();
    End {
        code: first.map_or(1, |(_, _, code)| u8::try_from(code).unwrap_or(1)),
        words: Some(match job.detail() {
            "" => format!("{} failed", job.reference()),
            detail => format!("{} failed: {detail}", job.reference()),
        }),
    }
}

/// What shells say where a program could not even be started: that it is not there, or not to be executed.
fn unstarted(end: &Value) -> Option<i64> {
    const NOT_FOUND: i64 = 127;
    const NOT_EXECUTABLE: i64 = 126;
    if !["StartError", "ContainerCannotRun"].contains(&text(&end["reason"])) {
        return None;
    }
    let message = text(&end["message"]);
    let is_absent = ["not found", "no such file"]
        .iter()
        .any(|words| message.contains(words));
    Some(if is_absent { NOT_FOUND } else { NOT_EXECUTABLE })
}

/// Replicas that had not begun when the one that decides was done.
pub(super) fn late(job: &Job, replicas: &[Replica]) -> Option<String> {
    let late = replicas.iter().filter(|replica| replica.attempt(job).is_none());
    let names: Vec<&str> = late.map(|replica| replica.name.as_str()).collect();
    let is_told = job.state() == State::Succeeded && !names.is_empty();
    is_told.then(|| {
        format!(
            "{} was done before these had started: {}",
            job.leading_replica(),
            names.join(", ")
        )
    })
}

/// Nobody waits for the job any more: what still runs when it has ended is not left running.
pub(super) async fn leave_to_itself(cluster: &Cluster, job: &Job) -> Result<(), ApiError> {
    let change = json!({"spec": {"runPolicy": {"cleanPodPolicy": "Running"}}});
    match cluster.api.merge(&find::path_of(job), &change).await {
        Err(error) if error.is_absent() => Ok(()),
        other => other.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use resources::kinds;

    use super::*;

    fn replica(name: &str, code: i64, ended: &str, is_deleted: bool) -> Replica {
        let status =
            json!({"name": "pytorch", "state": {"terminated": {"exitCode": code, "finishedAt": ended}}});
        let deleted: Value = if is_deleted { json!(ended) } else { Value::Null };
        Replica {
            name: name.to_owned(),
            pod: Arc::new(json!({
                "metadata": {"name": name, "deletionTimestamp": deleted},
                "spec": {"containers": [{"name": "pytorch"}]},
                "status": {"containerStatuses": [status]},
            })),
        }
    }

    fn job(state: &str) -> Job {
        let conditions = json!([{"type": state, "status": "True", "message": "so it is"}]);
        let object = json!({"metadata": {"name": "x"}, "status": {"conditions": conditions}});
        Job {
            kind: &kinds::PYTORCH_JOB,
            object,
        }
    }

    #[test]
    fn the_exit_code_is_that_of_the_replica_that_failed_first() {
        let replicas = [
            replica("master-0", 143, "2026-01-01T00:00:05Z", true),
            replica("worker-0", 3, "2026-01-01T00:00:05Z", false),
            replica("worker-1", 4, "2026-01-01T00:00:06Z", false),
        ];
        let end = of(&job("Failed"), &replicas);
        assert_eq!(end.code, 3);
        assert_eq!(end.words.as_deref(), Some("PyTorchJob/x failed: so it is"));
    }

    #[test]
    fn a_program_that_could_not_be_started_has_the_code_that_shells_give_it() {
        let end = |message: &str| json!({"reason": "StartError", "exitCode": 128, "message": message});
        assert_eq!(
            unstarted(&end("exec: \"x\": executable file not found in $PATH")),
            Some(127)
        );
        assert_eq!(unstarted(&end("exec: \"/x\": permission denied")), Some(126));
        assert_eq!(unstarted(&json!({"reason": "Error", "exitCode": 128})), None);
    }

    #[test]
    fn a_job_that_succeeds_ends_with_zero_and_one_without_programs_with_one() {
        let odd = [replica("worker-0", 9, "2026-01-01T00:00:05Z", false)];
        assert_eq!(of(&job("Succeeded"), &odd).code, 0);
        assert_eq!(of(&job("Failed"), &[]).code, 1);
    }
}
