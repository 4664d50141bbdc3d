//! ReplicaSets and ReplicationControllers: as many pods of a template as wanted.

mod plan;
mod replicated;

use std::sync::Arc;

use futures_util::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::ReplicaSet,
    core::v1::{Pod, ReplicationController},
};
use kube::{Api, api::PatchParams};
use reconcile::{Change, Key, Next, Queue, Recorder, run};
use tokio::task::JoinSet;

use crate::{
    Error, Result, ownership,
    pods::{act, claim, make},
    world::{World, status_patch},
};
use plan::Plan;
use replicated::Replicated;

const WORKERS: usize = 5;

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    follow::<ReplicaSet>("replicaset-controller", world, tasks);
    follow::<ReplicationController>("replication-controller", world, tasks);
}

fn follow<R: Replicated>(name: &'static str, world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    let sets = R::informer(world);
    let added = queue.clone();
    sets.on_change(move |change| {
        if let Some(object) = change.object() {
            added.add(Key::of(&**object));
        }
    });
    let (touched, of_pods) = (queue.clone(), sets.clone());
    world.pods.on_change(move |change| {
        for key in concerned(change, || of_pods.all()) {
            touched.add(key);
        }
    });
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder(name),
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.pods.synced().await;
        R::informer(&world).synced().await;
        run(name, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile::<R>(key).await }
        })
        .await;
    });
}

/// The sets a changed pod belongs to, or, if it belongs to nobody, could belong to.
fn concerned<R: Replicated>(change: &Change<'_, Pod>, sets: impl Fn() -> Vec<Arc<R>>) -> Vec<Key> {
    let pods = [change.before, change.after];
    let owners = pods
        .iter()
        .flatten()
        .filter_map(|pod| Key::of_controller(&***pod, R::KIND));
    let mut keys: Vec<Key> = owners.collect();
    if let Some(orphan) = change
        .after
        .filter(|pod| claim::controller(&pod.metadata).is_none())
    {
        let sets = sets();
        let candidates = sets
            .iter()
            .filter(|set| set.meta().namespace == orphan.metadata.namespace && set.selects(orphan));
        keys.extend(candidates.map(|set| Key::of(&**set)));
    }
    keys
}

struct Controller {
    world: Arc<World>,
    recorder: Recorder,
}

impl Controller {
    async fn reconcile<R: Replicated>(&self, key: Key) -> Result<Next> {
        let Some(set) = R::informer(&self.world).get(&key) else {
            return Ok(Next::Wait);
        };
        let pods = self.world.pods.in_namespace(&key.namespace);
        let claim = claim::claim(set.meta(), pods, |pod| set.selects(pod));
        let own = ownership::settle(&self.world.client, &*set, &self.world.pods, claim).await?;

        let plan = plan::plan(&*set, &own, Timestamp::now());
        let failure = self.apply(&*set, &plan).await;
        let status = plan::status(
            &*set,
            &own,
            failure.as_ref().err().map(Error::message),
            Timestamp::now(),
        );
        if let Some(status) = status {
            let api: Api<R> = Api::namespaced(self.world.client.clone(), &key.namespace);
            let written = api
                .patch_status(&key.name, &PatchParams::default(), &status_patch(status))
                .await?;
            R::informer(&self.world).wrote(written);
        }
        failure.map(|()| plan.next)
    }

    async fn apply<R: Replicated>(&self, set: &R, plan: &Plan) -> Result<()> {
        let (world, recorder) = (&*self.world, &self.recorder);
        if let Some(template) = set.template() {
            let pod = make::from_template(template, ownership::reference(set));
            for round in make::rounds(plan.create) {
                let created = join_all((0..round).map(|_| act::create(world, recorder, set, &pod))).await;
                created.into_iter().collect::<Result<Vec<_>>>()?;
            }
        }
        let deleted = plan
            .delete
            .iter()
            .map(|pod| act::delete(world, recorder, set, pod));
        let deleted = join_all(deleted).await;
        deleted.into_iter().collect()
    }
}
