//! The logs of one run of a container.

use std::{io, path::PathBuf, sync::Arc};

use containers::client::Sandbox;
use futures_util::{StreamExt as _, stream};
use kinds::pods::streams::{LogSource, log_source};
use node_api::{LogOptions, LogStream, Logs, NodeError, Pod};
use reconcile::Key;
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    agent::Agent,
    folders::PodFolder,
    logs::{self, Options, Stream},
};

/// How many pieces may wait for a slow reader.
const WAITING: usize = 4;

pub(super) fn read(
    agent: &Agent,
    pod: &Pod,
    folder: PodFolder,
    container: &str,
    options: LogOptions,
) -> Result<Logs, NodeError> {
    let known = agent.followed.pods.get(&Key::new(&pod.namespace, &pod.name));
    let known = known.filter(|known| known.metadata.uid.as_deref() == Some(&pod.uid));
    let known = known.ok_or(NodeError::NoPod)?;
    let source = log_source(&json!(&*known), container, options.previous)
        .map_err(|reason| NodeError::NoLogs(reason.to_string()))?;
    let file = file(&folder, container, source)
        .ok_or_else(|| NodeError::NoLogs(format!("unable to retrieve container logs for {container}")))?;
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
                self::ended(&sandbox, &name).await;
            }
        };
        if let Err(error) = logs::read(&file, &wanted, ended, output).await {
            tracing::warn!(%error, file = %file.display(), "a log cannot be read");
        }
    });
    // Dropped, the channel ends the reading.
    drop(reading);
    let pieces = stream::unfold(pieces, async |mut pieces| {
        let piece = pieces.recv().await?;
        Some((io::Result::Ok(piece), pieces))
    });
    Ok(pieces.boxed())
}

/// The file of a run: they are numbered, and the last is the current one.
fn file(folder: &PodFolder, container: &str, source: LogSource) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder.logs().join(container)).ok()?.flatten();
    let numbers = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_suffix(".log")?.parse::<u32>().ok()
    });
    let last = numbers.max()?;
    let number = match source {
        LogSource::Current => last,
        LogSource::Previous => last.checked_sub(1)?,
    };
    Some(folder.log(container, number))
}

/// Resolves when the container does not run any more.
pub(super) async fn ended(sandbox: &Sandbox, container: &str) {
    let Ok(mut states) = sandbox.states().await else {
        return;
    };
    let is_over = |state: &containers::state::State| {
        state
            .containers
            .get(container)
            .is_none_or(|run| !run.is_running())
    };
    // A sandbox that is gone runs nothing.
    let _ = states.until(is_over).await;
}
