//! Pods nobody looks after any more: on nodes that have gone, never placed and deleted, or ended in
//! such numbers that they are in the way.

mod plan;

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior},
};

use crate::{
    Result, ownership,
    pods::{conditions, health},
    world::World,
};
use plan::{Garbage, Reason};

const PERIOD: Duration = Duration::from_secs(20);

/// A node may be away for so long before its pods are given up.
const QUARANTINE: Duration = Duration::from_secs(40);

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    let world = world.clone();
    tasks.spawn(async move {
        world.pods.synced().await;
        world.nodes.synced().await;
        let mut missing: HashMap<String, Instant> = HashMap::new();
        let mut rounds = tokio::time::interval(PERIOD);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            // The time of the round, so that two rounds later is not now and then a little too early.
            let now = rounds.tick().await;
            collect(&world, &mut missing, now).await;
        }
    });
}

async fn collect(world: &World, missing: &mut HashMap<String, Instant>, now: Instant) {
    let (pods, nodes) = (world.pods.all(), world.nodes.all());
    let absent = plan::absent(&pods, &nodes);
    missing.retain(|node, _| absent.contains(node.as_str()));
    for node in absent {
        missing.entry(node.to_owned()).or_insert(now);
    }
    let mut gone = Vec::new();
    for (node, since) in missing.iter() {
        if now.duration_since(*since) >= QUARANTINE && is_gone(world, node).await {
            gone.push(node.clone());
        }
    }
    for Garbage { pod, reason } in plan::plan(&pods, &nodes, &gone) {
        if let Err(error) = remove(world, &pod, reason).await {
            tracing::warn!(pod = pod.name_any(), %error, "cannot remove a pod nobody looks after");
        }
    }
}

/// Asks the server itself: a cache that is behind must not cost pods.
async fn is_gone(world: &World, node: &str) -> bool {
    let nodes: Api<Node> = Api::all(world.client.clone());
    matches!(nodes.get_opt(node).await, Ok(None))
}

async fn remove(world: &World, pod: &Arc<Pod>, reason: Reason) -> Result<()> {
    let api: Api<Pod> = ownership::beside(&world.client, &**pod);
    let name = pod.name_any();
    if !health::is_finished(pod) {
        let mut patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": {}});
        if reason == Reason::NodeGone {
            let message = "PodGC: node no longer exists";
            let disrupted = conditions::disrupted(pod, "DeletionByPodGC", message, Timestamp::now());
            patch = disrupted.unwrap_or(patch);
        }
        patch["status"]["phase"] = "Failed".into();
        match api
            .patch_status(&name, &PatchParams::default(), &Patch::Strategic(patch))
            .await
        {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            outcome => drop(outcome?),
        }
    }
    let parameters = DeleteParams::default()
        .grace_period(0)
        .preconditions(Preconditions {
            uid: pod.metadata.uid.clone(),
            resource_version: None,
        });
    match api.delete(&name, &parameters).await {
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => Ok(()),
        outcome => outcome.map(drop).map_err(Into::into),
    }
}
