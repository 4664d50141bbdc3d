//! The embedded cluster, for commands that need one: found where it runs, started where it does not.

use std::{
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use crate::{
    data_dir::{self, ClusterDir},
    detach, down,
    instance::{Found, Instance},
    lock,
};

/// How long another process may take to start the same cluster.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long pods that are gone may take to leave nothing, and how often that is looked at.
const CLEARING: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(20);

/// A cluster that runs.
pub(crate) struct Running {
    pub(crate) instance: Instance,
    /// Whether it was started for this command.
    pub(crate) is_new: bool,
}

/// Finds the cluster of a directory, or starts it in the background and says so.
pub(crate) fn ensure(dir: &ClusterDir) -> Result<Running> {
    let deadline = Instant::now() + PATIENCE;
    let mut is_new = false;
    loop {
        match Instance::find(&dir.path)? {
            Found::Running(instance) => return Ok(Running { instance, is_new }),
            Found::Silent(_) if Instant::now() < deadline => sleep(Duration::from_millis(20)),
            // Starting it says what is wrong.
            Found::Silent(_) | Found::Nothing => {
                eprintln!("starting the embedded cluster in {}", dir.path.display());
                data_dir::prepare(&dir.path)?;
                // Nobody has asked for a port, so any that is free will do.
                let started = detach::start(dir, &["--listen".into(), "127.0.0.1:0".into()]);
                match started {
                    Ok(_) => is_new = true,
                    // Somebody else has started it at the same moment.
                    Err(_) if lock::holder(&dir.path)?.is_some() => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

/// Stops the cluster and its pods; what it stores stays.
/// Waits for what pods leave on this machine: it goes a moment after they do, and a cluster that is stopped before
/// keeps it until its next start.
pub(crate) fn wait_until_cleared(dir: &ClusterDir) {
    let pods = dir.path.join("pods");
    let deadline = Instant::now() + CLEARING;
    let is_cleared = || !fs::read_dir(&pods).is_ok_and(|mut folders| folders.next().is_some());
    while !is_cleared() && Instant::now() < deadline {
        sleep(GLANCE);
    }
}

pub(crate) fn stop(dir: &ClusterDir) -> Result<()> {
    down::stop_everything(&dir.path)
        .map(drop)
        .context("the embedded cluster could not be stopped")
}
