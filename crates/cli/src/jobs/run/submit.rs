//! Making a job that somebody waits for.

use std::time::Duration;

use anyhow::Result;
use resources::Kind;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::{
    advised, ailments,
    instance::Instance,
    jobs::{api::escaped, find, job::Job, place::Cluster},
};

/// How long a cluster that has just started may take until it knows the kinds of jobs.
const KINDS_PATIENCE: Duration = Duration::from_secs(30);

/// Makes the job. Its name must be free among all kinds, as it is what people call it by.
pub(crate) async fn submit(cluster: &Cluster, kind: &'static Kind, job: Value) -> Result<Job> {
    let name = job["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    match find::find(cluster, &name).await {
        Err(error) if error.is::<find::Absent>() => {}
        Err(error) => return Err(error),
        Ok(taken) => {
            return Err(advised(
                format!("there is a {} `{name}` already", taken.kind.kind),
                format!(
                    "choose another name with `--name NAME`, or remove it with `{}`",
                    cluster.command(&format!("rm {name}"))
                ),
            ));
        }
    }
    let version = job["apiVersion"]
        .as_str()
        .and_then(|text| text.rsplit('/').next());
    let version = version.unwrap_or(kind.versions[0]);
    let path = find::path(kind, version, Some(&cluster.namespace), None);
    let deadline = Instant::now() + KINDS_PATIENCE;
    loop {
        match cluster.api.create(&path, &job).await {
            Ok(object) => return Ok(Job { kind, object }),
            Err(error) if error.is_absent() && lacks_namespace(cluster).await => {
                return Err(advised(
                    format!("there is no namespace `{}`", cluster.namespace),
                    format!(
                        "make it with `kubectl create namespace {}`, or name another with `-n NAME`",
                        cluster.namespace
                    ),
                ));
            }
            Err(error) if error.is_absent() && cluster.embedded.is_none() => {
                return Err(advised(
                    format!(
                        "the cluster does not know {}s, or the namespace: {error}",
                        kind.kind
                    ),
                    "the training operator has to be there: `trainyard operator`",
                ));
            }
            Err(error) if error.is_absent() && Instant::now() < deadline => {
                sleep(Duration::from_millis(50)).await;
            }
            Err(error) => {
                let dir = cluster.embedded.as_ref().map(Instance::dir);
                return Err(match dir.and_then(ailments::of_disk) {
                    Some(ailment) => advised(
                        format!("the job was not taken: {error}\n  because: {}", ailment.what),
                        ailment.hint,
                    ),
                    None => anyhow::Error::from(error).context("the job was refused"),
                });
            }
        }
    }
}

async fn lacks_namespace(cluster: &Cluster) -> bool {
    let path = format!("/api/v1/namespaces/{}", escaped(&cluster.namespace));
    matches!(cluster.api.find(&path).await, Ok(None))
}
