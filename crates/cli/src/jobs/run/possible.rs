//! Whether a job could ever run on the embedded cluster, found out before it is made. The nodes of another cluster may
//! come and go by an autoscaler, so nothing is refused there.

use std::time::Duration;

use anyhow::Result;
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    advised, ailments,
    jobs::{
        api::{Api, ApiError, Event},
        job::text,
        place::Cluster,
        room::{self, Shortage, Size},
    },
};

/// How long a cluster that has just started may take until its node is there.
const PATIENCE: Duration = Duration::from_secs(5);
const NODES: &str = "/api/v1/nodes";

/// Refuses a job that can never run here.
pub(super) async fn check(cluster: &Cluster, job: &Value) -> Result<()> {
    let Some(instance) = &cluster.embedded else {
        return Ok(());
    };
    let nodes = cluster.api.list(NODES).await?.unwrap_or_default();
    if nodes.is_empty() && instance.tier.is_none() {
        let ailment = ailments::without_pods(&cluster.command("down"), &cluster.command("up"));
        return Err(advised(ailment.what, ailment.hint));
    }
    let wanted = wanted(job);
    if wanted.is_empty() {
        return Ok(());
    }
    let nodes = if nodes.is_empty() {
        // Where no node is known in time, the job is submitted, and its followers report what it waits for.
        timeout(PATIENCE, first_node(&cluster.api))
            .await
            .unwrap_or(Ok(nodes))?
    } else {
        nodes
    };
    let shortages = wanted
        .iter()
        .filter_map(|(size, count)| room::shortage(size, *count, &nodes));
    match shortages.into_iter().next() {
        None => Ok(()),
        Some(Shortage { what, advice }) => Err(advised(
            format!("the job can never run here: {what}"),
            format!("{advice}; `--wait` submits it all the same, for nodes that are added later"),
        )),
    }
}

/// The sizes of pods that ask for something, and how many there are of each: they run at the same time.
fn wanted(job: &Value) -> Vec<(Size, u64)> {
    let mut wanted: Vec<(Size, u64)> = Vec::new();
    for (size, count) in roles(job).filter(|(size, _)| !size.is_empty()) {
        match wanted.iter_mut().find(|(known, _)| *known == size) {
            Some((_, all)) => *all += count,
            None => wanted.push((size, count)),
        }
    }
    wanted
}

/// What a pod of each role of a job asks for, and how many of them there are.
fn roles(job: &Value) -> impl Iterator<Item = (Size, u64)> {
    let specs = job["spec"].as_object().into_iter().flatten();
    let replica_specs = specs.filter(|(name, _)| name.ends_with("ReplicaSpecs"));
    let roles = replica_specs.flat_map(|(_, roles)| roles.as_object().into_iter().flatten());
    roles.map(|(_, role)| {
        let count = role["replicas"].as_u64().unwrap_or(1);
        (room::size(&role["template"]["spec"]), count)
    })
}

/// The nodes, once there is one.
async fn first_node(api: &Api) -> Result<Vec<Value>, ApiError> {
    loop {
        let list = api.get(NODES).await?;
        if let Some(nodes) = list["items"].as_array().filter(|nodes| !nodes.is_empty()) {
            return Ok(nodes.clone());
        }
        let events = api
            .watch(NODES, text(&list["metadata"]["resourceVersion"]))
            .await?;
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            if let Event::Added(node) | Event::Modified(node) = event? {
                return Ok(vec![node]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn roles_of_one_size_need_their_places_together() {
        let role = |count: u64, limits: Value| json!({"replicas": count, "template": {"spec": {"containers": [{"resources": {"limits": limits}}]}}});
        let gpu = json!({"nvidia.com/gpu": "1"});
        let job = json!({"spec": {"runPolicy": {}, "pytorchReplicaSpecs": {
            "Master": role(1, gpu.clone()), "Worker": role(2, gpu), "Helper": role(9, json!({})),
        }}});
        let counts: Vec<u64> = wanted(&job).into_iter().map(|(_, count)| count).collect();
        assert_eq!(counts, [3]);
    }
}
