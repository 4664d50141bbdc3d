//! The pods of a job, by the names people know them by: `master-0`, `worker-1`, `launcher`.

use resources::names::{labels, mxnet_labels};
use serde_json::Value;

use super::{
    api::{Api, ApiError, escaped},
    job::{Job, text},
};

/// A pod of a job.
#[derive(Clone, Debug)]
pub(crate) struct Replica {
    pub(crate) name: String,
    pub(crate) pod: Value,
}

/// One run of a replica's program: the pod, and how often its container was started before.
pub(crate) type Attempt = (String, i64);

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
        let name = self.container(job);
        let statuses = self.pod["status"]["containerStatuses"].as_array();
        let status = statuses.and_then(|statuses| statuses.iter().find(|status| status["name"] == name));
        status.unwrap_or(&Value::Null)
    }

    /// The run of its program that has begun last, if any has.
    pub(crate) fn attempt(&self, job: &Job) -> Option<Attempt> {
        let status = self.container_status(job);
        let (state, before) = (&status["state"], &status["lastState"]);
        let has_begun = state["running"].is_object() || state["terminated"].is_object();
        let uid = text(&self.pod["metadata"]["uid"]).to_owned();
        let count = status["restartCount"].as_i64().unwrap_or_default();
        match before["terminated"].is_object() {
            _ if has_begun => Some((uid, count)),
            // It waits to be started again.
            true => Some((uid, (count - 1).max(0))),
            false => None,
        }
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

/// The pods of a job as they are now, in the order of their names.
pub(crate) async fn replicas(api: &Api, job: &Job) -> Result<Vec<Replica>, ApiError> {
    let core = format!("/api/v1/namespaces/{}/pods", escaped(job.namespace()));
    let batch = format!("/apis/batch/v1/namespaces/{}/jobs", escaped(job.namespace()));
    // Pods of batch Jobs, and those of older kinds, do not all have the label.
    let has_labels = !job.is_standalone_mxnet() && job.kind.port.is_some();
    let (pods, batch_jobs) = if has_labels {
        let selector = escaped(&format!("{}={}", labels::JOB_NAME, job.name()));
        (api.list(&format!("{core}?labelSelector={selector}")).await?, None)
    } else {
        tokio::try_join!(api.list(&core), api.list(&batch))?
    };
    Ok(of_job(
        job,
        pods.unwrap_or_default(),
        &batch_jobs.unwrap_or_default(),
    ))
}

/// Those of the pods that are the job's, by themselves or by its batch Jobs. Of several launchers, one
/// after the other, the last counts.
pub(crate) fn of_job(job: &Job, pods: Vec<Value>, batch_jobs: &[Value]) -> Vec<Replica> {
    let own_jobs = batch_jobs.iter().filter(|batch| owner(batch) == Some(job.uid()));
    let mut owners: Vec<&str> = own_jobs.map(|batch| text(&batch["metadata"]["uid"])).collect();
    owners.push(job.uid());
    let own = pods
        .into_iter()
        .filter(|pod| owner(pod).is_some_and(|uid| owners.contains(&uid)));
    let mut found: Vec<Replica> = own
        .map(|pod| Replica {
            name: short_name(job, &pod),
            pod,
        })
        .collect();
    found.sort_by(|a, b| {
        let created = |replica: &Replica| text(&replica.pod["metadata"]["creationTimestamp"]).to_owned();
        (natural(&a.name), created(b)).cmp(&(natural(&b.name), created(a)))
    });
    found.dedup_by(|later, first| later.name == first.name);
    found
}

pub(crate) fn owner(object: &Value) -> Option<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    owner["uid"].as_str()
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
        let found = of_job(&job, pods, &[launcher]);
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
