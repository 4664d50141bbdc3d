//! What keeps the pods of a job from starting: the causes that `why` finds, looked for while the job waits. A look
//! follows a change of the job, its pods or a warning about them; the first few follow soon after the start as well,
//! and later ones ever more rarely, for what no watch tells: a disk that is full, an operator that is silent.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use tokio::{
    sync::Notify,
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep},
};

use crate::jobs::{
    api::{Api, Event, escaped},
    job::{Job, State, text},
    place::Cluster,
    replicas::Replica,
    why::{self, Cause, Class},
};

/// When a job that has just been made is looked at first.
const FIRST: Duration = Duration::from_millis(600);
/// How long most causes have to last before they are told: a cluster at work is full of passing ones.
const LASTING: Duration = Duration::from_millis(1300);
/// The pauses between looks that nothing asks for.
const SHORTEST: Duration = Duration::from_millis(1400);
const LONGEST: Duration = Duration::from_secs(30);
/// A look asks for several lists: it may take no more than a part of the time.
const SHARE: u32 = 10;
/// How long a watch that broke waits before it is made anew.
const WATCH_AGAIN: Duration = Duration::from_secs(2);

pub(super) struct Obstacles {
    cluster: Cluster,
    looks: JoinSet<Option<Vec<Cause>>>,
    asked: Instant,
    next: Option<Instant>,
    pause: Duration,
    /// The earliest time of the next look.
    not_before: Instant,
    /// Since when each cause was found in every look.
    since: HashMap<String, Instant>,
    warned: Arc<Notify>,
    watch: Option<AbortHandle>,
}

impl Drop for Obstacles {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}

impl Obstacles {
    pub(super) fn new(cluster: &Cluster) -> Self {
        let now = Instant::now();
        Self {
            cluster: cluster.clone(),
            looks: JoinSet::new(),
            asked: now,
            next: Some(now + FIRST),
            pause: SHORTEST,
            not_before: now + FIRST,
            since: HashMap::new(),
            warned: Arc::new(Notify::new()),
            watch: None,
        }
    }

    /// The cluster answers at this place.
    pub(super) fn reach(&mut self, api: &Api) {
        self.cluster.api = api.clone();
    }

    /// When something is to be done though nothing happens.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next.filter(|_| self.looks.is_empty())
    }

    /// Something about the job or its pods has changed.
    pub(super) fn notice(&mut self, job: &Job, replicas: &[Replica]) {
        if !waits(job, replicas) {
            (self.next, self.pause) = (None, SHORTEST);
            self.since.clear();
            return;
        }
        let soon = self.not_before.max(Instant::now());
        self.next = Some(self.next.map_or(soon, |next| next.min(soon)));
    }

    /// Begins a look when it is time for one.
    pub(super) fn look(&mut self, job: &Job) {
        let now = Instant::now();
        if !self.looks.is_empty() || self.next.is_none_or(|next| next > now) {
            return;
        }
        self.next = None;
        self.asked = now;
        if self.watch.is_none() {
            let watch = warnings(self.cluster.clone(), job.clone(), self.warned.clone());
            self.watch = Some(tokio::spawn(watch).abort_handle());
        }
        let (cluster, reference) = (self.cluster.clone(), job.reference());
        self.looks.spawn(async move {
            // A refused or failed look is reported by the watch of the job.
            let explanation = why::explanation(&cluster, &reference).await.ok()?;
            Some(explanation.causes)
        });
    }

    /// The causes that have lasted, when a look has ended; `None` when it has found nothing certain yet.
    pub(super) async fn found(&mut self) -> Option<Vec<Cause>> {
        tokio::select! {
            Some(ended) = self.looks.join_next() => {
                let now = Instant::now();
                let taken = now.duration_since(self.asked);
                self.not_before = now + SHORTEST.max(taken * SHARE);
                let causes = ended.ok().flatten()?;
                let (lasting, is_certain) = self.lasting(causes, now);
                // Something that is not certain is looked at again at once.
                self.next = Some(if is_certain { (now + self.pause).max(self.not_before) } else { self.not_before });
                self.pause = (self.pause * 3 / 2).min(LONGEST);
                (is_certain || !lasting.is_empty()).then_some(lasting)
            }
            () = self.warned.notified() => {
                if let Some(next) = &mut self.next {
                    *next = self.not_before.max(Instant::now()).min(*next);
                }
                None
            }
            else => std::future::pending().await,
        }
    }

    /// Those that are told, and whether these are all there were.
    fn lasting(&mut self, causes: Vec<Cause>, now: Instant) -> (Vec<Cause>, bool) {
        let causes: Vec<Cause> = causes.into_iter().filter(holds_up).collect();
        let topics: Vec<String> = causes.iter().map(Cause::topic).collect();
        self.since.retain(|topic, _| topics.contains(topic));
        let all = causes.len();
        let lasting: Vec<Cause> = causes
            .into_iter()
            .zip(topics)
            .filter(|(cause, topic)| {
                let since = *self.since.entry(topic.clone()).or_insert(now);
                is_certain(cause.class) || now.duration_since(since) >= LASTING
            })
            .map(|(cause, _)| cause)
            .collect();
        let is_certain = lasting.len() == all;
        (lasting, is_certain)
    }
}

/// Whether some of its pods have not started.
fn waits(job: &Job, replicas: &[Replica]) -> bool {
    if job.state().has_ended() {
        return false;
    }
    let has_not_begun = |replica: &Replica| replica.is_active() && replica.attempt(job).is_none();
    replicas.is_empty() && job.state() != State::Running || replicas.iter().any(has_not_begun)
}

/// Whether it keeps pods from starting. What programs do is seen by their output and their end.
fn holds_up(cause: &Cause) -> bool {
    match cause.class {
        Class::Failed | Class::Restarted => false,
        // Others have nothing to do with a start.
        Class::Warned => ["Failed", "Network", "Err"]
            .iter()
            .any(|word| cause.what.starts_with(word)),
        _ => true,
    }
}

/// Whether what is found once is so: it does not pass by itself within moments.
fn is_certain(class: Class) -> bool {
    matches!(class, Class::Refused | Class::NotStarted | Class::Held)
}

/// Notifies of every warning about the job or something whose name begins with the job's.
async fn warnings(cluster: Cluster, job: Job, warned: Arc<Notify>) {
    let path = format!(
        "/api/v1/namespaces/{}/events?fieldSelector={}",
        escaped(job.namespace()),
        escaped("type=Warning")
    );
    loop {
        match listen(&cluster.api, &path, &job, &warned).await {
            Err(error) if error.is_forbidden() => return,
            _ => sleep(WATCH_AGAIN).await,
        }
    }
}

async fn listen(api: &Api, path: &str, job: &Job, warned: &Notify) -> Result<(), crate::jobs::api::ApiError> {
    let list = api.get(&format!("{path}&limit=1")).await?;
    let events = api
        .watch(path, text(&list["metadata"]["resourceVersion"]))
        .await?;
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        if let Event::Added(event) | Event::Modified(event) = event?
            && text(&event["involvedObject"]["name"]).starts_with(job.name())
        {
            warned.notify_one();
        }
    }
    Ok(())
}
