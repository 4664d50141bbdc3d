//! StatefulSets: replicas with a name and storage of their own, made and replaced in order.

mod plan;
mod replica;
mod retention;

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::StatefulSet,
        core::v1::{PersistentVolumeClaim, Pod},
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
};
use reconcile::{Key, Next, Queue, Recorder, run, selectors};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    Result, message, ownership,
    pods::{claim, health},
    revisions::history,
    status::changes,
    world::{World, status_patch},
};
use plan::{Action, Observed};

const NAME: &str = "statefulset-controller";
const WORKERS: usize = 5;

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    let added = queue.clone();
    world.stateful_sets.on_change(move |change| {
        if let Some(set) = change.object() {
            added.add(Key::of(&**set));
        }
    });
    let (touched, sets) = (queue.clone(), world.stateful_sets.clone());
    world.pods.on_change(move |change| {
        for pod in [change.before, change.after].into_iter().flatten() {
            if let Some(key) = Key::of_controller(&**pod, "StatefulSet") {
                touched.add(key);
            }
        }
        let orphan = change
            .after
            .filter(|pod| claim::controller(&pod.metadata).is_none());
        if let Some(orphan) = orphan {
            let namespace = orphan.namespace().unwrap_or_default();
            for set in sets.in_namespace(&namespace) {
                if selects(&set, orphan) {
                    touched.add(Key::of(&*set));
                }
            }
        }
    });
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder(NAME),
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.pods.synced().await;
        world.claims.synced().await;
        world.controller_revisions.synced().await;
        world.stateful_sets.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(key).await }
        })
        .await;
    });
}

/// A pod belongs to the set by its labels and by its name.
fn selects(set: &StatefulSet, pod: &Pod) -> bool {
    replica::ordinal(set, pod).is_some() && matches(set, pod.labels())
}

fn matches(set: &StatefulSet, labels: &selectors::Labels) -> bool {
    let selector = set.spec.as_ref().map(|spec| &spec.selector);
    selector
        .is_some_and(|selector| !selectors::is_empty(selector) && selectors::matches(selector, Some(labels)))
}

/// Other data has the same hash: the count gives the next attempt another name.
fn collision(set: &StatefulSet) -> Value {
    let status = set.status.clone().unwrap_or_default();
    let count = status.collision_count.unwrap_or_default();
    json!({"collisionCount": count + 1, "replicas": status.replicas})
}

struct Controller {
    world: Arc<World>,
    recorder: Recorder,
}

impl Controller {
    async fn reconcile(&self, key: Key) -> Result<Next> {
        let Some(set) = self.world.stateful_sets.get(&key) else {
            return Ok(Next::Wait);
        };
        let world = &self.world;
        let pods = world.pods.in_namespace(&key.namespace);
        let pods = claim::claim(set.meta(), pods, |pod| selects(&set, pod));
        let pods = ownership::settle(&world.client, &*set, &world.pods, pods).await?;
        let known = history::of(world, &*set, |revision| matches(&set, revision.labels())).await?;
        let observed = Observed {
            set: &set,
            pods: &pods,
            revisions: &known,
            claims: &self.claims(&key),
        };
        let plan = plan::plan(&observed, Timestamp::now());
        let collision = collision(&set);
        history::record(world, &*set, &world.stateful_sets, &plan.revision, collision).await?;
        let mut outcome = Ok(());
        for action in plan.actions {
            outcome = self.act(&set, action).await;
            if outcome.is_err() {
                break;
            }
        }
        if let Some(status) = changes(set.status.as_ref(), &plan.status) {
            let api: Api<StatefulSet> = ownership::beside(&world.client, &*set);
            let patch = status_patch(status);
            let written = api
                .patch_status(&key.name, &PatchParams::default(), &patch)
                .await?;
            world.stateful_sets.wrote(written);
        }
        for revision in plan.forget {
            history::forget(world, &revision).await?;
        }
        outcome.map(|()| plan.next)
    }

    fn claims(&self, key: &Key) -> HashMap<String, Arc<PersistentVolumeClaim>> {
        let claims = self.world.claims.in_namespace(&key.namespace).into_iter();
        claims.map(|claim| (claim.name_any(), claim)).collect()
    }

    async fn act(&self, set: &StatefulSet, action: Action) -> Result<()> {
        match action {
            Action::Claim(claims, pod) => {
                for claim in claims {
                    self.claim(set, &claim, &pod).await?;
                }
                Ok(())
            }
            Action::Own(claim, owners) => self.own(&claim, &owners).await,
            Action::Create(pod) => {
                let result = self.pods(set).create(&PostParams::default(), &pod).await;
                if matches!(&result, Err(kube::Error::Api(status)) if status.code == 409) {
                    return result.map(drop).map_err(Into::into);
                }
                self.tell(set, "create", &pod, result.as_ref().err());
                self.world.pods.wrote(result?);
                Ok(())
            }
            Action::Identify(before, after) => {
                let result = self
                    .pods(set)
                    .replace(&before.name_any(), &PostParams::default(), &after)
                    .await;
                self.tell(set, "update", &before, result.as_ref().err());
                self.world.pods.wrote(result?);
                Ok(())
            }
            Action::Delete(pod) => self.delete(set, &pod).await,
        }
    }

    async fn claim(&self, set: &StatefulSet, claim: &PersistentVolumeClaim, pod: &str) -> Result<()> {
        let (name, owner) = (claim.name_any(), set.name_any());
        let api: Api<PersistentVolumeClaim> = ownership::beside(&self.world.client, set);
        match api.create(&PostParams::default(), claim).await {
            Ok(claim) => {
                self.world.claims.wrote(claim);
                let note = format!("create Claim {name} Pod {pod} in StatefulSet {owner} success");
                self.recorder
                    .normal(set.object_ref(&()), "SuccessfulCreate", note);
                Ok(())
            }
            Err(error) => {
                if !matches!(&error, kube::Error::Api(status) if status.code == 409) {
                    let cause = message(&error);
                    let note = format!(
                        "create Claim {name} for Pod {pod} in StatefulSet {owner} failed error: {cause}"
                    );
                    self.recorder.warning(set.object_ref(&()), "FailedCreate", note);
                }
                Err(error.into())
            }
        }
    }

    async fn own(&self, claim: &PersistentVolumeClaim, owners: &[OwnerReference]) -> Result<()> {
        let api: Api<PersistentVolumeClaim> = ownership::beside(&self.world.client, claim);
        let patch = Patch::Merge(json!({"metadata": {
            "resourceVersion": claim.metadata.resource_version,
            "ownerReferences": owners,
        }}));
        let written = api
            .patch(&claim.name_any(), &PatchParams::default(), &patch)
            .await?;
        self.world.claims.wrote(written);
        Ok(())
    }

    async fn delete(&self, set: &StatefulSet, pod: &Pod) -> Result<()> {
        let parameters = DeleteParams::default().preconditions(Preconditions {
            uid: pod.metadata.uid.clone(),
            resource_version: None,
        });
        match self.pods(set).delete(&pod.name_any(), &parameters).await {
            // With a grace period the pod stays for a while; without one it is gone.
            Ok(answer) => match answer.left().filter(health::is_terminating) {
                Some(pod) => self.world.pods.wrote(pod),
                None => self.world.pods.removed(pod),
            },
            Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => return Ok(()),
            Err(error) => {
                self.tell(set, "delete", pod, Some(&error));
                return Err(error.into());
            }
        }
        self.tell(set, "delete", pod, None);
        Ok(())
    }

    fn tell(&self, set: &StatefulSet, verb: &str, pod: &Pod, error: Option<&kube::Error>) {
        let title = match verb {
            "create" => "Create",
            "update" => "Update",
            _ => "Delete",
        };
        let (pod, owner) = (pod.name_any(), set.name_any());
        match error {
            None => {
                let note = format!("{verb} Pod {pod} in StatefulSet {owner} successful");
                let reason = format!("Successful{title}");
                self.recorder.normal(set.object_ref(&()), &reason, note);
            }
            Some(error) => {
                let cause = message(error);
                let note = format!("{verb} Pod {pod} in StatefulSet {owner} failed error: {cause}");
                let reason = format!("Failed{title}");
                self.recorder.warning(set.object_ref(&()), &reason, note);
            }
        }
    }

    fn pods(&self, set: &StatefulSet) -> Api<Pod> {
        ownership::beside(&self.world.client, set)
    }
}
