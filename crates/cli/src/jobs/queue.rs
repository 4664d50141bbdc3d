//! Jobs that stand in a queue of Kueue, which starts and stops them.

use serde_json::Value;

use super::{
    api::{Api, ApiError, escaped},
    job::{Job, text},
    replicas::owner,
};

/// Names the queue of a job.
const QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// What Kueue has of a job.
pub(crate) const WORKLOADS: &str = "workloads";
/// The versions that it is served in. A Kueue that has the newer lets nothing be changed in the older while a job runs.
const VERSIONS: [&str; 2] = ["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"];

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

/// What Kueue has of a job; nothing where the job is for no queue, or there is nobody who looks after queues.
pub(crate) async fn workload(api: &Api, job: &Job) -> Result<Option<Workload>, ApiError> {
    if of(job).is_none() {
        return Ok(None);
    }
    for version in VERSIONS {
        let folder = format!(
            "/apis/{version}/namespaces/{}/{WORKLOADS}",
            escaped(job.namespace())
        );
        if let Some(found) = api.list(&folder).await? {
            let own = found
                .into_iter()
                .find(|workload| owner(workload) == Some(job.uid()));
            return Ok(own.map(|object| Workload {
                path: format!("{folder}/{}", escaped(text(&object["metadata"]["name"]))),
                object,
            }));
        }
    }
    Ok(None)
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

    /// A cluster whose Kueue does not serve the newer version yet.
    fn older(path: &str) -> (StatusCode, String) {
        if !path.contains("v1beta1/namespaces/lab/workloads") {
            return (StatusCode::NOT_FOUND, "{}".to_owned());
        }
        let workload = |name: &str, owner: &str| json!({"metadata": {"name": name, "ownerReferences": [{"uid": owner, "controller": true}]}});
        let items = json!({"items": [workload("a", "other"), workload("b", "own")]});
        (StatusCode::OK, items.to_string())
    }

    #[tokio::test]
    async fn the_workload_of_a_job_is_found_in_any_version() {
        let api = scripted(older);
        let found = workload(&api, &job(json!({QUEUE: "lab"}))).await.unwrap();
        assert_eq!(
            found.unwrap().path,
            "/apis/kueue.x-k8s.io/v1beta1/namespaces/lab/workloads/b"
        );
        assert!(workload(&api, &job(json!({}))).await.unwrap().is_none());
    }
}
