//! `trainyard down`: stops the embedded cluster.

use std::{
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
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
    let server = lock::holder(&dir)?;
    if let Some(pid) = server {
        stop(pid)?;
        Instance::remove(&dir);
    }
    // Pods outlive a server that was killed, so there may be some although none runs.
    let pods = if arguments.keep_pods { 0 } else { stop_pods(&dir)? };
    let and_pods = match pods {
        0 => String::new(),
        1 => ", with 1 pod".to_owned(),
        pods => format!(", with {pods} pods"),
    };
    match (server, pods) {
        (Some(pid), _) => println!("Trainyard stopped (process {pid}{and_pods})"),
        (None, 0) => {
            println!("Trainyard is not running in {}", dir.display());
            return Ok(ExitCode::from(1));
        }
        (None, _) => println!("Trainyard was not running; what it had left was stopped{and_pods}"),
    }
    Ok(ExitCode::SUCCESS)
}

fn stop_pods(dir: &Path) -> Result<usize> {
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
