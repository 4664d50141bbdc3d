//! Jobs that stand in a queue of Kueue, which starts and stops them.

use serde_json::Value;

use super::{
    api::{Api, ApiError, escaped},
    job::{Job, text},
    replicas::owner,
};

/// Names the queue of a job.
const QUEUE: &str = "kueue.x-k8s.io/queue-name";
const GROUP: &str = "/apis/kueue.x-k8s.io";
/// What Kueue has of a job.
pub(crate) const WORKLOADS: &str = "workloads";

/// How a queue stands to a job.
pub(crate) enum Standing {
    /// The job is for no queue, or there is nobody who looks after queues.
    Free,
    /// Kueue has not taken notice of it.
    Unnoticed,
    Enqueued(Workload),
}

/// What Kueue has of one job, and where.
pub(crate) struct Workload {
    pub(crate) path: String,
    pub(crate) object: Value,
}

/// The queue that a job is for.
pub(crate) fn of(job: &Job) -> Option<&str> {
    let queue = text(&job.object["metadata"]["labels"][QUEUE]);
    (!queue.is_empty()).then_some(queue)
}

/// How a queue stands to a job.
///
/// Whoever may not look at workloads is refused also where there are none, so it is asked first whether there can be.
/// Of several versions the one that the server prefers is taken: a Kueue that has a newer lets nothing be changed in the
/// older while a job runs.
pub(crate) async fn standing(api: &Api, job: &Job) -> Result<Standing, ApiError> {
    if of(job).is_none() {
        return Ok(Standing::Free);
    }
    let Some(group) = api.find(GROUP).await? else {
        return Ok(Standing::Free);
    };
    let version = text(&group["preferredVersion"]["version"]);
    let folder = format!(
        "{GROUP}/{version}/namespaces/{}/{WORKLOADS}",
        escaped(job.namespace())
    );
    let found = api.list(&folder).await?.unwrap_or_default();
    let own = found
        .into_iter()
        .find(|workload| owner(workload) == Some(job.uid()));
    Ok(own.map_or(Standing::Unnoticed, |object| {
        let path = format!("{folder}/{}", escaped(text(&object["metadata"]["name"])));
        Standing::Enqueued(Workload { path, object })
    }))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use resources::kinds;
    use serde_json::json;

    use super::*;
    use crate::jobs::api::scripted::scripted;

    fn job(labels: Value) -> Job {
        Job {
            kind: &kinds::PYTORCH_JOB,
            object: json!({"metadata": {"name": "digits", "namespace": "lab", "uid": "own", "labels": labels}}),
        }
    }

    /// A cluster whose Kueue serves an older version, too.
    fn with_kueue(path: &str) -> (StatusCode, String) {
        let workload = |name: &str, owner: &str| json!({"metadata": {"name": name, "ownerReferences": [{"uid": owner, "controller": true}]}});
        let answer = match path {
            GROUP => json!({"preferredVersion": {"version": "v1beta2"}}),
            "/apis/kueue.x-k8s.io/v1beta2/namespaces/lab/workloads" => {
                json!({"items": [workload("a", "other"), workload("b", "own")]})
            }
            _ => return (StatusCode::NOT_FOUND, "{}".to_owned()),
        };
        (StatusCode::OK, answer.to_string())
    }

    /// One without, whose users may look at little.
    fn without_kueue(path: &str) -> (StatusCode, String) {
        let code = if path == GROUP {
            StatusCode::NOT_FOUND
        } else {
            StatusCode::FORBIDDEN
        };
        (code, "{}".to_owned())
    }

    #[tokio::test]
    async fn the_workload_of_a_job_is_found_where_there_are_queues() {
        let queued = job(json!({QUEUE: "lab"}));
        let Ok(Standing::Enqueued(found)) = standing(&scripted(with_kueue), &queued).await else {
            panic!("it is in a queue")
        };
        assert_eq!(
            found.path,
            "/apis/kueue.x-k8s.io/v1beta2/namespaces/lab/workloads/b"
        );
        let other = job(json!({}));
        for (api, job) in [(with_kueue as fn(&str) -> _, &other), (without_kueue, &queued)] {
            assert!(matches!(standing(&scripted(api), job).await, Ok(Standing::Free)));
        }
    }
}
