//! `trainyard down`: stops the embedded cluster.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use crate::{Surroundings, data_dir::DataDir, instance::Instance, lock};

/// Stop the embedded cluster; what it stores stays
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard down
  trainyard down --data-dir /tmp/try

Exit codes: 0 stopped, 1 it did not run, 2 it could not be stopped")]
pub(crate) struct Arguments {
    #[command(flatten)]
    data_dir: DataDir,
}

/// How long the server gets to stop by itself.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let dir = arguments.data_dir.resolve(surroundings)?.path;
    let Some(pid) = lock::holder(&dir)? else {
        println!("Trainyard is not running in {}", dir.display());
        return Ok(ExitCode::from(1));
    };
    stop(pid)?;
    Instance::remove(&dir);
    println!("Trainyard stopped (process {pid})");
    Ok(ExitCode::SUCCESS)
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
