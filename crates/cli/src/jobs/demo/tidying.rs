//! What becomes of a cluster that was started for the demo, when that is over.

use anyhow::Result;
use serde_json::Value;

use crate::jobs::{
    find,
    job::{Job, State, text},
    place::Cluster,
    replicas::owner,
};

/// What others do on the cluster, by name: it is not stopped under them. The demo's own job is `own`.
pub(super) async fn others(cluster: &Cluster, own: &str) -> Result<Vec<String>> {
    let jobs = find::all(cluster, None).await?;
    let pods = cluster.api.list("/api/v1/pods").await?.unwrap_or_default();
    Ok(in_use(&jobs, &pods, own))
}

/// Jobs that have not ended, and pods that are nobody's and still have something to do. What has ended, and what was
/// stopped, is as well off on a cluster that does not run.
fn in_use(jobs: &[Job], pods: &[Value], own: &str) -> Vec<String> {
    let others = jobs
        .iter()
        .filter(|job| job.name() != own && !job.state().has_ended() && job.state() != State::Suspended);
    let mut names: Vec<String> = others.map(Job::reference).collect();
    let is_of_a_job =
        |pod: &&Value| owner(pod).is_some_and(|owner| jobs.iter().any(|job| job.uid() == owner));
    let has_ended = |pod: &&Value| ["Succeeded", "Failed"].contains(&text(&pod["status"]["phase"]));
    let pods = pods.iter().filter(|pod| !is_of_a_job(pod) && !has_ended(pod));
    names.extend(pods.map(|pod| format!("Pod/{}", text(&pod["metadata"]["name"]))));
    names
}

#[cfg(test)]
mod tests {
    use resources::kinds;
    use serde_json::json;

    use super::*;

    fn job(name: &str, state: &str) -> Job {
        let conditions = json!([{"type": state, "status": "True"}]);
        Job {
            kind: &kinds::TF_JOB,
            object: json!({
                "metadata": {"name": name, "uid": name}, "status": {"conditions": conditions},
            }),
        }
    }

    fn pod(name: &str, owner: &str, phase: &str) -> Value {
        let owners = json!([{"uid": owner, "controller": true}]);
        json!({"metadata": {"name": name, "ownerReferences": owners}, "status": {"phase": phase}})
    }

    #[test]
    fn a_cluster_is_in_use_while_others_have_something_to_do_there() {
        let own = [job("demo-1", "Running")];
        assert_eq!(
            in_use(&own, &[pod("demo-1-worker-0", "demo-1", "Running")], "demo-1"),
            [""; 0]
        );
        let jobs = [
            job("old", "Succeeded"),
            job("held", "Suspended"),
            job("mine", "Created"),
            job("unseen", ""),
        ];
        let pods = [
            pod("mine-worker-0", "mine", "Pending"),
            pod("web", "set", "Running"),
            pod("done", "", "Succeeded"),
        ];
        assert_eq!(
            in_use(&jobs, &pods, "demo-1"),
            ["TFJob/mine", "TFJob/unseen", "Pod/web"]
        );
    }
}
