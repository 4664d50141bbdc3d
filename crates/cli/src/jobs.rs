//! The commands about training jobs: those a researcher types first, and those that say what becomes of a
//! job and why.

pub(crate) mod api;
mod audience;
pub(crate) mod demo;
mod departure;
mod elsewhere;
mod embedded;
mod find;
mod follow;
mod job;
pub(crate) mod logs;
mod output;
mod patience;
pub(crate) mod place;
pub(crate) mod ps;
mod queue;
mod removal;
pub(crate) mod render;
mod replicas;
pub(crate) mod rm;
mod room;
pub(crate) mod run;
pub(crate) mod stop;
pub(crate) mod table;
pub(crate) mod terminal;
mod watch;
pub(crate) mod why;

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::Surroundings;
use place::{Cluster, Place};

/// Does the work of a command about a cluster that is there. Something that is not there is an answer: no.
pub(crate) fn carry_out(
    place: &Place,
    surroundings: &Surroundings,
    work: impl AsyncFnOnce(Cluster) -> Result<ExitCode>,
) -> Result<ExitCode> {
    let result = wait_for(async {
        let cluster = place.connect(surroundings).await?;
        work(cluster).await
    });
    match result {
        Err(error) if error.is::<find::Absent>() => {
            crate::report(&error);
            Ok(ExitCode::from(1))
        }
        other => other,
    }
}

/// Does work on this thread, to its end.
pub(crate) fn wait_for<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(work);
    // Nobody waits for what a lost server might still say.
    runtime.shutdown_background();
    result
}
