//! Waiting until objects are as they should be, or gone, and telling of it. The cluster says what changes: nothing is
//! asked for over and over.

mod collections;

use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::{
    StreamExt as _,
    future::{ready, try_join_all},
    stream::{BoxStream, SelectAll, once, select_all},
};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    Placed,
    readiness::{Readiness, readiness},
};
use crate::jobs::{
    api::{Api, ApiError, Event},
    place::Cluster,
    terminal::Waiting,
};
use collections::{Collection, Left, Look, collections};

/// Between a watch that has ended, as all do one day, and the next list.
const PAUSE: Duration = Duration::from_millis(250);
/// So many objects that are late are named one by one.
const SHOWN: usize = 20;

/// Waits until all objects are ready.
pub(super) async fn until_ready(cluster: &Cluster, objects: &[Placed], patience: Duration) -> Result<()> {
    until(cluster, objects, patience, |placed, live| {
        let Some(live) = live else {
            bail!("{} has been deleted meanwhile", placed.shown);
        };
        match readiness(live) {
            Readiness::Ready => Ok(Look::Done),
            Readiness::Waits(why) => Ok(Look::NotYet(why)),
            Readiness::Failed(why) => bail!("{} has failed: {why}", placed.shown),
        }
    })
    .await
}

/// Waits until all objects are gone.
pub(super) async fn until_gone(cluster: &Cluster, objects: &[Placed], patience: Duration) -> Result<()> {
    until(cluster, objects, patience, |placed, live| {
        // One that was made anew is another object.
        let is_same = |live: &&Value| live["metadata"]["uid"] == placed.object["metadata"]["uid"];
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
    cluster: &Cluster,
    objects: &[Placed],
    patience: Duration,
    look: impl Fn(&Placed, Option<&Value>) -> Result<Look>,
) -> Result<()> {
    let mut left = Left::new(objects, look);
    let mut waiting = Waiting::new();
    let deadline = Instant::now() + patience;
    let done = timeout_at(deadline, follow(cluster.clone(), &mut left, &mut waiting)).await;
    waiting.clear();
    match done {
        Err(_) if left.first().is_some() => bail!(overdue(&left.said(), patience)),
        Err(_) => Ok(()),
        Ok(done) => done,
    }
}

/// Everything that is not as it should be, and why not.
fn overdue(left: &[String], patience: Duration) -> String {
    let seconds = patience.as_secs();
    if let [one] = left {
        return format!("it took longer than {seconds} s, and is not done: {one}");
    }
    let more = left.len().saturating_sub(SHOWN);
    let mut text = format!(
        "it took longer than {seconds} s, and {} are not done:",
        left.len()
    );
    for one in left.iter().take(SHOWN) {
        text += &format!("\n  {one}");
    }
    if more > 0 {
        text += &format!("\n  and {more} more");
    }
    text
}

/// Follows what is left until nothing is.
async fn follow<L>(mut cluster: Cluster, left: &mut Left<'_, L>, waiting: &mut Waiting) -> Result<()>
where
    L: Fn(&Placed, Option<&Value>) -> Result<Look>,
{
    while left.first().is_some() {
        if let Err(error) = session(&cluster.api, left, waiting).await {
            match error.downcast_ref::<ApiError>() {
                Some(lost) if lost.is_passing() => waiting.tell(&lost.to_string()),
                _ => return Err(error),
            }
            // A server that was started again may be found elsewhere, and may not be there yet.
            if let Ok(renewed) = cluster.renewed().await {
                cluster = renewed;
            }
        }
        if left.first().is_some() {
            sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// Lists, and then hears of changes until a watch ends or nothing is left.
async fn session<L>(api: &Api, left: &mut Left<'_, L>, waiting: &mut Waiting) -> Result<()>
where
    L: Fn(&Placed, Option<&Value>) -> Result<Look>,
{
    let mut versions = Vec::new();
    for collection in collections(left.objects()) {
        // With its definition, a kind and all objects of it are gone.
        let list = api.find(&collection.path).await?.unwrap_or_default();
        let version = list["metadata"]["resourceVersion"].as_str();
        versions.push((collection.clone(), version.unwrap_or_default().to_owned()));
        left.list(&collection, list)?;
    }
    versions.retain(|(collection, _)| left.is_in(collection));
    if versions.is_empty() {
        return Ok(());
    }
    let mut events = open(api, versions).await?;
    while let Some((first, why)) = left.first() {
        let others = match left.objects().count() - 1 {
            0 => String::new(),
            count => format!(" (and {count} more)"),
        };
        waiting.tell(&format!("waiting for {}: {why}{others}", first.shown));
        match events.next().await.transpose()?.flatten() {
            Some((collection, event)) => left.learn(&collection, event)?,
            None => break,
        }
    }
    Ok(())
}

/// Events, and nothing when a watch has ended.
type Events = SelectAll<BoxStream<'static, Result<Option<(Collection, Event)>, ApiError>>>;

async fn open(api: &Api, versions: Vec<(Collection, String)>) -> Result<Events, ApiError> {
    let watches = versions.into_iter().map(async |(collection, version)| {
        let events = api.watch(&collection.path, &version).await?;
        let events = events.map(move |event| Ok(Some((collection.clone(), event?))));
        Ok::<_, ApiError>(events.chain(once(ready(Ok(None)))).boxed())
    });
    Ok(select_all(try_join_all(watches).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_late_is_named() {
        let patience = Duration::from_secs(5);
        let late =
            |count: usize| -> Vec<String> { (0..count).map(|one| format!("pod/{one}: it waits")).collect() };
        assert_eq!(
            overdue(&late(1), patience),
            "it took longer than 5 s, and is not done: pod/0: it waits"
        );
        assert_eq!(
            overdue(&late(2), patience),
            "it took longer than 5 s, and 2 are not done:\n  pod/0: it waits\n  pod/1: it waits"
        );
        assert!(overdue(&late(22), patience).ends_with("\n  pod/19: it waits\n  and 2 more"));
    }
}
