//! Whether a job that is suspended goes on by itself. Its queue is asked again and again: that a job was taken out of
//! it changes nothing in the job.

use std::time::Duration;

use tokio::time::Instant;

use crate::jobs::{
    api::Api,
    job::Job,
    queue::{self, Standing},
};

/// How often a queue is asked.
const PAUSE: Duration = Duration::from_secs(5);
/// Kueue takes notice of a job within moments, unless it is itself being started.
const UNNOTICED: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(super) struct Queued {
    next: Option<Instant>,
    unnoticed_since: Option<Instant>,
}

impl Queued {
    /// When to ask again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// The job is not suspended, or cannot be asked about.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Whether nothing but a person lets it go on.
    pub(super) async fn is_stopped(&mut self, api: &Api, job: &Job, now: Instant) -> bool {
        if self.next.is_some_and(|time| time > now) {
            return false;
        }
        self.next = Some(now + PAUSE);
        let standing = match queue::of(job) {
            Some(_) => queue::standing(api, job).await,
            None => return true,
        };
        match standing {
            Ok(Standing::Free) => true,
            Ok(Standing::Unnoticed) => now >= *self.unnoticed_since.get_or_insert(now) + UNNOTICED,
            Ok(Standing::Enqueued(workload)) => {
                self.unnoticed_since = None;
                workload.object["spec"]["active"] == false
            }
            // Who may not know waits; that the cluster is out of reach is told by others.
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use resources::kinds;
    use serde_json::{Value, json};

    use super::*;
    use crate::jobs::api::scripted::scripted;

    /// What a cluster answers to a path.
    type Cluster = fn(&str) -> (StatusCode, String);

    fn job(uid: &str, labels: Value) -> Job {
        Job {
            kind: &kinds::PYTORCH_JOB,
            object: json!({"metadata": {"name": "digits", "namespace": "lab", "uid": uid, "labels": labels}}),
        }
    }

    fn in_queue(uid: &str) -> Job {
        job(uid, json!({"kueue.x-k8s.io/queue-name": "lab"}))
    }

    fn with_kueue(path: &str) -> (StatusCode, String) {
        let workload = |owner: &str, is_active: bool| {
            json!({
                "metadata": {"name": owner, "ownerReferences": [{"uid": owner, "controller": true}]},
                "spec": {"active": is_active},
            })
        };
        let answer = if path.ends_with("/workloads") {
            json!({"items": [workload("stopped", false), workload("waits", true)]})
        } else {
            json!({"preferredVersion": {"version": "v1beta2"}})
        };
        (StatusCode::OK, answer.to_string())
    }

    fn without_kueue(_: &str) -> (StatusCode, String) {
        (StatusCode::NOT_FOUND, "{}".to_owned())
    }

    fn for_the_few(_: &str) -> (StatusCode, String) {
        (StatusCode::FORBIDDEN, "{}".to_owned())
    }

    #[tokio::test]
    async fn who_stands_in_a_queue_is_not_stopped() {
        let now = Instant::now();
        let cases: [(Cluster, Job, bool); 5] = [
            (with_kueue, in_queue("waits"), false),
            (with_kueue, in_queue("stopped"), true),
            (with_kueue, job("waits", json!({})), true),
            (without_kueue, in_queue("waits"), true),
            (for_the_few, in_queue("waits"), false),
        ];
        for (cluster, job, expected) in cases {
            let told = Queued::default().is_stopped(&scripted(cluster), &job, now).await;
            assert_eq!(told, expected, "{}", job.object);
        }
    }

    #[tokio::test]
    async fn a_queue_is_asked_now_and_then_and_has_time_to_take_notice() {
        let (api, job, start) = (scripted(with_kueue), in_queue("new"), Instant::now());
        let mut queued = Queued::default();
        assert!(!queued.is_stopped(&api, &job, start).await);
        assert_eq!(queued.deadline(), Some(start + PAUSE));
        let stopped = in_queue("stopped");
        assert!(
            !queued.is_stopped(&api, &stopped, start).await,
            "it is asked later"
        );
        assert!(!queued.is_stopped(&api, &job, start + PAUSE).await);
        assert!(queued.is_stopped(&api, &job, start + UNNOTICED).await);
        queued.forget();
        assert!(!queued.is_stopped(&api, &job, start + UNNOTICED).await);
    }
}
