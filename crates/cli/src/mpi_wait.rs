//! `trainyard mpi-wait`: what a launcher of an MPIJob does before `mpirun`, which gives up when a host is
//! not there.

use std::{collections::BTreeSet, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context as _, Result};
use rustix::system::uname;
use serde_json::Value;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Instant, sleep},
};

use crate::{
    Surroundings,
    mpi_rsh::{Account, get, pod_of},
};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long the API server may give no answer that is of use, as it does while it is upgraded.
const PATIENCE: Duration = Duration::from_mins(10);

/// As a program ends that a signal has ended.
const TERMINATED: u8 = 143;

/// Wait until the pods of a hostfile run
#[derive(Debug, clap::Args)]
#[command(
    hide = true,
    after_help = "It runs in a pod whose service account may get pods in its namespace.

Exit codes: 0 all run, 2 it cannot be found out, 143 it was told to end before"
)]
pub(crate) struct Arguments {
    /// Lines that begin with a host, as `mpirun` reads them
    hostfile: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let path = &arguments.hostfile;
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let this = uname().nodename().to_string_lossy().into_owned();
    let pods = pods(&text, &this)?;
    let account = Account::of_this_pod(surroundings)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        // The first process of a container is ended by no signal that it does not ask for.
        let mut terminate = signal(SignalKind::terminate()).context("cannot listen for the stop signal")?;
        tokio::select! {
            there = wait_for_all(&account, &pods) => there.map(|()| ExitCode::SUCCESS),
            _ = terminate.recv() => Ok(ExitCode::from(TERMINATED)),
        }
    })
}

async fn wait_for_all(account: &Account, pods: &BTreeSet<String>) -> Result<()> {
    for pod in pods {
        wait_for(account, pod).await?;
    }
    println!("all {} hosts are there", pods.len());
    Ok(())
}

/// The pods of a hostfile but for this one, which cannot wait for itself. There are none where a job has no workers,
/// or none yet.
fn pods(hostfile: &str, this: &str) -> Result<BTreeSet<String>> {
    let lines = hostfile.lines().map(str::trim);
    let hosts = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let hosts = hosts.filter_map(|line| line.split([' ', '\t', ':']).next());
    let pods = hosts.map(|host| pod_of(host).map_err(|why| anyhow::anyhow!("`{host}`: {why}")));
    let pods: BTreeSet<String> = pods.collect::<Result<_>>()?;
    Ok(pods.into_iter().filter(|pod| pod != this).collect())
}

async fn wait_for(account: &Account, pod: &str) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}/pods/{pod}", account.namespace);
    until_runs(pod, async || get(account, &path).await).await
}

async fn until_runs(pod: &str, mut ask: impl AsyncFnMut() -> Result<Option<Value>>) -> Result<()> {
    let (mut pause, mut is_said) = (FIRST_PAUSE, false);
    let mut unanswered: Option<Instant> = None;
    loop {
        match ask().await {
            Ok(found) => {
                unanswered = None;
                if found.as_ref().is_some_and(runs) {
                    return Ok(());
                }
                if pause == LONGEST_PAUSE && !is_said {
                    println!("waiting for pod `{pod}` to run");
                    is_said = true;
                }
            }
            // A server that is started again, or does not know yet what this pod may do, is no end of the job.
            Err(error) => {
                let since = *unanswered.get_or_insert_with(|| {
                    println!("waiting for the API server: {error:#}");
                    Instant::now()
                });
                if since.elapsed() > PATIENCE {
                    return Err(error);
                }
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Whether a command can be run in each of its containers.
fn runs(pod: &Value) -> bool {
    let containers = pod["status"]["containerStatuses"].as_array();
    let started = |container: &Value| container["state"]["running"].is_object();
    pod["status"]["phase"] == "Running"
        && pod["metadata"]["deletionTimestamp"].is_null()
        && containers.is_some_and(|containers| containers.iter().all(started))
}

#[cfg(test)]
mod tests {
    use anyhow::bail;
    use serde_json::json;

    use super::*;

    #[test]
    fn hostfiles_of_all_implementations_are_read() {
        let text = "# hosts\njob-launcher slots=1\njob-worker-0.job.team.svc slots=2\njob-worker-1.job.team.svc:2\n\n";
        let pods = pods(text, "job-launcher").unwrap();
        assert_eq!(
            pods.into_iter().collect::<Vec<_>>(),
            ["job-worker-0", "job-worker-1"]
        );
        assert!(super::pods("\n", "").unwrap().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_away_is_waited_for() {
        let mut asked = 0;
        let outcome = until_runs("job-worker-0", async || {
            asked += 1;
            match asked {
                1..=20 => bail!("connection refused"),
                21 => Ok(None),
                22 => Ok(Some(json!({"status": {"phase": "Pending"}}))),
                // Away again: each time is shorter than the patience, both together are not.
                23..=130 => bail!("the server is starting"),
                _ => Ok(Some(json!({"status": {
                    "phase": "Running", "containerStatuses": [{"state": {"running": {}}}],
                }}))),
            }
        });
        assert!(outcome.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stays_away_is_named_in_the_end() {
        let began = Instant::now();
        let outcome = until_runs("job-worker-0", async || bail!("connection refused"));
        assert_eq!(outcome.await.unwrap_err().to_string(), "connection refused");
        assert!(began.elapsed() > PATIENCE);
    }
}
