//! A job and its pods as the cluster has them: listed once, and then told of at every change. A watch that
//! ends, as all do one day, and a server that is started again are no more than another list.

mod known;

use std::{future::ready, time::Duration};

use futures_util::{
    FutureExt as _, StreamExt as _, TryStreamExt as _,
    future::try_join_all,
    stream::{BoxStream, SelectAll, once, select_all},
};
use tokio::{
    sync::watch::{Receiver, Sender, channel},
    task::AbortHandle,
    time::{Instant, sleep},
};

use super::{
    api::{Api, ApiError, Event},
    find,
    job::Job,
    place::Cluster,
    replicas::{self, Replica},
};
use known::Known;
pub(crate) use known::What;

/// How long a cluster may be out of reach, as it is while it is upgraded.
const PATIENCE: Duration = Duration::from_mins(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A job at one moment.
#[derive(Clone)]
pub(crate) enum Sight {
    There {
        job: Job,
        replicas: Vec<Replica>,
        /// The cluster that said so.
        api: Api,
    },
    /// It was removed.
    Gone,
    /// The cluster is out of reach for now.
    Lost { why: String },
}

type Seen = Result<Sight, ApiError>;

/// Follows a job for as long as it lives; of what is not looked at in time, the latest stays.
pub(crate) struct Watch {
    sights: Receiver<Seen>,
    task: AbortHandle,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watch {
    /// Watches a job and its pods.
    pub(crate) fn of(cluster: &Cluster, job: &Job) -> Self {
        Self::start(cluster, job, replicas::paths(job))
    }

    /// Watches a job alone.
    pub(crate) fn without_pods(cluster: &Cluster, job: &Job) -> Self {
        Self::start(cluster, job, Vec::new())
    }

    fn start(cluster: &Cluster, job: &Job, pods: Vec<(What, String)>) -> Self {
        let (sender, sights) = channel(Ok(Sight::Gone));
        let mut paths = vec![(What::Job, find::path_of_one(job))];
        paths.extend(pods);
        let task = tokio::spawn(watch(cluster.clone(), job.clone(), paths, sender)).abort_handle();
        Self { sights, task }
    }

    /// The next sight. Nothing is lost if it is not waited for; after the last, it stays.
    pub(crate) async fn next(&mut self) -> Result<Sight, ApiError> {
        let _ = self.sights.changed().await;
        self.sights.borrow_and_update().clone()
    }
}

async fn watch(mut cluster: Cluster, job: Job, paths: Vec<(What, String)>, sights: Sender<Seen>) {
    let (mut pause, mut lost_since) = (SHORTEST_PAUSE, None::<Instant>);
    loop {
        let mut known = Known::new(job.clone());
        let broken = session(&cluster.api, &paths, &mut known, &sights).await;
        if known.is_gone() {
            return;
        }
        // Whatever was heard meanwhile, it has not been out of reach since then.
        if known.is_complete() {
            (pause, lost_since) = (SHORTEST_PAUSE, None);
        }
        if let Err(error) = broken {
            let since = *lost_since.get_or_insert_with(Instant::now);
            if !error.is_passing() || since.elapsed() > PATIENCE {
                // Whoever has asked may be gone.
                let _ = sights.send(Err(error));
                return;
            }
            let _ = sights.send(Ok(Sight::Lost {
                why: error.to_string(),
            }));
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        // A server that was started again may be found elsewhere, and may not be there yet.
        if let Ok(renewed) = cluster.renewed().await {
            cluster = renewed;
        }
    }
}

/// Lists, and then hears of changes until a watch ends or the job is gone.
async fn session(
    api: &Api,
    paths: &[(What, String)],
    known: &mut Known,
    sights: &Sender<Seen>,
) -> Result<(), ApiError> {
    let mut events = open(api, paths, known).await?;
    loop {
        let sight = known.sight(api);
        let is_over = matches!(sight, Sight::Gone);
        let _ = sights.send(Ok(sight));
        if is_over {
            return Ok(());
        }
        let mut next = events.next().await;
        // What comes at once is one change.
        while let Some(event) = next {
            match event? {
                Some(event) => known.learn(event)?,
                None => return Ok(()),
            }
            next = events.next().now_or_never().flatten();
        }
    }
}

/// Events, and nothing when a watch has ended.
type Events = SelectAll<BoxStream<'static, Result<Option<(What, Event)>, ApiError>>>;

async fn open(api: &Api, paths: &[(What, String)], known: &mut Known) -> Result<Events, ApiError> {
    let lists = paths.iter().map(|(_, path)| api.get(path));
    let lists = try_join_all(lists).await?;
    let mut versions = Vec::new();
    for ((what, _), list) in paths.iter().zip(lists) {
        versions.push(known.list(*what, list));
    }
    let watches = paths.iter().zip(versions).map(async |((what, path), version)| {
        let what = *what;
        let events = api.watch(path, &version).await?;
        let events = events.map_ok(move |event| Some((what, event)));
        Ok::<_, ApiError>(events.chain(once(ready(Ok(None)))).boxed())
    });
    Ok(select_all(try_join_all(watches).await?))
}
