//! What a job's life costs, counted beside the operator, which must come to no more than it is allowed.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::{Child, observed::Pod, simulation::World};

/// Every restart of a job's whole life, as whoever watches it from outside would count them.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    by_operator: i32,
    pub by_batch_job: i32,
    /// Of each pod.
    pub by_kubelet: HashMap<String, i32>,
    /// Names of pods that were last seen to have failed.
    pub failed: HashSet<String>,
    gang: i64,
}

impl Ledger {
    pub(super) fn total(&self) -> i32 {
        self.by_operator + self.by_batch_job + self.by_kubelet.values().sum::<i32>()
    }

    pub(super) fn see(&mut self, world: &World) {
        // What is stopped is not restarted.
        if world.conditions().contains(" Suspended") {
            self.failed.clear();
            return;
        }
        let restarts = &world.job["status"]["restarts"];
        for pod in &world.observed.pods {
            if !pod.has_failed() {
                self.failed.remove(&pod.name);
            } else if !is_let_go(restarts, pod) {
                // One that was let go before, as its job was to stand still, goes for that reason.
                self.failed.insert(pod.name.clone());
            }
        }
    }

    /// One that was removed behind the operator's back is made again and not counted.
    pub(super) fn forget(&mut self, pod: &Pod) {
        self.by_kubelet.remove(&pod.uid);
        self.failed.remove(&pod.name);
    }

    pub(super) fn count_made(&mut self, replica: &Child) {
        let number = &replica.object["metadata"]["annotations"]["trainyard.dev/restart"];
        let number: Option<i64> = number.as_str().and_then(|number| number.parse().ok());
        if let Some(gang) = number {
            // One restart of all.
            self.by_operator += i32::from(gang > self.gang);
            self.gang = self.gang.max(gang);
        } else {
            self.by_operator += i32::from(self.failed.remove(replica.name()));
        }
    }
}

/// Whether a pod is counted in what is stored, and goes.
pub(super) fn is_let_go(restarts: &Value, pod: &Pod) -> bool {
    let replaced = restarts["replaced"].as_array().into_iter().flatten();
    let mut replaced = replaced.filter_map(Value::as_str);
    let is_old = i64::from(pod.gang) < restarts["gang"].as_i64().unwrap_or_default();
    is_old || replaced.any(|uid| uid == pod.uid || Some(uid) == pod.controller.as_deref())
}

/// Restarts that batch Jobs have made which are not counted and on their way out.
pub(super) fn by_batch_jobs(world: &World) -> i32 {
    let annotations = &world.job["metadata"]["annotations"];
    if world.job["spec"]["runLauncherAsWorker"] == true
        && !annotations["trainyard.dev/gang-restart"].is_null()
    {
        // It is restarted with its gang.
        return 0;
    }
    let restarts = &world.job["status"]["restarts"];
    let (gang, replaced) = (
        restarts["gang"].as_i64().unwrap_or_default(),
        restarts["replaced"].to_string(),
    );
    let jobs = world.observed.jobs.iter();
    let jobs = jobs.filter(|job| i64::from(job.gang) >= gang && !replaced.contains(&job.uid));
    // One that gives up has not restarted the last.
    jobs.map(|job| job.failed - i32::from(job.failure.is_some()))
        .sum()
}
