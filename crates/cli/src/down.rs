//! `trainyard down`: stops the embedded cluster.

use std::{
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use cluster::Leftovers;
use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use crate::{Surroundings, data_dir::DataDir, instance::Instance, lock};

/// Stop the embedded cluster and its pods; what it stores stays
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard down
  trainyard down --keep-pods    before an upgrade: the next `up` takes the pods over

Exit codes: 0 stopped, 1 it did not run, 2 it could not be stopped")]
pub(crate) struct Arguments {
    #[command(flatten)]
    data_dir: DataDir,

    /// Leave pods running; the next `up` finds them again
    #[arg(long)]
    keep_pods: bool,
}

/// How long the server gets to stop by itself.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let dir = arguments.data_dir.resolve(surroundings)?.path;
    let (server, left) = if arguments.keep_pods {
        (stop_server(&dir)?, Leftovers::default())
    } else {
        stop_everything(&dir)?
    };
    let Some(text) = told(server, left) else {
        println!("Trainyard is not running in {}", dir.display());
        return Ok(ExitCode::from(1));
    };
    println!("{text}");
    Ok(ExitCode::SUCCESS)
}

/// Stops the server and what it runs: the server's process, if there was one, and what else was left.
pub(crate) fn stop_everything(dir: &Path) -> Result<(Option<u32>, Leftovers)> {
    let server = stop_server(dir)?;
    // Pods outlive a server that was killed, so there may be some although none runs.
    Ok((server, stop_leftovers(dir)?))
}

fn stop_server(dir: &Path) -> Result<Option<u32>> {
    let server = lock::holder(dir)?;
    if let Some(pid) = server {
        stop(pid)?;
        Instance::remove(dir);
    }
    Ok(server)
}

/// What was stopped, in words; none if there was nothing.
fn told(server: Option<u32>, left: Leftovers) -> Option<String> {
    let pods = match left.pods {
        0 => None,
        1 => Some("1 pod".to_owned()),
        pods => Some(format!("{pods} pods")),
    };
    match (server, pods, left.network) {
        (Some(pid), Some(pods), _) => Some(format!("Trainyard stopped (process {pid}, with {pods})")),
        (Some(pid), None, _) => Some(format!("Trainyard stopped (process {pid})")),
        (None, Some(pods), _) => Some(format!(
            "Trainyard was not running; what it had left was stopped: {pods}"
        )),
        (None, None, true) => Some(
            "Trainyard was not running; what it had left was stopped: the network of its pods".to_owned(),
        ),
        (None, None, false) => None,
    }
}

fn stop_leftovers(dir: &Path) -> Result<Leftovers> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    Ok(runtime.block_on(cluster::leave_nothing_running(dir)))
}

fn stop(pid: u32) -> Result<()> {
    let id = Pid::from_raw(pid.cast_signed()).context("the lock names no process")?;
    // A descriptor of the process cannot come to mean another one with the same number.
    let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else {
        return Ok(());
    };
    pidfd_send_signal(&process, Signal::TERM).with_context(|| format!("cannot stop process {pid}"))?;
    if ends_within(&process, PATIENCE)? {
        return Ok(());
    }
    eprintln!("process {pid} does not stop; killing it (nothing stored is lost)");
    pidfd_send_signal(&process, Signal::KILL).with_context(|| format!("cannot kill process {pid}"))?;
    ends_within(&process, PATIENCE).map(drop)
}

fn ends_within(process: &rustix::fd::OwnedFd, patience: Duration) -> Result<bool> {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let mut fds = [PollFd::new(process, PollFlags::IN)];
        let timeout = left
            .try_into()
            .context("the patience does not fit the kernel's clock")?;
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error).context("cannot wait for the server"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(server: Option<u32>, pods: usize, network: bool, expected: Option<&str>) {
        assert_eq!(told(server, Leftovers { pods, network }).as_deref(), expected);
    }

    #[test]
    fn what_was_stopped_is_told_and_nothing_else() {
        check(None, 0, false, None);
        check(Some(7), 0, true, Some("Trainyard stopped (process 7)"));
        check(
            Some(7),
            2,
            true,
            Some("Trainyard stopped (process 7, with 2 pods)"),
        );
        let left = "Trainyard was not running; what it had left was stopped";
        check(None, 1, true, Some(&format!("{left}: 1 pod")));
        check(None, 0, true, Some(&format!("{left}: the network of its pods")));
    }
}
