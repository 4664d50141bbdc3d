//! Deployments: a template rolled out over ReplicaSets, one for each template there was.

mod conditions;
mod fleet;
mod limits;
mod plan;
mod revision;
mod rollout;
mod scale;
mod status;

use std::{collections::HashSet, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentStatus, ReplicaSet},
    core::v1::Pod,
};
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
};
use reconcile::{Change, Key, Next, Queue, Recorder, run, selectors};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    Result, is_namespace_terminating, message, ownership,
    pods::{claim, health},
    status::changes,
    world::World,
};
use plan::{Observed, Plan};

const NAME: &str = "deployment-controller";
const WORKERS: usize = 5;

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    let added = queue.clone();
    world.deployments.on_change(move |change| {
        if let Some(deployment) = change.object() {
            added.add(Key::of(&**deployment));
        }
    });
    let (touched, deployments) = (queue.clone(), world.deployments.clone());
    world.replica_sets.on_change(move |change| {
        for key in concerned(change, || deployments.all()) {
            touched.add(key);
        }
    });
    let (freed, sets) = (queue.clone(), world.replica_sets.clone());
    world.pods.on_change(move |change| {
        // Deployments that recreate wait for the last pod to go.
        let gone = change.before.filter(|_| change.after.is_none());
        let set = gone.and_then(|pod| sets.get(&Key::of_controller(&**pod, "ReplicaSet")?));
        if let Some(key) = set.and_then(|set| Key::of_controller(&*set, "Deployment")) {
            freed.add(key);
        }
    });
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder(NAME),
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.pods.synced().await;
        world.replica_sets.synced().await;
        world.deployments.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(key).await }
        })
        .await;
    });
}

/// The deployments a changed set belongs to, or, if it belongs to nobody, could belong to.
fn concerned(change: &Change<'_, ReplicaSet>, all: impl Fn() -> Vec<Arc<Deployment>>) -> Vec<Key> {
    let sets = [change.before, change.after];
    let owners = sets
        .iter()
        .flatten()
        .filter_map(|set| Key::of_controller(&***set, "Deployment"));
    let mut keys: Vec<Key> = owners.collect();
    if let Some(orphan) = change
        .after
        .filter(|set| claim::controller(&set.metadata).is_none())
    {
        let all = all();
        let candidates = all.iter().filter(|deployment| {
            deployment.metadata.namespace == orphan.metadata.namespace && selects(deployment, orphan)
        });
        keys.extend(candidates.map(|deployment| Key::of(&**deployment)));
    }
    keys
}

fn selects(deployment: &Deployment, set: &ReplicaSet) -> bool {
    let selector = deployment.spec.as_ref().map(|spec| &spec.selector);
    selector.is_some_and(|selector| {
        !selectors::is_empty(selector) && selectors::matches(selector, set.metadata.labels.as_ref())
    })
}

struct Controller {
    world: Arc<World>,
    recorder: Recorder,
}

impl Controller {
    async fn reconcile(&self, key: Key) -> Result<Next> {
        let Some(deployment) = self.world.deployments.get(&key) else {
            return Ok(Next::Wait);
        };
        let sets = self.world.replica_sets.in_namespace(&key.namespace);
        let claim = claim::claim(deployment.meta(), sets, |set| selects(&deployment, set));
        let sets =
            ownership::settle(&self.world.client, &*deployment, &self.world.replica_sets, claim).await?;
        let running = self.running(&sets);
        let observed = Observed {
            deployment: &deployment,
            sets: &sets,
            running: &running,
        };
        let plan = plan::plan(&observed, Timestamp::now());
        self.apply(&deployment, &plan).await?;
        self.tell(&deployment, &plan.status, plan.revision).await?;
        Ok(plan.next)
    }

    fn running(&self, sets: &[Arc<ReplicaSet>]) -> HashSet<String> {
        let uids = sets.iter().filter_map(|set| set.metadata.uid.clone());
        let has_pods = |uid: &String| {
            let pods: Vec<Arc<Pod>> = self.world.pods.controlled_by(uid);
            pods.iter().any(|pod| !health::is_finished(pod))
        };
        uids.filter(has_pods).collect()
    }

    async fn apply(&self, deployment: &Deployment, plan: &Plan) -> Result<()> {
        if let Some(set) = &plan.create {
            self.create(deployment, set).await?;
        }
        for (before, after) in &plan.update {
            self.update(deployment, before, after).await?;
        }
        for set in &plan.delete {
            self.delete(set).await?;
        }
        Ok(())
    }

    async fn create(&self, deployment: &Deployment, set: &ReplicaSet) -> Result<()> {
        let error = match self.sets(deployment).create(&PostParams::default(), set).await {
            Ok(created) => {
                self.world.replica_sets.wrote(created);
                self.tell_of_size(deployment, set, 0);
                return Ok(());
            }
            Err(error) => error,
        };
        match &error {
            kube::Error::Api(status) if status.code == 409 => {
                if self.found_own(deployment, set).await? {
                    return Ok(());
                }
                // Another template has the same hash: the count gives the next attempt another name.
                let mut status = deployment.status.clone().unwrap_or_default();
                status.collision_count = Some(status.collision_count.unwrap_or_default() + 1);
                self.tell(deployment, &status, None).await?;
            }
            // All further attempts will fail too, and nobody will read of it.
            kube::Error::Api(status) if is_namespace_terminating(status) => {}
            error => self.tell_of_failure(deployment, set, message(error)).await?,
        }
        Err(error.into())
    }

    /// Whether the set is there already, made by us from the same template.
    async fn found_own(&self, deployment: &Deployment, set: &ReplicaSet) -> Result<bool> {
        let Some(found) = self.sets(deployment).get_opt(&set.name_any()).await? else {
            return Ok(false);
        };
        let owner = claim::controller(&found.metadata);
        let is_own = owner.map(|owner| &owner.uid) == deployment.metadata.uid.as_ref()
            && fleet::is_same_template(fleet::set_template(&found), fleet::set_template(set));
        if is_own {
            self.world.replica_sets.wrote(found);
        }
        Ok(is_own)
    }

    async fn tell_of_failure(&self, deployment: &Deployment, set: &ReplicaSet, cause: String) -> Result<()> {
        const REASON: &str = "ReplicaSetCreateError";
        let message = format!("Failed to create new replica set {:?}: {cause}", set.name_any());
        if conditions::deadline(deployment).is_some() {
            let mut status = deployment.status.clone().unwrap_or_default();
            let now = Timestamp::now();
            let failed =
                conditions::condition(conditions::PROGRESSING, "False", REASON, message.clone(), now);
            conditions::set(&mut status, failed);
            self.tell(deployment, &status, None).await?;
        }
        self.recorder.warning(deployment.object_ref(&()), REASON, message);
        Ok(())
    }

    async fn update(&self, deployment: &Deployment, before: &ReplicaSet, after: &ReplicaSet) -> Result<()> {
        let spec = after.spec.as_ref();
        let patch = json!({
            "metadata": {
                "resourceVersion": before.metadata.resource_version,
                "annotations": after.metadata.annotations,
            },
            "spec": {
                "replicas": spec.and_then(|spec| spec.replicas),
                "minReadySeconds": spec.and_then(|spec| spec.min_ready_seconds),
            },
        });
        let written = self
            .sets(deployment)
            .patch(&after.name_any(), &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        self.world.replica_sets.wrote(written);
        self.tell_of_size(deployment, after, fleet::replicas(before));
        Ok(())
    }

    fn tell_of_size(&self, deployment: &Deployment, set: &ReplicaSet, before: i32) {
        let after = fleet::replicas(set);
        if before == after {
            return;
        }
        let direction = if before < after { "up" } else { "down" };
        let name = set.name_any();
        let note = format!("Scaled {direction} replica set {name} from {before} to {after}");
        self.recorder
            .normal(deployment.object_ref(&()), "ScalingReplicaSet", note);
    }

    async fn delete(&self, set: &ReplicaSet) -> Result<()> {
        let parameters = DeleteParams::default().preconditions(Preconditions {
            uid: set.metadata.uid.clone(),
            resource_version: None,
        });
        let api: Api<ReplicaSet> = ownership::beside(&self.world.client, set);
        match api.delete(&set.name_any(), &parameters).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes what is new in the status, and the revision, which goes along with it.
    async fn tell(
        &self,
        deployment: &Deployment,
        status: &DeploymentStatus,
        revision: Option<String>,
    ) -> Result<()> {
        let known = deployment.annotations().get(revision::REVISION);
        let mut patch = json!({});
        if let Some(status) = changes(deployment.status.as_ref(), status) {
            patch["status"] = status;
        }
        if let Some(revision) = revision.filter(|revision| Some(revision) != known) {
            patch["metadata"]["annotations"] = json!({ revision::REVISION: revision });
        }
        if patch.as_object().is_some_and(serde_json::Map::is_empty) {
            return Ok(());
        }
        let api: Api<Deployment> = ownership::beside(&self.world.client, deployment);
        let patch: Patch<Value> = Patch::Merge(patch);
        let written = api
            .patch_status(&deployment.name_any(), &PatchParams::default(), &patch)
            .await?;
        self.world.deployments.wrote(written);
        Ok(())
    }

    fn sets(&self, deployment: &Deployment) -> Api<ReplicaSet> {
        ownership::beside(&self.world.client, deployment)
    }
}
