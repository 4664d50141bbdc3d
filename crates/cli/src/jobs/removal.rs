//! Taking jobs away, and waiting until something is so.

use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::{
    api::ApiError,
    find,
    job::Job,
    place::Cluster,
    terminal::{QUIET, Waiting},
    watch::{Sight, Watch},
};

/// Programs get half a minute to end by themselves; then they are ended.
const PATIENCE: Duration = Duration::from_secs(90);

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
    let watch = Watch::without_pods(cluster, job);
    until(watch, job, |sight| Ok(matches!(sight, Sight::Gone))).await
}

/// Waits for a job and its pods to be as they should; what takes longer than a second is told.
pub(crate) async fn until(
    mut watch: Watch,
    job: &Job,
    mut is_so: impl FnMut(&Sight) -> Result<bool>,
) -> Result<()> {
    let what = format!("waiting for the pods of `{}` to end", job.name());
    let deadline = Instant::now() + PATIENCE;
    let (mut waiting, mut next) = (Waiting::new(), Instant::now() + QUIET);
    loop {
        match timeout_at(next, watch.next()).await {
            Ok(sight) => {
                if is_so(&sight?)? {
                    waiting.clear();
                    return Ok(());
                }
            }
            Err(_) if next < deadline => {
                waiting.tell_at_once(&what);
                next = deadline;
            }
            Err(_) => {
                waiting.clear();
                bail!("{what} took longer than {} s", PATIENCE.as_secs());
            }
        }
    }
}
