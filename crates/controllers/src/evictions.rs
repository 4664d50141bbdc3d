//! Pods leave nodes whose taints they do not tolerate (any more).

mod plan;

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use parking_lot::Mutex;
use reconcile::{Change, Key, Next, Queue, Recorder, run};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    Result, ownership,
    pods::{conditions, health},
    world::World,
};
use plan::Stay;

const NAME: &str = "taint-eviction-controller";
const WORKERS: usize = 8;

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    listen(world, &queue);
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder(NAME),
        noticed: Mutex::default(),
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.nodes.synced().await;
        world.pods.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(key).await }
        })
        .await;
    });
}

fn listen(world: &Arc<World>, queue: &Queue<Key>) {
    let (touched, pods) = (queue.clone(), world.pods.clone());
    world.nodes.on_change(move |change| {
        let drives = |node: &Arc<Node>| plan::driving(node).cloned().collect::<Vec<_>>();
        let before = change.before.map(drives).unwrap_or_default();
        let after = change.after.map(drives).unwrap_or_default();
        if let Some(node) = change.after
            && before != after
        {
            let node = node.metadata.name.as_deref();
            for pod in pods.all().iter().filter(|pod| place(pod) == node) {
                touched.add(Key::of(&**pod));
            }
        }
    });
    let (touched, nodes) = (queue.clone(), world.nodes.clone());
    world.pods.on_change(move |change| {
        if is_threatened(change, |node| nodes.get(&Key::new("", node)))
            && let Some(pod) = change.object()
        {
            touched.add(Key::of(&**pod));
        }
    });
}

/// Most pods are on nodes that drive nobody out; they cost one look.
fn is_threatened(change: &Change<'_, Pod>, node: impl Fn(&str) -> Option<Arc<Node>>) -> bool {
    let place = change.object().and_then(|pod| place(pod));
    let node = place.and_then(node);
    node.is_some_and(|node| plan::driving(&node).next().is_some())
}

fn place(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

struct Controller {
    world: Arc<World>,
    recorder: Recorder,
    /// Since when a pod, by its uid, tolerates its node for a limited time.
    noticed: Mutex<HashMap<String, Instant>>,
}

impl Controller {
    async fn reconcile(&self, key: Key) -> Result<Next> {
        let Some(pod) = self
            .world
            .pods
            .get(&key)
            .filter(|pod| !health::is_terminating(pod))
        else {
            return Ok(Next::Wait);
        };
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let node = place(&pod).and_then(|node| self.world.nodes.get(&Key::new("", node)));
        match node.map_or(Stay::Forever, |node| plan::stay(&pod, &node)) {
            Stay::Forever => {
                if self.noticed.lock().remove(&uid).is_some() {
                    let note = format!("Cancelling deletion of Pod {key}");
                    self.recorder
                        .normal(pod.object_ref(&()), "TaintManagerEviction", note);
                }
                Ok(Next::Wait)
            }
            Stay::For(limit) => {
                let since = *self
                    .noticed
                    .lock()
                    .entry(uid.clone())
                    .or_insert_with(Instant::now);
                let left = limit.saturating_sub(since.elapsed());
                if !left.is_zero() {
                    return Ok(Next::After(left));
                }
                self.evict(&key, &pod).await?;
                self.noticed.lock().remove(&uid);
                Ok(Next::Wait)
            }
        }
    }

    async fn evict(&self, key: &Key, pod: &Pod) -> Result<()> {
        let note = format!("Marking for deletion Pod {key}");
        self.recorder
            .normal(pod.object_ref(&()), "TaintManagerEviction", note);
        let api: Api<Pod> = ownership::beside(&self.world.client, pod);
        let message = "Taint manager: deleting due to NoExecute taint";
        let patch = conditions::disrupted(pod, "DeletionByTaintManager", message, Timestamp::now());
        if let Some(patch) = patch {
            let patch = Patch::Strategic(patch);
            let patched = api.patch_status(&key.name, &PatchParams::default(), &patch).await;
            if !is_gone(&patched) {
                patched?;
            }
        }
        let parameters = DeleteParams::default().preconditions(Preconditions {
            uid: pod.metadata.uid.clone(),
            resource_version: None,
        });
        let deleted = api.delete(&pod.name_any(), &parameters).await;
        if !is_gone(&deleted) {
            deleted?;
        }
        Ok(())
    }
}

fn is_gone<T>(answer: &kube::Result<T>) -> bool {
    matches!(answer, Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409)
}
