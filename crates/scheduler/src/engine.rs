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
use kube::{Api, Client, runtime::watcher};
use parking_lot::Mutex;
use reconcile::{Informer, Key, Recorder};
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
pub fn start(client: Client) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let engine = Arc::new(Engine {
        pods: follow(&client, &mut tasks),
        nodes: follow(&client, &mut tasks),
        namespaces: follow(&client, &mut tasks),
        claims: follow(&client, &mut tasks),
        volumes: follow(&client, &mut tasks),
        classes: follow(&client, &mut tasks),
        budgets: follow(&client, &mut tasks),
        recorder: Recorder::new(client.clone(), "default-scheduler"),
        picture: Mutex::default(),
        changed: Notify::new(),
        claimed: Notify::new(),
        writers: Arc::new(Semaphore::new(WRITERS)),
        client,
    });
    engine.listen();
    tasks.spawn(run(engine));
    tasks
}

fn follow<K>(client: &Client, tasks: &mut JoinSet<()>) -> Informer<K>
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + Send + Sync + 'static,
    K: serde::de::DeserializeOwned,
{
    Informer::start(Api::all(client.clone()), watcher::Config::default(), tasks)
}

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
    picture: Mutex<Picture>,
    /// Something happened that may give a waiting pod a place.
    changed: Notify,
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
    let mut sizes = Sizes::default();
    let mut last: Option<Instant> = None;
    loop {
        engine.changed.notified().await;
        if let Some(rest) = last.and_then(|last| PERIOD.checked_sub(last.elapsed())) {
            tokio::time::sleep(rest).await;
        }
        last = Some(Instant::now());
        let wanted = engine.picture.lock().groups();
        sizes.learn(&engine.client, wanted).await;
        for decision in engine.decide(&sizes) {
            engine.clone().carry_out(decision).await;
        }
    }
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

    /// Brings the picture up to date with each change, and looks again if it may matter to who waits.
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
            if change(&mut engine.picture.lock(), seen) {
                engine.changed.notify_one();
            }
        });
    }

    fn decide(&self, sizes: &Sizes) -> Vec<Decision> {
        let mut picture = self.picture.lock();
        let units = picture.units(sizes);
        let decisions = decide(&mut picture.cluster, units, Timestamp::now());
        for decision in &decisions {
            if let Decision::Bind { demand, .. } = decision {
                picture.waiting.remove(&Key::of(&*demand.pod));
            }
        }
        decisions
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
