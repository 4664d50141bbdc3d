//! What the engine sees of a cluster.

use std::{collections::BTreeMap, sync::Arc};

use kube::{Client, core::DynamicObject};
use parking_lot::Mutex;
use reconcile::{Informer, Unread, definitions::is_served};
use resources::tasks::{CALLBACK_DELIVERY, NODE_GROUP, TASK, TASK_DEFINITION, TASK_TEMPLATE, TaskKind};
use tokio::task::JoinSet;

use crate::{
    deliveries::KeptDelivery,
    ended::Ended,
    kept::{KeptTask, KeptText, SeenPod, SeenRun},
    node_groups::{KeptGroup, SeenNode},
    places::{self, Places},
};

pub(crate) struct World {
    pub client: Client,
    pub tasks: Informer<KeptTask>,
    pub definitions: Informer<KeptText>,
    pub templates: Informer<KeptText>,
    pub deliveries: Informer<KeptDelivery>,
    pub groups: Informer<KeptGroup>,
    pub nodes: Informer<SeenNode>,
    pub pods: Informer<SeenPod>,
    pub places: Places,
    pub ended: Arc<Ended>,
    runs: Mutex<Followed>,
}

/// Kinds that run, followed from when a task first has one.
#[derive(Default)]
struct Followed {
    by_kind: BTreeMap<(String, String), Informer<SeenRun>>,
    watches: JoinSet<()>,
    /// Called for each kind that is followed from now on.
    listener: Option<Listener>,
}

type Listener = Arc<dyn Fn(&str, &Informer<SeenRun>) + Send + Sync>;

impl World {
    pub(crate) fn new(client: Client) -> Self {
        let mut watches = JoinSet::new();
        let built_in = |kind: &str, plural: &str| {
            let resource = places::resource("v1", kind, plural);
            Unread::of::<DynamicObject>(client.clone(), &resource, None)
        };
        let (nodes, pods) = (built_in("Node", "nodes"), built_in("Pod", "pods"));
        let ours = |kind: &TaskKind| Unread::of::<DynamicObject>(client.clone(), &places::of(kind), None);
        Self {
            tasks: Informer::start(ours(&TASK), &mut watches),
            definitions: Informer::start(ours(&TASK_DEFINITION), &mut watches),
            templates: Informer::start(ours(&TASK_TEMPLATE), &mut watches),
            deliveries: Informer::start(ours(&CALLBACK_DELIVERY), &mut watches),
            groups: Informer::start(ours(&NODE_GROUP), &mut watches),
            nodes: Informer::start(nodes, &mut watches),
            pods: Informer::start(pods, &mut watches),
            places: Places::default(),
            ended: Arc::default(),
            runs: Mutex::new(Followed {
                watches,
                ..Followed::default()
            }),
            client,
        }
    }

    /// Resolves when everything that was there at the start is known.
    pub(crate) async fn synced(&self) {
        self.tasks.synced().await;
        self.definitions.synced().await;
        self.templates.synced().await;
        self.deliveries.synced().await;
        self.groups.synced().await;
        self.nodes.synced().await;
        self.pods.synced().await;
    }

    /// Is told of every kind that runs, from when it is followed.
    pub(crate) fn on_follow(&self, listener: impl Fn(&str, &Informer<SeenRun>) + Send + Sync + 'static) {
        self.runs.lock().listener = Some(Arc::new(listener));
    }

    /// The objects of a kind that runs; none where the cluster does not have it.
    pub(crate) async fn runs(
        &self,
        api_version: &str,
        kind: &str,
    ) -> kube::Result<Option<Informer<SeenRun>>> {
        let api_version = places::followed_version(api_version, kind);
        let key = (api_version, kind.to_owned());
        if let Some(known) = self.known(&key) {
            known.synced().await;
            return Ok(Some(known));
        }
        let Some(resource) = self.places.find(&self.client, &key.0, kind).await? else {
            return Ok(None);
        };
        let is_core = resource.group.is_empty();
        if !is_core && !is_served(&self.client, &resource.group, &resource.version, &resource.plural).await? {
            return Ok(None);
        }
        let informer = {
            let Followed {
                by_kind,
                watches,
                listener,
            } = &mut *self.runs.lock();
            let listener = listener.clone();
            by_kind
                .entry(key)
                .or_insert_with(|| {
                    let api = Unread::of::<DynamicObject>(self.client.clone(), &resource, None);
                    let informer = Informer::start(api, watches);
                    if let Some(listener) = listener {
                        listener(kind, &informer);
                    }
                    informer
                })
                .clone()
        };
        informer.synced().await;
        Ok(Some(informer))
    }

    fn known(&self, key: &(String, String)) -> Option<Informer<SeenRun>> {
        self.runs.lock().by_kind.get(key).cloned()
    }
}
