//! `trainyard wait-for-name`: what a replica does before its program starts that needs another's name.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context as _, Result};
use tokio::{
    net::lookup_host,
    signal::unix::{SignalKind, signal},
    time::sleep,
};

/// Pods that wait together must not ask together.
const PAUSE: Duration = Duration::from_millis(250);
/// After so many questions it is said what is waited for.
const PATIENCE: u32 = 20;
/// As a program ends that a signal has ended.
const TERMINATED: u8 = 143;

/// Wait until a name has an address
#[derive(Debug, clap::Args)]
#[command(
    hide = true,
    after_help = "Exit codes: 0 it has one, 143 it was told to end before"
)]
pub(crate) struct Arguments {
    /// The name of a host
    name: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let code = runtime.block_on(async {
        // The first process of a container is ended by no signal that it does not ask for.
        let mut terminate = signal(SignalKind::terminate()).context("cannot listen for the stop signal")?;
        tokio::select! {
            () = wait(&arguments.name) => Ok(ExitCode::SUCCESS),
            _ = terminate.recv() => Ok(ExitCode::from(TERMINATED)),
        }
    });
    runtime.shutdown_background();
    code
}

async fn wait(name: &str) {
    let mut asked = 0_u32;
    while lookup_host((name, 0)).await.is_err() {
        asked += 1;
        if asked == PATIENCE {
            println!("waiting for `{name}` to have an address");
        }
        sleep(PAUSE).await;
    }
}
