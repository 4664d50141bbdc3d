//! DaemonSets: one pod on every node that should have one.

mod eligibility;
mod plan;
mod pod;
mod setbacks;

use std::sync::Arc;

use futures_util::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::DaemonSet,
    core::v1::{Node, Pod},
};
use kube::{Api, Resource as _, ResourceExt as _, api::PatchParams};
use reconcile::{Change, Key, Next, Queue, Recorder, run, selectors};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    Error, Result, is_namespace_terminating, ownership,
    pods::{act, claim, health, make},
    revisions::history,
    status::changes,
    world::{World, status_patch},
};
use plan::{Action, Observed};
use setbacks::Setbacks;

const NAME: &str = "daemonset-controller";
const WORKERS: usize = 2;

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    listen(world, &queue);
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder(NAME),
        setbacks: Setbacks::default(),
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.pods.synced().await;
        world.nodes.synced().await;
        world.controller_revisions.synced().await;
        world.daemon_sets.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(key).await }
        })
        .await;
    });
}

fn listen(world: &Arc<World>, queue: &Queue<Key>) {
    let added = queue.clone();
    world.daemon_sets.on_change(move |change| {
        if let Some(set) = change.object() {
            added.add(Key::of(&**set));
        }
    });
    let (touched, sets) = (queue.clone(), world.daemon_sets.clone());
    world.pods.on_change(move |change| {
        for pod in [change.before, change.after].into_iter().flatten() {
            if let Some(key) = Key::of_controller(&**pod, "DaemonSet") {
                touched.add(key);
            }
        }
        let orphan = change
            .after
            .filter(|pod| claim::controller(&pod.metadata).is_none());
        if let Some(orphan) = orphan {
            let sets = sets.in_namespace(&orphan.namespace().unwrap_or_default());
            for set in sets.iter().filter(|set| selects(set, orphan.labels())) {
                touched.add(Key::of(&**set));
            }
        }
    });
    let (touched, sets) = (queue.clone(), world.daemon_sets.clone());
    world.nodes.on_change(move |change| {
        if is_other_to_daemons(change) {
            for set in sets.all() {
                touched.add(Key::of(&*set));
            }
        }
    });
}

/// Nodes tell every few seconds that they live; that concerns no daemon.
fn is_other_to_daemons(change: &Change<'_, Node>) -> bool {
    let looks = |node: &Arc<Node>| {
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone());
        (node.metadata.labels.clone(), taints)
    };
    change.before.map(looks) != change.after.map(looks)
}

fn selects(set: &DaemonSet, labels: &selectors::Labels) -> bool {
    let selector = set.spec.as_ref().map(|spec| &spec.selector);
    selector
        .is_some_and(|selector| !selectors::is_empty(selector) && selectors::matches(selector, Some(labels)))
}

struct Controller {
    world: Arc<World>,
    recorder: Recorder,
    setbacks: Setbacks,
}

impl Controller {
    async fn reconcile(&self, key: Key) -> Result<Next> {
        let world = &*self.world;
        let set = match world.daemon_sets.get(&key) {
            // Of one that is being deleted neither the revisions nor the pods are sure to be there.
            Some(set) if set.metadata.deletion_timestamp.is_none() => set,
            _ => {
                self.setbacks.forget(&key);
                return Ok(Next::Wait);
            }
        };
        if self.selects_everything(&set) {
            return Ok(Next::Wait);
        }
        let pods = world.pods.in_namespace(&key.namespace);
        let pods = claim::claim(set.meta(), pods, |pod| selects(&set, pod.labels()));
        let pods = ownership::settle(&world.client, &*set, &world.pods, pods).await?;
        let known = history::of(world, &*set, |revision| selects(&set, revision.labels())).await?;
        let observed = Observed {
            set: &set,
            pods: &pods,
            nodes: &world.nodes.all(),
            revisions: &known,
            held_back: &self.setbacks.held_back(&key),
        };
        let plan = plan::plan(&observed, Timestamp::now());
        history::record(world, &*set, &world.daemon_sets, &plan.revision, collision(&set)).await?;
        let outcome = self.apply(&key, &set, &plan.actions).await;
        if let Some(status) = changes(set.status.as_ref(), &plan.status) {
            let api: Api<DaemonSet> = ownership::beside(&world.client, &*set);
            let patch = status_patch(status);
            let written = api
                .patch_status(&key.name, &PatchParams::default(), &patch)
                .await?;
            world.daemon_sets.wrote(written);
        }
        for revision in plan.forget {
            history::forget(world, &revision).await?;
        }
        outcome.map(|()| plan.next)
    }

    fn selects_everything(&self, set: &DaemonSet) -> bool {
        let selector = set.spec.as_ref().map(|spec| &spec.selector);
        let is_empty = selector.is_some_and(selectors::is_empty);
        if is_empty {
            let note = "This daemon set is selecting all pods. A non-empty selector is required.";
            self.recorder
                .warning(set.object_ref(&()), "SelectingAll", note.to_owned());
        }
        is_empty
    }

    async fn apply(&self, key: &Key, set: &DaemonSet, actions: &[Action]) -> Result<()> {
        let mut created = actions.iter().filter_map(|action| match action {
            Action::Create(pod) => Some(&**pod),
            _ => None,
        });
        for round in make::rounds(created.clone().count()) {
            let round: Vec<&Pod> = created.by_ref().take(round).collect();
            let round = join_all(round.into_iter().map(|pod| self.create(set, pod))).await;
            round.into_iter().collect::<Result<Vec<_>>>()?;
        }
        let deleted = actions.iter().filter_map(|action| match action {
            Action::Delete(pod) => Some(pod),
            Action::Replace(pod) => {
                self.note_end(key, set, pod);
                Some(pod)
            }
            Action::Create(_) => None,
        });
        let deleted = deleted.map(|pod| act::delete(&self.world, &self.recorder, set, pod));
        join_all(deleted).await.into_iter().collect()
    }

    async fn create(&self, set: &DaemonSet, pod: &Pod) -> Result<()> {
        match act::create(&self.world, &self.recorder, set, pod).await {
            Err(Error::Api(kube::Error::Api(status))) if is_namespace_terminating(&status) => Ok(()),
            outcome => outcome,
        }
    }

    /// Tells of a daemon that ended, and holds back the next if it failed.
    fn note_end(&self, key: &Key, set: &DaemonSet, pod: &Pod) {
        let node = pod::target(pod).unwrap_or_default();
        let (namespace, name) = (&key.namespace, pod.name_any());
        if health::phase(pod) == "Failed" {
            self.setbacks.count(key, node);
            let note =
                format!("Found failed daemon pod {namespace}/{name} on node {node}, will try to kill it");
            self.recorder
                .warning(set.object_ref(&()), "FailedDaemonPod", note);
        } else {
            let note = format!(
                "Found succeeded daemon pod {namespace}/{name} on node {node}, will try to delete it"
            );
            self.recorder
                .normal(set.object_ref(&()), "SucceededDaemonPod", note);
        }
    }
}

/// Other data has the same hash: the count gives the next attempt another name.
fn collision(set: &DaemonSet) -> Value {
    let mut status = set.status.clone().unwrap_or_default();
    status.collision_count = Some(status.collision_count.unwrap_or_default() + 1);
    json!(status)
}
