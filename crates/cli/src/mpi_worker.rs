//! `trainyard mpi-worker`: what a worker of an MPIJob runs while it waits for a launcher. It is the first
//! process of its container, so it also buries what the launcher's daemons leave behind.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use rustix::process::{WaitOptions, wait};
use tokio::signal::unix::{SignalKind, signal};

/// Be there for commands of an MPI launcher until told to stop
#[derive(Debug, clap::Args)]
#[command(hide = true, after_help = "Exit codes: 0 it was told to stop")]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
        let mut terminate = signal(SignalKind::terminate()).context("cannot listen for the stop signal")?;
        let mut children = signal(SignalKind::child()).context("cannot listen for children that end")?;
        loop {
            tokio::select! {
                _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
                _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
                _ = children.recv() => while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {},
            }
        }
    })
}
