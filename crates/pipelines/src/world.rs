//! What the engine sees of a cluster. Templates and ConfigMaps are asked for when they are needed.

use kube::{Client, core::DynamicObject};
use reconcile::{Informer, Unread};
use resources::workflows::{CRON_WORKFLOW, WORKFLOW};
use tokio::task::JoinSet;

use crate::{
    kept::{KeptCron, KeptWorkflow, SeenPod},
    places,
};

pub(crate) struct World {
    pub client: Client,
    pub workflows: Informer<KeptWorkflow>,
    pub crons: Informer<KeptCron>,
    pub pods: Informer<SeenPod>,
    _watches: JoinSet<()>,
}

impl World {
    pub(crate) fn new(client: Client) -> Self {
        let mut watches = JoinSet::new();
        let all = |resource| Unread::of::<DynamicObject>(client.clone(), &resource, None);
        Self {
            workflows: Informer::start(all(places::of(&WORKFLOW)), &mut watches),
            crons: Informer::start(all(places::of(&CRON_WORKFLOW)), &mut watches),
            pods: Informer::start(all(places::pods()), &mut watches),
            client,
            _watches: watches,
        }
    }

    /// Resolves when everything that was there at the start is known.
    pub(crate) async fn synced(&self) {
        self.workflows.synced().await;
        self.crons.synced().await;
        self.pods.synced().await;
    }
}
