//! How fast pods get their nodes: the decisions alone, and a whole cluster in this process whose nodes
//! are simulated.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::{
    api::core::v1::{Node, Pod},
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
    runtime::watcher,
};
use reconcile::{Informer, Informers};
use scheduler::{Cluster, Decision, Demand, Unit, decide};
use serde_json::json;
use tokio::{sync::watch, task::JoinSet};

const WRITERS: usize = 64;

/// What was measured.
pub(crate) struct Figures {
    /// Deciding on all pods at once, nothing else.
    pub decided: Duration,
    /// From the first pod made to the last one made, bound and running.
    pub made: Duration,
    pub bound: Duration,
    pub running: Duration,
}

/// Measures with so many nodes and pods.
pub(crate) async fn measure(nodes: usize, pods: usize) -> Result<Figures> {
    let decided = decisions(nodes, pods)?;
    let dir = tempfile::tempdir()?;
    let server = apiserver::start(apiserver::Options {
        data_dir: dir.path().to_owned(),
        listen: ([127, 0, 0, 1], 0).into(),
        drop_damaged: false,
        limits: apiserver::Limits::default(),
    })
    .await?;
    let client = Client::new(
        apiserver::InProcess::new(server.api.clone(), apiserver::User::admin()),
        "default",
    );
    let informers = Informers::new(client.clone());
    let mut engines = vec![
        scheduler::start(client.clone(), &informers),
        controllers::start(client.clone(), &informers, controllers::Options::default()),
        simulated_nodes::start(client.clone(), &informers, simulated_nodes::Options::of(nodes)),
    ];
    wait_for(&client, nodes).await?;
    let (made, bound, running) = flood(&client, pods).await?;
    for engine in &mut engines {
        engine.shutdown().await;
    }
    server.stop().await;
    Ok(Figures {
        decided,
        made,
        bound,
        running,
    })
}

fn decisions(nodes: usize, pods: usize) -> Result<Duration> {
    let mut cluster = Cluster::default();
    for number in 0..nodes {
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": format!("node-{number:04}"), "labels": {"kubernetes.io/os": "linux"}},
            "status": {"allocatable": {"cpu": "32", "memory": "256Gi", "pods": "110"}},
        }))?;
        cluster.set_node(&node);
    }
    let units = (0..pods)
        .map(|number| {
            let mut pod = pod(number)?;
            pod.metadata.uid = Some(format!("uid-{number}"));
            Ok(Unit::pod(Arc::new(Demand::of(Arc::new(pod)))))
        })
        .collect::<Result<Vec<_>>>()?;
    let start = Instant::now();
    let decided = decide(&mut cluster, units, Timestamp::UNIX_EPOCH);
    let took = start.elapsed();
    let placed = decided
        .iter()
        .filter(|decision| matches!(decision, Decision::Bind { .. }));
    anyhow::ensure!(placed.count() == pods, "not every pod found a place");
    Ok(took)
}

fn pod(number: usize) -> Result<Pod> {
    let requests = json!({"cpu": "100m", "memory": "128Mi"});
    let object = json!({
        "metadata": {"name": format!("pod-{number:05}"), "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "none", "resources": {"requests": requests}}]},
    });
    serde_json::from_value(object).context("a pod")
}

async fn wait_for(client: &Client, wanted: usize) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    while nodes.list_metadata(&ListParams::default()).await?.items.len() < wanted {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Makes the pods, and waits until the last is bound and runs.
async fn flood(client: &Client, count: usize) -> Result<(Duration, Duration, Duration)> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let mut tasks = JoinSet::new();
    let seen: Informer<Pod> = Informer::start(pods.clone(), watcher::Config::default(), &mut tasks);
    seen.synced().await;
    let bound = counted(&seen, is_bound);
    let running = counted(&seen, is_running);
    let start = Instant::now();
    let making = async {
        stream::iter((0..count).map(pod))
            .map(|pod| async {
                pods.create(&PostParams::default(), &pod?)
                    .await
                    .map_err(anyhow::Error::from)
            })
            .buffer_unordered(WRITERS)
            .try_for_each(|_| async { Ok(()) })
            .await?;
        anyhow::Ok(start.elapsed())
    };
    tokio::try_join!(
        making,
        reached(bound, count, start),
        reached(running, count, start)
    )
}

fn is_bound(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())
}

fn is_running(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase == Some("Running")
}

/// How many pods are like this by now.
fn counted(pods: &Informer<Pod>, is_so: fn(&Pod) -> bool) -> watch::Receiver<usize> {
    let (count, counted) = watch::channel(0);
    pods.on_change(move |change| {
        let was_so = change.before.is_some_and(|pod| is_so(pod));
        if !was_so && change.after.is_some_and(|pod| is_so(pod)) {
            count.send_modify(|count| *count += 1);
        }
    });
    counted
}

async fn reached(mut counted: watch::Receiver<usize>, wanted: usize, start: Instant) -> Result<Duration> {
    counted.wait_for(|count| *count >= wanted).await?;
    Ok(start.elapsed())
}
