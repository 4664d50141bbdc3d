//! From a patch to the moment each of many watchers has read of it.

use std::time::Instant;

use anyhow::{Context as _, Result};
use http_body_util::BodyExt as _;
use tokio::{
    sync::mpsc::{UnboundedSender, unbounded_channel},
    task::JoinSet,
};

use super::{Figure, PODS};
use crate::{
    client::Client,
    pods,
    site::Site,
    statistics::{milliseconds, quantile},
};

const PATCHES: usize = 200;
/// Patches before those that count: connections and caches are warm then.
const WARM_UP: usize = 10;

pub(super) async fn run(site: &Site<'_>, watchers: usize) -> Result<Vec<Figure>> {
    let mut client = site.client().await?;
    let (path, revision) = site.watch_path(&mut client).await?;
    let path = format!("{path}&resourceVersion={revision}");
    let (sightings, mut seen) = unbounded_channel();
    let mut tasks = JoinSet::new();
    for _ in 0..watchers {
        let watcher = site.client().await?;
        tasks.spawn(watch(watcher, path.clone(), sightings.clone()));
    }
    // The channel then ends, instead of waiting for ever, when the last watcher is gone.
    drop(sightings);

    let mut samples = Vec::with_capacity(watchers * PATCHES);
    for number in 0..WARM_UP + PATCHES {
        let started = Instant::now();
        client
            .merge_patch(&site.pod(number % PODS), pods::change(watchers * 1_000 + number))
            .await?;
        for _ in 0..watchers {
            let at = seen.recv().await.context("the watches ended")??;
            if number >= WARM_UP {
                samples.push(at - started);
            }
        }
    }
    let figure = |name: &str, share| {
        let value = quantile(&mut samples.clone(), share);
        (format!("watch_{watchers}_{name}"), milliseconds(value))
    };
    Ok(vec![figure("p50", 0.5), figure("p99", 0.99)])
}

/// Says when each event has arrived whole. Events are lines, and JSON has no other line ends.
async fn watch(mut client: Client, path: String, sightings: UnboundedSender<Result<Instant>>) {
    let result = async {
        let mut body = client.stream(&path).await?;
        while let Some(frame) = body.frame().await {
            let frame = frame.context("the watch broke off")?;
            let now = Instant::now();
            for byte in frame.data_ref().into_iter().flatten() {
                if *byte == b'\n' {
                    let _ = sightings.send(Ok(now));
                }
            }
        }
        Ok(())
    };
    if let Err(error) = result.await {
        let _ = sightings.send(Err(error));
    }
}
