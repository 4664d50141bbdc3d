//! The loop: keeps the picture of the cluster true, decides, and writes the decisions down.

mod bind;
mod groups;
mod hold;
mod picture;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::{
    api::{
        core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod},
        policy::v1::PodDisruptionBudget,
        storage::v1::StorageClass,
    },
    jiff::Timestamp,
};
use kube::Client;
use parking_lot::Mutex;
use reconcile::{Informer, Informers, Key, Recorder};
use tokio::{
    sync::{Notify, Semaphore},
    task::JoinSet,
};

use crate::cycle::{Decision, decide};
use groups::Sizes;
use picture::Picture;

/// While much happens, decisions are made for many pods at a time; a single pod never waits for others.
const PERIOD: Duration = Duration::from_millis(20);

/// So many decisions are written down at a time.
const WRITERS: usize = 64;

/// Starts the scheduler. It runs until the tasks are dropped.
pub fn start(client: Client, informers: &Informers) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let engine = Arc::new(Engine {
        pods: informers.pods(),
        nodes: informers.nodes(),
        namespaces: informers.of(),
        claims: informers.claims(),
        volumes: informers.volumes(),
        classes: informers.storage_classes(),
        budgets: informers.disruption_budgets(),
        recorder: Recorder::new(client.clone(), "default-scheduler"),
        news: Mutex::default(),
        heard: Notify::new(),
        claimed: Notify::new(),
        writers: Arc::new(Semaphore::new(WRITERS)),
        client,
    });
    engine.listen();
    tasks.spawn(run(engine));
    tasks
}

/// Brings the picture up to date, and says whether that may give a waiting pod a place.
type News = Box<dyn FnOnce(&mut Picture) -> bool + Send>;

struct Engine {
    client: Client,
    recorder: Recorder,
    pods: Informer<Pod>,
    nodes: Informer<Node>,
    namespaces: Informer<Namespace>,
    claims: Informer<PersistentVolumeClaim>,
    volumes: Informer<PersistentVolume>,
    classes: Informer<StorageClass>,
    budgets: Informer<PodDisruptionBudget>,
    /// What has happened and is not in the picture yet. Who tells of it is never held up by a decision.
    news: Mutex<Vec<News>>,
    heard: Notify,
    /// A claim has changed.
    claimed: Notify,
    writers: Arc<Semaphore>,
}

async fn run(engine: Arc<Engine>) {
    engine.pods.synced().await;
    engine.nodes.synced().await;
    engine.namespaces.synced().await;
    engine.claims.synced().await;
    engine.volumes.synced().await;
    engine.classes.synced().await;
    engine.budgets.synced().await;
    let mut picture = Picture::default();
    let mut sizes = Sizes::default();
    let mut last: Option<Instant> = None;
    loop {
        let is_due = tokio::select! {
            () = engine.heard.notified() => false,
            () = due(sizes.next_look()) => true,
        };
        if let Some(rest) = last.and_then(|last| PERIOD.checked_sub(last.elapsed())) {
            tokio::time::sleep(rest).await;
        }
        let may_matter = engine.take_in_news(&mut picture);
        if !may_matter && !is_due {
            continue;
        }
        last = Some(Instant::now());
        let has_learned = sizes.learn(&engine.client, &picture.groups()).await;
        if !may_matter && !has_learned {
            continue;
        }
        for decision in decide_all(&mut picture, &sizes) {
            engine.clone().carry_out(decision).await;
        }
    }
}

async fn due(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn decide_all(picture: &mut Picture, sizes: &Sizes) -> Vec<Decision> {
    let units = picture.units(sizes);
    let decisions = decide(&mut picture.cluster, units, Timestamp::now());
    for decision in &decisions {
        if let Decision::Bind { demand, .. } = decision {
            picture.waiting.remove(&Key::of(&*demand.pod));
        }
    }
    decisions
}

impl Engine {
    fn listen(self: &Arc<Self>) {
        self.tell(&self.pods, Picture::pod_changed);
        self.tell(&self.nodes, Picture::node_changed);
        self.tell(&self.namespaces, Picture::namespace_changed);
        self.tell(&self.claims, Picture::claim_changed);
        self.tell(&self.volumes, Picture::volume_changed);
        self.tell(&self.classes, Picture::class_changed);
        self.tell(&self.budgets, Picture::budget_changed);
        let engine = self.clone();
        self.claims.on_change(move |_| engine.claimed.notify_waiters());
    }

    fn tell<K>(
        self: &Arc<Self>,
        informer: &Informer<K>,
        change: fn(&mut Picture, &reconcile::Change<'_, K>) -> bool,
    ) where
        K: kube::Resource + Clone + std::fmt::Debug + Send + Sync + 'static,
        K: serde::de::DeserializeOwned,
    {
        let engine = self.clone();
        informer.on_change(move |seen| {
            let (before, after) = (seen.before.cloned(), seen.after.cloned());
            engine.hear(move |picture| {
                let (before, after) = (before.as_ref(), after.as_ref());
                change(picture, &reconcile::Change { before, after })
            });
        });
    }

    fn hear(&self, news: impl FnOnce(&mut Picture) -> bool + Send + 'static) {
        self.news.lock().push(Box::new(news));
        self.heard.notify_one();
    }

    /// Whether a waiting pod may have a place now.
    fn take_in_news(&self, picture: &mut Picture) -> bool {
        let news = std::mem::take(&mut *self.news.lock());
        news.into_iter()
            .fold(false, |may_matter, news| news(picture) | may_matter)
    }

    async fn carry_out(self: Arc<Self>, decision: Decision) {
        if let Decision::Wait {
            demand,
            message,
            preemption: None,
        } = &decision
            && hold::is_told(&demand.pod, message)
        {
            return;
        }
        // The semaphore is never closed.
        let Ok(turn) = self.writers.clone().acquire_owned().await else {
            return;
        };
        tokio::spawn(async move {
            match decision {
                Decision::Bind {
                    demand,
                    node,
                    arrangements,
                } if arrangements.is_empty() => self.bind(demand, node).await,
                Decision::Bind {
                    demand,
                    node,
                    arrangements,
                } => {
                    // Claims may take long; nobody else waits for them.
                    drop(turn);
                    self.bind_with_claims(demand, node, arrangements).await;
                    return;
                }
                Decision::Wait {
                    demand,
                    message,
                    preemption,
                } => self.hold(&demand, message, preemption).await,
            }
            drop(turn);
        });
    }
}
