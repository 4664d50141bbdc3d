//! Pods that have failed and were gone before anybody looked: a node that is removed takes its pods along in one
//! breath. They are kept a while, so that they count as all others do.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use reconcile::Informer;
use resources::conditions::SUSPENDED;
use serde_json::Value;

use crate::{seen::Seen, stored_job::StoredJob};

/// A job is looked at long before.
const KEPT: Duration = Duration::from_mins(1);
/// As many as go with the nodes of a large job.
const MOST: usize = 4096;

#[derive(Clone, Default)]
pub(crate) struct Fallen {
    pods: Arc<Mutex<VecDeque<(Instant, training::Pod)>>>,
}

impl Fallen {
    pub(crate) fn follow(pods: &Informer<Seen<Pod>>) -> Self {
        let fallen = Self::default();
        let told = fallen.clone();
        pods.on_change(move |change| {
            if let (Some(before), None) = (change.before, change.after) {
                told.put(before.form(), Instant::now());
            }
        });
        fallen
    }

    fn put(&self, pod: training::Pod, now: Instant) {
        let mut pods = self.pods.lock();
        forget_old(&mut pods, now);
        if pods.len() >= MOST {
            pods.pop_front();
        }
        if pod.controller.is_some() && pod.has_failed() {
            pods.push_back((now, pod));
        }
    }

    /// Those of a job that it has not counted and whose place nobody has taken.
    pub(crate) fn of(&self, job: &StoredJob, there: &[training::Pod]) -> Vec<training::Pod> {
        self.of_at(job, there, Instant::now())
    }

    fn of_at(&self, job: &StoredJob, there: &[training::Pod], now: Instant) -> Vec<training::Pod> {
        let mut pods = self.pods.lock();
        forget_old(&mut pods, now);
        if pods.is_empty() {
            return Vec::new();
        }
        let status = &job.object["status"];
        let restarts = &status["restarts"];
        let is_idle = !status["completionTime"].is_null() || is_suspended(status);
        // Nobody counts a worker that may come and go: its place is free when it is gone.
        let is_counting = !is_idle && job.object["spec"]["enableDynamicWorker"] != true;
        let is_of_job = |pod: &training::Pod| pod.controller.as_deref() == Some(job.uid());
        let is_of_use = |pod: &training::Pod| {
            let is_replaced =
                !is_counting || is_counted(restarts, pod) || there.iter().any(|other| other.name == pod.name);
            !is_of_job(pod) || !is_replaced
        };
        pods.retain(|(_, pod)| is_of_use(pod));
        let own = pods.iter().map(|(_, pod)| pod);
        own.filter(|pod| is_of_job(pod)).cloned().collect()
    }
}

/// What a job has stopped itself has not failed.
fn is_suspended(status: &Value) -> bool {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == SUSPENDED && condition["status"] == "True")
}

fn forget_old(pods: &mut VecDeque<(Instant, training::Pod)>, now: Instant) {
    let is_old = |(since, _): &(Instant, _)| now.duration_since(*since) > KEPT;
    while pods.front().is_some_and(is_old) {
        pods.pop_front();
    }
}

fn is_counted(restarts: &Value, pod: &training::Pod) -> bool {
    let mut replaced = restarts["replaced"].as_array().into_iter().flatten();
    let gang = restarts["gang"].as_i64().unwrap_or_default();
    replaced.any(|uid| *uid == *pod.uid) || i64::from(pod.gang) < gang
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::stored_job::KeptJob;

    fn job(status: &Value) -> StoredJob {
        let object = json!({"metadata": {"name": "j", "uid": "ours"}, "status": status});
        let kept: KeptJob = serde_json::from_value(object).unwrap();
        StoredJob::of(Arc::new(kept))
    }

    fn pod(uid: &str, phase: &str, version: &str) -> Seen<Pod> {
        let owner = json!([{"kind": "PyTorchJob", "name": "j", "uid": "ours", "controller": true}]);
        let meta = json!({
            "namespace": "n", "name": "j-worker-0", "uid": uid, "resourceVersion": version, "ownerReferences": owner,
        });
        serde_json::from_value(json!({"metadata": meta, "status": {"phase": phase}})).unwrap()
    }

    #[test]
    fn a_pod_that_fails_and_is_gone_is_found_until_it_is_counted() {
        let pods = Informer::detached();
        let fallen = Fallen::follow(&pods);
        pods.wrote(pod("a", "Running", "1"));
        pods.wrote(pod("a", "Failed", "2"));
        assert!(fallen.of(&job(&Value::Null), &[]).is_empty(), "it is there");
        pods.removed(&pod("a", "Failed", "3"));
        assert_eq!(fallen.of(&job(&Value::Null), &[]).len(), 1);
        let counted = job(&json!({"restarts": {"count": 1, "replaced": ["a"]}}));
        assert!(fallen.of(&counted, &[]).is_empty());
        assert!(
            fallen.of(&job(&Value::Null), &[]).is_empty(),
            "it is counted once"
        );
    }

    #[test]
    fn nobody_asks_for_those_of_a_job_that_has_ended_or_is_suspended_nor_after_a_while() {
        let suspended = json!({"conditions": [{"type": "Suspended", "status": "True"}]});
        let ended = json!({"completionTime": "2026-01-01T00:00:00Z"});
        let now = Instant::now();
        for (status, later) in [(suspended, now), (ended, now), (Value::Null, now + 2 * KEPT)] {
            let pods = Informer::detached();
            let fallen = Fallen::follow(&pods);
            pods.wrote(pod("a", "Failed", "1"));
            pods.removed(&pod("a", "Failed", "2"));
            assert!(fallen.of_at(&job(&status), &[], later).is_empty());
            assert!(fallen.of(&job(&Value::Null), &[]).is_empty());
        }
    }

    #[test]
    fn one_that_has_a_successor_or_has_not_failed_is_not() {
        let pods = Informer::detached();
        let fallen = Fallen::follow(&pods);
        pods.wrote(pod("a", "Running", "1"));
        pods.removed(&pod("a", "Running", "2"));
        assert!(fallen.of(&job(&Value::Null), &[]).is_empty());
        pods.wrote(pod("b", "Failed", "3"));
        pods.removed(&pod("b", "Failed", "4"));
        assert_eq!(fallen.of(&job(&Value::Null), &[]).len(), 1);
        let successor = pod("c", "Pending", "5").form();
        assert!(fallen.of(&job(&Value::Null), &[successor]).is_empty());
    }
}
