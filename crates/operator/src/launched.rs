//! Pods that launchers' batch Jobs have made, by the name of the Job: they are found also when it is gone.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use reconcile::{Cached as _, Informer, Key};

use crate::seen::Seen;

/// What the name of a launcher's batch Job ends with.
const SUFFIX: &str = "-launcher";

/// The names of pods by their Job.
#[derive(Clone, Default)]
pub(crate) struct Launched {
    pods: Arc<Mutex<HashMap<Key, HashSet<Box<str>>>>>,
}

impl Launched {
    pub(crate) fn follow(pods: &Informer<Seen<Pod>>) -> Self {
        let launched = Self::default();
        let told = launched.clone();
        pods.on_change(move |change| {
            let Some(pod) = change.object() else { return };
            // Somebody may take a pod away from its Job.
            let [before, after] = [change.before, change.after].map(|pod| {
                let pod = pod?;
                Key::of_controller(&**pod, "Job").filter(is_of_launcher)
            });
            if let Some(batch_job) = before.filter(|before| after.as_ref() != Some(before)) {
                told.put(batch_job, pod.name(), false);
            }
            if let Some(batch_job) = after {
                told.put(batch_job, pod.name(), true);
            }
        });
        launched
    }

    fn put(&self, batch_job: Key, pod: &str, is_there: bool) {
        let mut pods = self.pods.lock();
        let names = pods.entry(batch_job.clone()).or_default();
        if is_there {
            names.insert(pod.into());
        } else {
            names.remove(pod);
        }
        if names.is_empty() {
            pods.remove(&batch_job);
        }
    }

    /// The names of the pods that a Job of this name has made.
    pub(crate) fn of(&self, batch_job: &Key) -> Vec<Box<str>> {
        let pods = self.pods.lock();
        pods.get(batch_job).into_iter().flatten().cloned().collect()
    }
}

/// The batch Job of the launcher of an MPIJob, and back.
pub(crate) fn batch_job(namespace: &str, name: &str) -> Key {
    Key::new(namespace, &format!("{name}{SUFFIX}"))
}

pub(crate) fn mpi_job(batch_job: &Key) -> Option<Key> {
    let name = batch_job.name.strip_suffix(SUFFIX)?;
    Some(Key::new(&batch_job.namespace, name))
}

fn is_of_launcher(batch_job: &Key) -> bool {
    batch_job.name.ends_with(SUFFIX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, job: &str) -> Seen<Pod> {
        let owner = json!([{"kind": "Job", "name": job, "uid": "u", "controller": true}]);
        let meta = json!({"namespace": "n", "name": name, "uid": name, "resourceVersion": "1", "ownerReferences": owner});
        serde_json::from_value(json!({"metadata": meta})).unwrap()
    }

    #[test]
    fn a_pod_that_is_taken_away_from_its_job_is_forgotten() {
        let pods = Informer::detached();
        let launched = Launched::follow(&pods);
        pods.wrote(pod("j-launcher-1", "j-launcher"));
        let meta =
            json!({"namespace": "n", "name": "j-launcher-1", "uid": "j-launcher-1", "resourceVersion": "2"});
        pods.wrote(serde_json::from_value(json!({"metadata": meta})).unwrap());
        assert!(launched.pods.lock().is_empty());
    }

    #[test]
    fn the_pods_of_a_launcher_are_found_by_the_name_of_its_job_as_long_as_they_are_there() {
        let pods = Informer::detached();
        pods.wrote(pod("j-launcher-1", "j-launcher"));
        let launched = Launched::follow(&pods);
        pods.wrote(pod("j-launcher-2", "j-launcher"));
        pods.wrote(pod("other-1", "other"));
        let key = batch_job("n", "j");
        let mut found = launched.of(&key);
        found.sort_unstable();
        assert_eq!(found, ["j-launcher-1".into(), "j-launcher-2".into()]);
        for name in ["j-launcher-1", "j-launcher-2"] {
            pods.removed(&pod(name, "j-launcher"));
        }
        assert!(launched.pods.lock().is_empty());
        assert_eq!(mpi_job(&key), Some(Key::new("n", "j")));
    }
}
