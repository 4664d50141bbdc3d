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
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use reconcile::{Change, Key, Next, Queue, Recorder, run};
use tokio::task::JoinSet;

use crate::{
    Result,
    pods::{claim, health, make},
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
        let mut own = claim.own;
        own.extend(self.adopt(&*set, claim.adopt).await?);
        self.release(&*set, claim.release).await?;

        let plan = plan::plan(&*set, &own, Timestamp::now());
        let failure = self.apply(&*set, &plan).await;
        let status = plan::status(
            &*set,
            &own,
            failure.as_ref().err().map(ToString::to_string),
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

    async fn adopt<R: Replicated>(&self, set: &R, pods: Vec<Arc<Pod>>) -> Result<Vec<Arc<Pod>>> {
        if pods.is_empty() || !self.is_alive(set).await? {
            return Ok(Vec::new());
        }
        let owner = set.owner_reference();
        let mut adopted = Vec::new();
        for pod in pods {
            let patch = Patch::Strategic(claim::adoption(&pod, &owner));
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            match self.pods(set).patch(name, &PatchParams::default(), &patch).await {
                Ok(pod) => {
                    self.world.pods.wrote(pod.clone());
                    adopted.push(Arc::new(pod));
                }
                // It has gone, or its name has passed to another.
                Err(kube::Error::Api(status)) if status.code == 404 || status.code == 422 => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(adopted)
    }

    /// Asks the server itself: a set that was deleted and made again must not adopt for its predecessor.
    async fn is_alive<R: Replicated>(&self, set: &R) -> Result<bool> {
        let namespace = set.meta().namespace.as_deref().unwrap_or_default();
        let api: Api<R> = Api::namespaced(self.world.client.clone(), namespace);
        let fresh = api
            .get_opt(set.meta().name.as_deref().unwrap_or_default())
            .await?;
        Ok(fresh.is_some_and(|fresh| {
            fresh.meta().uid == set.meta().uid && fresh.meta().deletion_timestamp.is_none()
        }))
    }

    async fn release<R: Replicated>(&self, set: &R, pods: Vec<Arc<Pod>>) -> Result<()> {
        let uid = set.meta().uid.as_deref().unwrap_or_default();
        for pod in pods {
            let patch = Patch::Strategic(claim::release(&pod, uid));
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            match self.pods(set).patch(name, &PatchParams::default(), &patch).await {
                Ok(pod) => self.world.pods.wrote(pod),
                Err(kube::Error::Api(status)) if status.code == 404 || status.code == 422 => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn apply<R: Replicated>(&self, set: &R, plan: &Plan) -> Result<()> {
        for round in make::rounds(plan.create) {
            let created = join_all((0..round).map(|_| self.create(set))).await;
            created.into_iter().collect::<Result<Vec<_>>>()?;
        }
        let deleted = join_all(plan.delete.iter().map(|pod| self.delete(set, pod))).await;
        deleted.into_iter().collect()
    }

    async fn create<R: Replicated>(&self, set: &R) -> Result<()> {
        let Some(template) = set.template() else {
            return Ok(());
        };
        let pod = make::from_template(template, set.owner_reference());
        match self.pods(set).create(&PostParams::default(), &pod).await {
            Ok(pod) => {
                let name = pod.metadata.name.clone().unwrap_or_default();
                self.world.pods.wrote(pod);
                let note = format!("Created pod: {name}");
                self.recorder
                    .normal(set.object_ref(&()), "SuccessfulCreate", note);
                Ok(())
            }
            Err(error) => {
                let note = format!("Error creating: {error}");
                self.recorder.warning(set.object_ref(&()), "FailedCreate", note);
                Err(error.into())
            }
        }
    }

    async fn delete<R: Replicated>(&self, set: &R, pod: &Pod) -> Result<()> {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let parameters = DeleteParams::default().preconditions(kube::api::Preconditions {
            uid: pod.metadata.uid.clone(),
            resource_version: None,
        });
        match self.pods(set).delete(name, &parameters).await {
            // With a grace period the pod stays for a while; without one it is gone.
            Ok(answer) => match answer.left().filter(health::is_terminating) {
                Some(pod) => self.world.pods.wrote(pod),
                None => self.world.pods.removed(pod),
            },
            // Somebody else was faster.
            Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => return Ok(()),
            Err(error) => {
                let note = format!("Error deleting: {error}");
                self.recorder.warning(set.object_ref(&()), "FailedDelete", note);
                return Err(error.into());
            }
        }
        let note = format!("Deleted pod: {name}");
        self.recorder
            .normal(set.object_ref(&()), "SuccessfulDelete", note);
        Ok(())
    }

    fn pods<R: Replicated>(&self, set: &R) -> Api<Pod> {
        let namespace = set.meta().namespace.as_deref().unwrap_or_default();
        Api::namespaced(self.world.client.clone(), namespace)
    }
}
