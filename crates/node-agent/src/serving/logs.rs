//! The logs of one run of a container.

use std::{io, sync::Arc};

use containers::client::Sandbox;
use futures_util::{StreamExt as _, stream};
use node_api::{LogOptions, LogStream, Logs, NodeError, Run};
use tokio::sync::mpsc;

use crate::{
    container_id,
    folders::PodFolder,
    logs::{self, Options, Stream},
};

/// How many pieces may wait for a slow reader.
const WAITING: usize = 4;

pub(super) fn read(folder: PodFolder, run: Run<'_>, options: &LogOptions) -> Result<Logs, NodeError> {
    let Run { container, id } = run;
    let missing = || NodeError::NoLogs(format!("unable to retrieve container logs for {id}"));
    let attempt = container_id::attempt(id).ok_or_else(missing)?;
    let file = folder.log(container, attempt);
    if !file.exists() {
        return Err(missing());
    }
    let wanted = Options {
        follow: options.follow,
        since: options.since,
        tail: options.tail_lines,
        limit_bytes: options.limit_bytes,
        timestamps: options.timestamps,
        stream: match options.stream {
            LogStream::All => None,
            LogStream::Stdout => Some(Stream::Stdout),
            LogStream::Stderr => Some(Stream::Stderr),
        },
    };
    let (output, pieces) = mpsc::channel(WAITING);
    let name: Arc<str> = container.into();
    let reading = tokio::spawn(async move {
        let ended = async {
            if let Ok(sandbox) = Sandbox::adopt(folder.path()).await {
                self::ended(&sandbox, &name, Some(attempt)).await;
            }
        };
        let read = logs::read(&file, &wanted, ended, output).await;
        read.inspect_err(|error| tracing::warn!(%error, file = %file.display(), "a log cannot be read"))
    });
    // Dropped, the channel ends the reading.
    let pieces = stream::unfold(pieces, async |mut pieces| {
        let piece = pieces.recv().await?;
        Some((io::Result::Ok(piece), pieces))
    });
    // A log that breaks off is not one that ends.
    let failure = stream::once(reading).filter_map(|read| {
        let failure = read.ok().and_then(Result::err);
        std::future::ready(failure.map(Err))
    });
    Ok(pieces.chain(failure).boxed())
}

/// Resolves when the container does not run any more, or not this run of it.
pub(super) async fn ended(sandbox: &Sandbox, container: &str, attempt: Option<u32>) {
    let Ok(mut states) = sandbox.states().await else {
        return;
    };
    let is_over = |state: &containers::state::State| {
        state
            .containers
            .get(container)
            .is_none_or(|run| !run.is_running() || attempt.is_some_and(|attempt| attempt < run.attempt))
    };
    // A sandbox that is gone runs nothing.
    let _ = states.until(is_over).await;
}
