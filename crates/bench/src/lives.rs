//! Pods that are processes: how long one takes to speak, and a hundred to run.

use std::{
    collections::HashSet,
    fs,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    floor,
    load::Samples,
    server::Server,
    site::Site,
    statistics::{milliseconds, quantile},
    step::Figure,
    watch::Watch,
};

/// What the pod says whose line is waited for.
pub(crate) const LINE: &str = "ready";
/// One after the other.
const SPEAKERS: usize = 10;
const WORKERS: usize = 100;
/// How long to leave the server alone that has no line yet.
const PAUSE: Duration = Duration::from_millis(1);
/// How long one pod, or all of a job, may take.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) async fn run(servers: &[Server], rounds: usize) -> Result<Samples> {
    let mut samples = Samples::default();
    for round in 0..rounds {
        samples.add("floor", floor::first_line()?);
        samples.add("floor", floor::all_running(WORKERS)?);
        for server in servers {
            let site = Site::open(server, &format!("speakers-{round}")).await?;
            samples.add(&server.name, first_line(&site).await?);
            let site = Site::open(server, &format!("workers-{round}")).await?;
            let marker = format!("600.{round}");
            let running = tokio::time::timeout(PATIENCE, all_running(&site, &marker)).await;
            samples.add(&server.name, running??);
        }
    }
    Ok(samples)
}

/// From submitting a pod to having read its first line.
async fn first_line(site: &Site<'_>) -> Result<Figure> {
    let (mut client, mut watch) = (site.client().await?, Watch::open(site).await?);
    let mut samples = Vec::with_capacity(SPEAKERS);
    for number in 0..SPEAKERS {
        let name = format!("speaker-{number}");
        let mut pod = template(&["/bin/echo", LINE]);
        pod["metadata"] = json!({"name": name});
        let log = format!("{}/{name}/log", site.pods());
        let started = Instant::now();
        let body = pod.to_string().into();
        client.post(&site.pods(), body).await?.expect(201)?;
        while client.try_get(&log).await?.body.concat() != format!("{LINE}\n").as_bytes() {
            ensure!(started.elapsed() < PATIENCE, "`{name}` has not said anything");
            tokio::time::sleep(PAUSE).await;
        }
        samples.push(started.elapsed());
        // The next one finds a machine that has nothing to do.
        loop {
            let event = watch.next().await?;
            if event.pod.metadata.name == name && event.pod.is("Succeeded") {
                break;
            }
        }
    }
    let median = quantile(&mut samples, 0.5);
    Ok(("first_line_p50".to_owned(), milliseconds(median)))
}

/// From submitting a job to all of its pods running, each a process. `marker` is in their command lines.
async fn all_running(site: &Site<'_>, marker: &str) -> Result<Figure> {
    let (mut client, mut watch) = (site.client().await?, Watch::open(site).await?);
    let mut spec = template(&["sleep", marker])["spec"].take();
    spec["terminationGracePeriodSeconds"] = json!(0);
    let job = json!({
        "metadata": {"name": "workers"},
        "spec": {"completions": WORKERS, "parallelism": WORKERS, "template": {"spec": spec}},
    });
    let jobs = site.jobs();
    let started = Instant::now();
    client.post(&jobs, job.to_string().into()).await?.expect(201)?;
    let mut running = HashSet::new();
    while running.len() < WORKERS {
        let event = watch.next().await?;
        if event.pod.is("Running") {
            running.insert(event.pod.metadata.name);
        }
    }
    let took = started.elapsed();
    let found = processes(&["sleep", marker])?;
    ensure!(found == WORKERS, "{found} processes for {WORKERS} pods");
    client
        .delete(&format!("{jobs}/workers?propagationPolicy=Background"))
        .await?;
    while !running.is_empty() {
        let event = watch.next().await?;
        if event.is_gone() {
            running.remove(&event.pod.metadata.name);
        }
    }
    Ok(("job_running".to_owned(), milliseconds(took)))
}

fn template(command: &[&str]) -> Value {
    json!({"spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "host", "command": command}],
    }})
}

/// How many processes of this machine have exactly this command line.
fn processes(arguments: &[&str]) -> Result<usize> {
    let mut wanted = arguments.join("\0");
    wanted.push('\0');
    let entries = fs::read_dir("/proc")?.flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    Ok(lines.filter(|line| line == wanted.as_bytes()).count())
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn a_process_is_found_by_its_whole_command_line() {
        // It is told apart from other runs of this test by its last argument, and has spoken before it is looked for:
        // a program that has only just been started has no command line yet.
        let own = std::process::id().to_string();
        let line = ["sh", "-c", "echo started; read line", &own];
        let mut child = Command::new(line[0])
            .args(&line[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0; 8];
        child.stdout.take().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(processes(&line).unwrap(), 1);
        assert_eq!(processes(&line[..3]).unwrap(), 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
