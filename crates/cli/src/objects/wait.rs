//! Waiting until objects are as they should be, or gone, and telling of it.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

use super::{
    Placed,
    readiness::{Readiness, readiness},
};
use crate::jobs::{place::Cluster, terminal::Waiting};

/// Objects of many kinds are waited for; asking for each costs less than a watch of each.
const PAUSE: Duration = Duration::from_millis(250);

/// What becomes of an object that is waited for.
enum Look {
    Done,
    NotYet(String),
}

/// Waits until all objects are ready.
pub(super) async fn until_ready(cluster: &Cluster, objects: &[Placed], patience: Duration) -> Result<()> {
    until(objects, patience, async |placed| {
        let Some(live) = cluster.api.find(&placed.path).await? else {
            bail!("{} has been deleted meanwhile", placed.shown);
        };
        match readiness(&live) {
            Readiness::Ready => Ok(Look::Done),
            Readiness::Waits(why) => Ok(Look::NotYet(why)),
            Readiness::Failed(why) => bail!("{} has failed: {why}", placed.shown),
        }
    })
    .await
}

/// Waits until all objects are gone.
pub(super) async fn until_gone(cluster: &Cluster, objects: &[Placed], patience: Duration) -> Result<()> {
    until(objects, patience, async |placed| {
        let live = cluster.api.find(&placed.path).await?;
        // One that was made anew is another object.
        let is_same = |live: &serde_json::Value| live["metadata"]["uid"] == placed.object["metadata"]["uid"];
        Ok(match live.filter(is_same) {
            Some(live) if live["metadata"]["finalizers"].is_array() => {
                Look::NotYet(format!("finalizers {} hold it", live["metadata"]["finalizers"]))
            }
            Some(_) => Look::NotYet("it is being deleted".to_owned()),
            None => Look::Done,
        })
    })
    .await
}

async fn until(
    objects: &[Placed],
    patience: Duration,
    look: impl AsyncFn(&Placed) -> Result<Look>,
) -> Result<()> {
    let deadline = Instant::now() + patience;
    let mut waiting = Waiting::new();
    let mut left: Vec<&Placed> = objects.iter().collect();
    while let Some(first) = left.first() {
        match look(first).await? {
            Look::Done => drop(left.remove(0)),
            Look::NotYet(why) if Instant::now() >= deadline => {
                waiting.clear();
                bail!("{} took longer than {} s: {why}", first.shown, patience.as_secs());
            }
            Look::NotYet(why) => {
                let others = match left.len() - 1 {
                    0 => String::new(),
                    count => format!(" (and {count} more)"),
                };
                waiting.tell(&format!("waiting for {}: {why}{others}", first.shown));
                sleep(PAUSE).await;
            }
        }
    }
    waiting.clear();
    Ok(())
}
