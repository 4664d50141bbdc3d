//! Many pods for many nodes that only pretend to run them: how fast a control plane finds their places.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::{client::Client, load::Samples, server::Server, site::Site, step::rate, watch::Watch};

/// The label of nodes that pretend: ours have it by themselves.
const SIMULATED: &str = "trainyard.dev/simulated";
const CLIENTS: usize = 16;
const PATIENCE: Duration = Duration::from_mins(5);
const PAUSE: Duration = Duration::from_millis(500);

/// Makes the objects of nodes for a cluster that has none.
pub(crate) async fn make_nodes(server: &Server, count: usize) -> Result<()> {
    let mut client = Client::open(server).await?;
    for number in 0..count {
        client.post("/api/v1/nodes", node(number)).await?.expect(201)?;
    }
    Ok(())
}

fn node(number: usize) -> Bytes {
    let name = format!("node-{number:04}");
    let capacity = json!({"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "1Ti"});
    let node = json!({
        "metadata": {
            "name": name,
            "labels": {
                SIMULATED: "true",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
        "status": {"capacity": capacity, "allocatable": capacity},
    });
    node.to_string().into()
}

/// From submitting the first pod to all of them made, bound and said to run, as pods a second.
pub(crate) async fn run(server: &Server, nodes: usize, pods: usize) -> Result<Samples> {
    let site = Site::open(server, "crowd").await?;
    until_ready(&site, nodes).await?;
    let mut watch = Watch::open(&site).await?;
    let path = site.pods();
    let started = Instant::now();
    let making = site.share_out(CLIENTS, pods, async |client, number| {
        client.post(&path, pod(number)).await?.expect(201)?;
        Ok(())
    });
    let watching = tokio::time::timeout(PATIENCE, follow(&mut watch, pods, started));
    let (made, watched) = tokio::try_join!(making, async { watching.await? })?;
    let (bound, running) = watched;
    let mut samples = Samples::default();
    samples.add(&server.name, rate("crowd_made", pods, made));
    samples.add(&server.name, rate("crowd_bound", pods, bound));
    samples.add(&server.name, rate("crowd_running", pods, running));
    Ok(samples)
}

async fn follow(watch: &mut Watch, count: usize, started: Instant) -> Result<(Duration, Duration)> {
    let (mut bound, mut running) = (HashSet::new(), HashSet::new());
    let mut all_bound = None;
    while running.len() < count {
        let event = watch.next().await?;
        if event.pod.is("Running") {
            running.insert(event.pod.metadata.name.clone());
        }
        if event.pod.is_bound() {
            bound.insert(event.pod.metadata.name);
        }
        if bound.len() == count {
            all_bound.get_or_insert_with(|| started.elapsed());
        }
    }
    let all_bound = all_bound.context("pods run that are not bound")?;
    Ok((all_bound, started.elapsed()))
}

fn pod(number: usize) -> Bytes {
    let requests = json!({"cpu": "100m", "memory": "128Mi"});
    let pod = json!({
        "metadata": {"name": format!("pod-{number:05}"), "labels": {"app": "crowd"}},
        "spec": {
            "nodeSelector": {SIMULATED: "true"},
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
        },
    });
    pod.to_string().into()
}

/// Waits until so many nodes take pods.
async fn until_ready(site: &Site<'_>, wanted: usize) -> Result<()> {
    let mut client = site.client().await?;
    let path = format!("/api/v1/nodes?labelSelector={SIMULATED}%3Dtrue");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let nodes = client.get(&path).await?.json()?;
        let ready = nodes["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|node| takes_pods(node))
            .count();
        if ready >= wanted {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "only {ready} of {wanted} nodes take pods"
        );
        tokio::time::sleep(PAUSE).await;
    }
}

fn takes_pods(node: &Value) -> bool {
    let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    let is_ready = conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    is_ready && node["spec"]["taints"].as_array().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_takes_pods_when_it_is_ready_and_has_no_taints() {
        let ready = json!([{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "True"}]);
        assert!(takes_pods(&json!({"spec": {}, "status": {"conditions": ready}})));
        let taints = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
        assert!(!takes_pods(
            &json!({"spec": {"taints": taints}, "status": {"conditions": ready}})
        ));
        assert!(!takes_pods(&json!({"spec": {}})));
    }
}
