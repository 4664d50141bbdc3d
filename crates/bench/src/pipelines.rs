//! Workflows whose steps are processes, beside pods that nobody conducts: a chain of steps, one step many times at
//! once, and many workflows at a time.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    client::Client, load::Samples, server::Server, site::Site, statistics::milliseconds, step::rate,
    watch::Watch,
};

const CLIENTS: usize = 16;
const PATIENCE: Duration = Duration::from_mins(10);
const PAUSE: Duration = Duration::from_millis(5);
/// One after the other.
const CHAIN: usize = 20;
/// Of each of many workflows.
const STEPS_OF_MANY: usize = 10;

pub(crate) async fn run(server: &Server, steps: usize, workflows: usize, round: usize) -> Result<Samples> {
    let mut samples = Samples::default();
    let mut first = Site::open(server, &format!("first-{round}"))
        .await?
        .client()
        .await?;
    until_served(&mut first).await?;

    let alone = one_after_the_other(server, &format!("alone-{round}")).await? / CHAIN as u32;
    let chained = chain(server, &format!("chain-{round}")).await? / CHAIN as u32;
    samples.add("floor", ("chain_step".to_owned(), milliseconds(alone)));
    samples.add(&server.name, ("chain_step".to_owned(), milliseconds(chained)));

    let floor = at_once(server, &format!("floor-{round}"), steps).await?;
    let fan_out = fan_out(server, &format!("fan-out-{round}"), steps).await?;
    samples.add("floor", rate("fan_out", steps, floor));
    samples.add(&server.name, rate("fan_out", steps, fan_out));

    let count = workflows * STEPS_OF_MANY;
    let floor = at_once(server, &format!("crowd-{round}"), count).await?;
    let many = many(server, &format!("many-{round}"), workflows).await?;
    samples.add("floor", rate("many", count, floor));
    samples.add(&server.name, rate("many", count, many));
    Ok(samples)
}

fn container() -> Value {
    json!({"name": "main", "image": "host", "command": ["true"]})
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [container()]}})
}

/// A workflow whose step `t` is a process that ends at once.
fn workflow(name: &str, main: &Value) -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": name},
        "spec": {"entrypoint": "main", "templates": [main, {"name": "t", "container": container()}]},
    })
}

fn folder(namespace: &str) -> String {
    format!("/apis/argoproj.io/v1alpha1/namespaces/{namespace}/workflows")
}

async fn until_served(client: &mut Client) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while client.try_get(&folder("default")).await?.status != 200 {
        ensure!(Instant::now() < deadline, "workflows are not served");
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// Pods, each when the one before has ended.
async fn one_after_the_other(server: &Server, namespace: &str) -> Result<Duration> {
    let site = Site::open(server, namespace).await?;
    let (mut client, mut watch) = (site.client().await?, Watch::open(&site).await?);
    let mut ended = HashSet::new();
    let started = Instant::now();
    for number in 0..CHAIN {
        let body = pod(&format!("pod-{number}")).to_string().into();
        client.post(&site.pods(), body).await?.expect(201)?;
        until_ended(&mut watch, &mut ended, number + 1).await?;
    }
    Ok(started.elapsed())
}

async fn chain(server: &Server, namespace: &str) -> Result<Duration> {
    let groups: Vec<Value> = (0..CHAIN)
        .map(|number| json!([{"name": format!("s{number}"), "template": "t"}]))
        .collect();
    alone(server, namespace, &json!({"name": "main", "steps": groups})).await
}

async fn fan_out(server: &Server, namespace: &str, steps: usize) -> Result<Duration> {
    let step = json!({"name": "each", "template": "t", "withSequence": {"count": steps}});
    alone(server, namespace, &json!({"name": "main", "steps": [[step]]})).await
}

/// One workflow, from being asked for to its end.
async fn alone(server: &Server, namespace: &str, main: &Value) -> Result<Duration> {
    let site = Site::open(server, namespace).await?;
    let mut client = site.client().await?;
    let body = workflow("w", main).to_string().into();
    let started = Instant::now();
    client.post(&folder(namespace), body).await?.expect(201)?;
    succeed(&mut client, &format!("{}/w", folder(namespace))).await?;
    Ok(started.elapsed())
}

/// Pods that come all together.
async fn at_once(server: &Server, namespace: &str, count: usize) -> Result<Duration> {
    let site = Site::open(server, namespace).await?;
    let mut watch = Watch::open(&site).await?;
    let path = site.pods();
    let started = Instant::now();
    let making = site.share_out(CLIENTS, count, async |client, number| {
        let body = pod(&format!("pod-{number}")).to_string().into();
        client.post(&path, body).await?.expect(201)?;
        Ok(())
    });
    let mut ended = HashSet::new();
    let watching = tokio::time::timeout(PATIENCE, until_ended(&mut watch, &mut ended, count));
    tokio::try_join!(making, async { watching.await? })?;
    Ok(started.elapsed())
}

async fn many(server: &Server, namespace: &str, workflows: usize) -> Result<Duration> {
    let site = Site::open(server, namespace).await?;
    let half = json!([{"name": "a", "template": "t", "withSequence": {"count": STEPS_OF_MANY / 2}}]);
    let mut other = half.clone();
    other[0]["name"] = json!("b");
    let main = json!({"name": "main", "steps": [half, other]});
    let folder = folder(namespace);
    let started = Instant::now();
    site.share_out(CLIENTS, workflows, async |client, number| {
        let body = workflow(&format!("w-{number}"), &main).to_string().into();
        client.post(&folder, body).await?.expect(201)?;
        Ok(())
    })
    .await?;
    let mut client = site.client().await?;
    for number in 0..workflows {
        succeed(&mut client, &format!("{folder}/w-{number}")).await?;
    }
    Ok(started.elapsed())
}

async fn succeed(client: &mut Client, path: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let workflow = client.get(path).await?.json()?;
        match workflow["status"]["phase"].as_str() {
            Some("Succeeded") => return Ok(()),
            Some("Failed" | "Error") => anyhow::bail!("{path}: {}", workflow["status"]["message"]),
            _ => {}
        }
        ensure!(Instant::now() < deadline, "{path} does not end");
        // A large workflow is not asked for so often that asking is what is measured.
        let nodes = workflow["status"]["nodes"]
            .as_object()
            .map_or(0, serde_json::Map::len);
        tokio::time::sleep(PAUSE + Duration::from_micros(200) * u32::try_from(nodes).unwrap_or(u32::MAX))
            .await;
    }
}

/// Until so many pods have ended.
async fn until_ended(watch: &mut Watch, ended: &mut HashSet<String>, count: usize) -> Result<()> {
    while ended.len() < count {
        let event = watch.next().await?;
        ensure!(
            !event.pod.is("Failed"),
            "pod `{}` has failed",
            event.pod.metadata.name
        );
        if event.pod.is("Succeeded") {
            ended.insert(event.pod.metadata.name);
        }
    }
    Ok(())
}
