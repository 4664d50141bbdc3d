//! Taking jobs away, and waiting until something is so.

use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{api::ApiError, find, job::Job, place::Cluster, terminal::Waiting};

/// Programs get half a minute to end by themselves; then they are ended.
const PATIENCE: Duration = Duration::from_secs(90);
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Removes a job with all that it owns.
pub(crate) async fn ask_to_remove(cluster: &Cluster, job: &Job) -> Result<(), ApiError> {
    let options = json!({
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        // What it owns goes first, so that nothing is left when it is gone.
        "propagationPolicy": "Foreground",
        "preconditions": {"uid": job.uid()},
    });
    match cluster.api.delete(&find::path_of(job), &options).await {
        // Somebody was faster, and may have made another of that name.
        Err(error) if error.is_absent() || error.is_conflict() => Ok(()),
        other => other.map(drop),
    }
}

/// Waits until a job is gone.
pub(crate) async fn wait_until_gone(cluster: &Cluster, job: &Job) -> Result<()> {
    let path = find::path_of(job);
    until(
        &format!("waiting for the pods of `{}` to end", job.name()),
        async || {
            let found = cluster.api.find(&path).await?;
            Ok(found.is_none_or(|found| found["metadata"]["uid"] != job.uid()))
        },
    )
    .await
}

/// Asks until the answer is yes; what takes longer than a second is told.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let (mut pause, mut waiting) = (SHORTEST_PAUSE, Waiting::new());
    while !is_so().await? {
        if Instant::now() > deadline {
            waiting.clear();
            bail!("{what} took longer than {} s", PATIENCE.as_secs());
        }
        waiting.tell(what);
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    waiting.clear();
    Ok(())
}
