//! The pods of a job, by the names people know them by: `master-0`, `worker-1`, `launcher`.

use std::sync::Arc;

use futures_util::future::try_join_all;
use resources::names::{labels, mxnet_labels};
use serde_json::Value;

use super::{
    api::{Api, ApiError, escaped},
    job::{Job, text},
    watch::What,
};

/// A pod of a job.
#[derive(Clone, Debug)]
pub(crate) struct Replica {
    pub(crate) name: String,
    pub(crate) pod: Arc<Value>,
}

/// The last run of a replica's program, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The uid of its pod.
    pub(crate) pod: String,
    /// How often its container was started before.
    pub(crate) run: i64,
    /// It has ended, and the next is waited for. Of the runs before it nothing can be had meanwhile: it is the
    /// previous one itself.
    pub(crate) is_before_another: bool,
}

impl Replica {
    pub(crate) fn pod_name(&self) -> &str {
        text(&self.pod["metadata"]["name"])
    }

    pub(crate) fn is_being_deleted(&self) -> bool {
        !self.pod["metadata"]["deletionTimestamp"].is_null()
    }

    pub(crate) fn phase(&self) -> &str {
        text(&self.pod["status"]["phase"])
    }

    /// Whether its programs have more to do.
    pub(crate) fn is_active(&self) -> bool {
        !self.is_being_deleted() && !["Succeeded", "Failed"].contains(&self.phase())
    }

    /// The container whose output and end are the replica's.
    pub(crate) fn container(&self, job: &Job) -> &str {
        let containers = self.pod["spec"]["containers"].as_array();
        let names = || {
            containers
                .into_iter()
                .flatten()
                .map(|container| text(&container["name"]))
        };
        let own = names().find(|name| *name == job.kind.container);
        own.or_else(|| names().next()).unwrap_or_default()
    }

    pub(crate) fn container_status(&self, job: &Job) -> &Value {
        container_status(&self.pod, self.container(job))
    }

    pub(crate) fn is_running(&self, job: &Job) -> bool {
        self.container_status(job)["state"]["running"].is_object()
    }

    /// The run of its program that has begun last, if any has.
    pub(crate) fn attempt(&self, job: &Job) -> Option<Attempt> {
        attempt(&self.pod, self.container(job))
    }

    /// How its program ended last: for good, or before it is started again.
    pub(crate) fn end(&self, job: &Job) -> &Value {
        let status = self.container_status(job);
        match &status["state"]["terminated"] {
            Value::Null => &status["lastState"]["terminated"],
            end => end,
        }
    }
}

fn container_status<'a>(pod: &'a Value, container: &str) -> &'a Value {
    let statuses = pod["status"]["containerStatuses"].as_array();
    let status = statuses.and_then(|statuses| statuses.iter().find(|status| status["name"] == container));
    status.unwrap_or(&Value::Null)
}

/// The run of a container that has begun last, if any has.
pub(crate) fn attempt(pod: &Value, container: &str) -> Option<Attempt> {
    let status = container_status(pod, container);
    let (state, before) = (&status["state"], &status["lastState"]);
    let has_begun = state["running"].is_object() || state["terminated"].is_object();
    (has_begun || before["terminated"].is_object()).then(|| Attempt {
        pod: text(&pod["metadata"]["uid"]).to_owned(),
        run: status["restartCount"].as_i64().unwrap_or_default(),
        is_before_another: !has_begun,
    })
}

/// Where the pods of a job are found, and what leads to them.
pub(crate) fn paths(job: &Job) -> Vec<(What, String)> {
    let namespace = escaped(job.namespace());
    let pods = format!("/api/v1/namespaces/{namespace}/pods");
    // Pods of batch Jobs, and those of older kinds, do not all have the label.
    let has_labels = !job.is_standalone_mxnet() && job.kind.port.is_some();
    if has_labels {
        let selector = escaped(&format!("{}={}", labels::JOB_NAME, job.name()));
        return vec![(What::Pod, format!("{pods}?labelSelector={selector}"))];
    }
    let batch = format!("/apis/batch/v1/namespaces/{namespace}/jobs");
    vec![(What::BatchJob, batch), (What::Pod, pods)]
}

/// The pods of a job as they are now, in the order of their names.
pub(crate) async fn replicas(api: &Api, job: &Job) -> Result<Vec<Replica>, ApiError> {
    let (mut pods, mut batch_jobs) = (Vec::new(), Vec::new());
    let paths = paths(job);
    let lists = try_join_all(paths.iter().map(|(_, path)| api.list(path))).await?;
    for ((what, _), list) in paths.iter().zip(lists) {
        match what {
            What::Pod => pods.extend(list.unwrap_or_default()),
            What::BatchJob | What::Job => batch_jobs.extend(list.unwrap_or_default()),
        }
    }
    Ok(of_job(job, pods.into_iter().map(Arc::new), batch_jobs.iter()))
}

/// Whether a pod may be the job's: it is its own, or that of a batch Job, whose owner is another question.
pub(crate) fn may_be_of(job: &Job, pod: &Value) -> bool {
    controller(pod).is_some_and(|owner| owner["uid"] == job.uid() || owner["kind"] == "Job")
}

/// Those of the pods that are the job's, by themselves or by its batch Jobs. Of several launchers, one
/// after the other, the last counts.
pub(crate) fn of_job<'a>(
    job: &Job,
    pods: impl Iterator<Item = Arc<Value>>,
    batch_jobs: impl Iterator<Item = &'a Value>,
) -> Vec<Replica> {
    let own_jobs = batch_jobs.filter(|batch| owner(batch) == Some(job.uid()));
    let mut owners: Vec<&str> = own_jobs.map(|batch| text(&batch["metadata"]["uid"])).collect();
    owners.push(job.uid());
    let own = pods.filter(|pod| owner(pod).is_some_and(|uid| owners.contains(&uid)));
    let mut found: Vec<Replica> = own
        .map(|pod| Replica {
            name: short_name(job, &pod),
            pod,
        })
        .collect();
    found.sort_by_cached_key(|replica| {
        let created = text(&replica.pod["metadata"]["creationTimestamp"]).to_owned();
        (natural(&replica.name), std::cmp::Reverse(created))
    });
    found.dedup_by(|later, first| later.name == first.name);
    found
}

/// The uid of what owns an object.
pub(crate) fn owner(object: &Value) -> Option<&str> {
    controller(object)?["uid"].as_str()
}

fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

fn short_name(job: &Job, pod: &Value) -> String {
    let labels = &pod["metadata"]["labels"];
    if let (Some(role), Some(index)) = (
        labels[mxnet_labels::ROLE].as_str(),
        labels[mxnet_labels::INDEX].as_str(),
    ) {
        return format!("{}-{index}", role.to_lowercase());
    }
    let name = text(&pod["metadata"]["name"]);
    let rest = name
        .strip_prefix(job.name())
        .and_then(|rest| rest.strip_prefix('-'));
    match rest {
        Some(rest) if rest == "launcher" || rest.starts_with("launcher-") => "launcher".to_owned(),
        Some(rest) => rest.to_owned(),
        None => name.to_owned(),
    }
}

/// `worker-10` comes after `worker-9`.
fn natural(name: &str) -> (String, u64) {
    match name.rsplit_once('-') {
        Some((role, index)) => (role.to_owned(), index.parse().unwrap_or_default()),
        None => (name.to_owned(), 0),
    }
}

#[cfg(test)]
mod tests {
    use resources::kinds;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, owner: &str, created: &str) -> Value {
        json!({"metadata": {
            "name": name, "uid": format!("uid-{name}"), "creationTimestamp": created,
            "ownerReferences": [{"uid": owner, "controller": true}],
        }})
    }

    #[test]
    fn pods_are_found_through_batch_jobs_and_of_launchers_the_last_counts() {
        let object = json!({"metadata": {"name": "ring", "uid": "j"}});
        let job = Job {
            kind: &kinds::MPI_JOB,
            object,
        };
        let launcher =
            json!({"metadata": {"uid": "b", "ownerReferences": [{"uid": "j", "controller": true}]}});
        let pods = vec![
            pod("ring-worker-10", "j", "1"),
            pod("ring-worker-9", "j", "1"),
            pod("ring-launcher-aaaaa", "b", "1"),
            pod("ring-launcher-bbbbb", "b", "2"),
            pod("other-worker-0", "x", "1"),
        ];
        let pods = pods.into_iter().map(Arc::new);
        let found = of_job(&job, pods, [&launcher].into_iter());
        let names: Vec<_> = found
            .iter()
            .map(|replica| (replica.name.as_str(), replica.pod_name()))
            .collect();
        assert_eq!(
            names,
            [
                ("launcher", "ring-launcher-bbbbb"),
                ("worker-9", "ring-worker-9"),
                ("worker-10", "ring-worker-10"),
            ]
        );
    }
}
