//! Pods that are tracked for a job that will never count them: it is over, or gone. They must be let
//! go, or they could never be deleted.

use std::sync::Arc;

use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
use reconcile::{Key, Next, Queue, run};
use tokio::task::JoinSet;

use super::{Controller, end, is_managed_by_another, tracking};
use crate::{
    Result,
    pods::{claim, health},
    world::World,
};

const NAME: &str = "job-controller-strays";
const WORKERS: usize = 2;

pub(super) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    let of_pods = queue.clone();
    world.pods.on_change(move |change| {
        if let Some(pod) = change.after.filter(|pod| is_suspect(pod)) {
            of_pods.add(Key::of(&**pod));
        }
    });
    let (of_jobs, pods) = (queue.clone(), world.pods.clone());
    world.jobs.on_change(move |change| {
        let is_over = change.after.is_none_or(|job| end(job).is_some());
        if let Some(job) = change.object().filter(|_| is_over) {
            let pods = pods.controlled_by(job.metadata.uid.as_deref().unwrap_or_default());
            for pod in pods.iter().filter(|pod| tracking::is_tracked(pod)) {
                of_jobs.add(Key::of(&**pod));
            }
        }
    });
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder(super::NAME),
    });
    tasks.spawn(async move {
        controller.world.pods.synced().await;
        controller.world.jobs.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.let_go(key).await }
        })
        .await;
    });
}

/// A tracked pod nobody controls, or one that somebody waits for to be gone.
fn is_suspect(pod: &Pod) -> bool {
    tracking::is_tracked(pod) && (claim::controller(&pod.metadata).is_none() || health::is_terminating(pod))
}

impl Controller {
    async fn let_go(&self, key: Key) -> Result<Next> {
        if let Some(pod) = self.world.pods.get(&key) {
            let job = Key::of_controller(&*pod, "Job").and_then(|key| self.world.jobs.get(&key));
            if is_stray(&pod, job.as_deref()) {
                self.patch(&pod, tracking::end(&pod)).await?;
            }
        }
        Ok(Next::Wait)
    }
}

/// `job` is the one that has the name of the pod's owner now, if there is one.
fn is_stray(pod: &Pod, job: Option<&Job>) -> bool {
    if !tracking::is_tracked(pod) {
        return false;
    }
    let Some(owner) = claim::controller(&pod.metadata) else {
        return true;
    };
    if owner.kind != "Job" || owner.api_version != "batch/v1" {
        return false;
    }
    let owning = job.filter(|job| job.metadata.uid.as_deref() == Some(owner.uid.as_str()));
    owning.is_none_or(|job| end(job).is_some() && !is_managed_by_another(job))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(owner: Value) -> Pod {
        let metadata = json!({"finalizers": [tracking::FINALIZER], "ownerReferences": owner});
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    fn owned_by(kind: &str, uid: &str) -> Pod {
        let version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
        pod(json!([
            {"apiVersion": version, "kind": kind, "name": "j", "uid": uid, "controller": true},
        ]))
    }

    fn job(end: &str, manager: Value) -> Job {
        let conditions = json!([{"type": end, "status": "True"}]);
        serde_json::from_value(json!({
            "metadata": {"uid": "u"},
            "spec": {"managedBy": manager, "template": {}},
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn a_pod_of_nobody_or_of_a_job_that_is_over_or_gone_is_let_go() {
        assert!(is_stray(&pod(json!([])), None));
        assert!(is_stray(&owned_by("Job", "u"), None));
        assert!(is_stray(
            &owned_by("Job", "another"),
            Some(&job("Suspended", json!(null)))
        ));
        assert!(is_stray(
            &owned_by("Job", "u"),
            Some(&job("Complete", json!(null)))
        ));
        assert!(!is_stray(
            &owned_by("Job", "u"),
            Some(&job("Suspended", json!(null)))
        ));
    }

    #[test]
    fn what_other_controllers_track_is_left_alone() {
        assert!(!is_stray(&owned_by("ReplicaSet", "u"), None));
        let elsewhere = job("Complete", json!("example.com/queue"));
        assert!(!is_stray(&owned_by("Job", "u"), Some(&elsewhere)));
        assert!(!is_stray(&Pod::default(), None));
    }
}
