//! The life of nodes: one that is not heard of any more is marked unknown, and what ails a node
//! becomes taints that keep pods away or drive them out.

mod plan;

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Node, Pod},
};
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams},
};
use parking_lot::Mutex;
use reconcile::{Change, Key, Next, Queue, Recorder, run};
use serde_json::json;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    Result, ownership,
    pods::{conditions, health},
    world::World,
};
pub(crate) use plan::is_ready;
use plan::{Observed, condition};

const NAME: &str = "node-controller";
const WORKERS: usize = 8;
const LEASES: &str = "kube-node-lease";

/// How long a node may be silent, and how long one that is new.
const PATIENCE: Duration = Duration::from_secs(50);
const PATIENCE_WITH_NEW: Duration = Duration::from_mins(1);

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let queue = Queue::new();
    listen(world, &queue);
    let controller = Arc::new(Controller {
        world: world.clone(),
        recorder: world.recorder(NAME),
        heard: Mutex::default(),
    });
    let world = world.clone();
    tasks.spawn(async move {
        world.nodes.synced().await;
        world.leases.synced().await;
        world.pods.synced().await;
        run(NAME, queue, WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(key).await }
        })
        .await;
    });
}

fn listen(world: &Arc<World>, queue: &Queue<Key>) {
    let (touched, nodes) = (queue.clone(), world.nodes.clone());
    world.nodes.on_change(move |change| {
        if let Some(node) = change.object() {
            touched.add(Key::of(&**node));
        }
        // Whether pods are driven from one node depends on whether another is well.
        if change.before.is_some() && was_well(change) != is_well(change) {
            for node in nodes.all() {
                touched.add(Key::of(&*node));
            }
        }
    });
    let touched = queue.clone();
    world.leases.on_change(move |change| {
        let is_of_node = |lease: &&Arc<Lease>| lease.metadata.namespace.as_deref() == Some(LEASES);
        if let Some(lease) = change.after.filter(is_of_node) {
            touched.add(Key::new("", &lease.name_any()));
        }
    });
}

fn was_well(change: &Change<'_, Node>) -> bool {
    change.before.is_some_and(|node| is_ready(node))
}

fn is_well(change: &Change<'_, Node>) -> bool {
    change.after.is_some_and(|node| is_ready(node))
}

/// The last sign of life of a node, and when it reached us: clocks of nodes may be wrong.
struct Heard {
    heartbeat: Option<Timestamp>,
    renewal: Option<Timestamp>,
    at: Instant,
}

struct Controller {
    world: Arc<World>,
    recorder: Recorder,
    heard: Mutex<HashMap<Key, Heard>>,
}

impl Controller {
    async fn reconcile(&self, key: Key) -> Result<Next> {
        let Some(node) = self.world.nodes.get(&key) else {
            self.heard.lock().remove(&key);
            return Ok(Next::Wait);
        };
        let lease = self.world.leases.get(&Key::new(LEASES, &key.name));
        let silence = self.listen_to(&key, &node, lease.as_deref());
        let patience = patience(&node, lease.as_deref());
        let is_anyone_well = is_ready(&node) || self.world.nodes.all().iter().any(|node| is_ready(node));
        let plan = plan::plan(&Observed {
            node: &node,
            is_silent: silence >= patience,
            is_anyone_well,
            now: Timestamp::now(),
        });
        let api: Api<Node> = Api::all(self.world.client.clone());
        if !plan.conditions.is_empty() {
            let patch = Patch::Strategic(json!({"status": {"conditions": plan.conditions}}));
            let written = api
                .patch_status(&key.name, &PatchParams::default(), &patch)
                .await?;
            self.world.nodes.wrote(written);
            let note = format!("Node {} status is now: NodeNotReady", key.name);
            self.recorder.normal(node.object_ref(&()), "NodeNotReady", note);
            // The taints follow from the conditions.
            return Ok(Next::After(Duration::ZERO));
        }
        if let Some(taints) = plan.taints {
            let patch = Patch::Merge(json!({
                "metadata": {"resourceVersion": node.metadata.resource_version},
                "spec": {"taints": taints},
            }));
            match api.patch(&key.name, &PatchParams::default(), &patch).await {
                Ok(written) => self.world.nodes.wrote(written),
                // It changed meanwhile and is looked at again for that reason.
                Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => {}
                Err(error) => return Err(error.into()),
            }
        }
        if plan.is_lost {
            self.mark_pods(&key.name).await?;
            return Ok(Next::Wait);
        }
        Ok(Next::After(
            patience.saturating_sub(silence).max(Duration::from_secs(1)),
        ))
    }

    /// How long the node has not been heard of.
    fn listen_to(&self, key: &Key, node: &Node, lease: Option<&Lease>) -> Duration {
        let heartbeat = condition(node, "Ready")
            .and_then(|ready| ready.last_heartbeat_time.as_ref())
            .map(|time| time.0);
        let renewal = lease.and_then(|lease| lease.spec.as_ref()?.renew_time.as_ref().map(|time| time.0));
        let mut all = self.heard.lock();
        let heard = all.entry(key.clone()).or_insert_with(|| Heard {
            heartbeat,
            renewal,
            at: Instant::now(),
        });
        if heard.heartbeat != heartbeat || heard.renewal != renewal {
            let at = Instant::now();
            *heard = Heard {
                heartbeat,
                renewal,
                at,
            };
        }
        heard.at.elapsed()
    }

    /// Pods of a node that is not heard of cannot be relied on.
    async fn mark_pods(&self, node: &str) -> Result<()> {
        let is_here = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) == Some(node);
        let pods = self.world.pods.all().into_iter();
        for pod in pods.filter(|pod| is_here(pod) && health::is_ready(pod)) {
            let patch = conditions::set(&pod, "Ready", "False", "NodeNotReady", "", Timestamp::now());
            let Some(patch) = patch else { continue };
            let api: Api<Pod> = ownership::beside(&self.world.client, &*pod);
            let patch = Patch::Strategic(patch);
            match api
                .patch_status(&pod.name_any(), &PatchParams::default(), &patch)
                .await
            {
                Ok(written) => self.world.pods.wrote(written),
                Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => continue,
                Err(error) => return Err(error.into()),
            }
            self.recorder.warning(
                pod.object_ref(&()),
                "NodeNotReady",
                "Node is not ready".to_owned(),
            );
        }
        Ok(())
    }
}

/// A node whose lease says that it will be renewed less often is waited for longer.
fn patience(node: &Node, lease: Option<&Lease>) -> Duration {
    if condition(node, "Ready").is_none() {
        return PATIENCE_WITH_NEW;
    }
    let promised = lease.and_then(|lease| lease.spec.as_ref()?.lease_duration_seconds);
    let promised = Duration::from_secs(
        promised
            .and_then(|seconds| u64::try_from(seconds).ok())
            .unwrap_or_default(),
    );
    PATIENCE.max(promised)
}
