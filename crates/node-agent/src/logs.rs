//! Reads the log of one run of a container, as `kubectl logs` asks for it: from where on, how much, in
//! which form, and for as long as there is more to come. `files` knows where records lie, `selection`
//! which of them are wanted and how they look, `changes` when there may be new ones.

mod changes;
mod files;
mod selection;

use std::{io, path::Path, pin::pin};

use bytes::Bytes;
use jiff::Timestamp;
use tokio::sync::mpsc;

use changes::Changes;
use files::{Extent, Position};
use selection::Selection;

const CHUNK: usize = 64 << 10;

/// What is wanted of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Wait for more until the container has ended.
    pub follow: bool,
    /// Nothing before this moment.
    pub since: Option<Timestamp>,
    /// Only so many records from the end.
    pub tail: Option<u64>,
    /// No more than this is sent.
    pub limit_bytes: Option<u64>,
    /// Each line begins with its time.
    pub timestamps: bool,
    pub stream: Option<Stream>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Sends what is wanted of a log to `output`, files that were put aside included. Returns when all is
/// sent, when nobody listens, or, if more may come, once `ended` has resolved and the rest is sent.
pub async fn read(
    log: &Path,
    options: &Options,
    ended: impl Future<Output = ()>,
    output: mpsc::Sender<Bytes>,
) -> io::Result<()> {
    // Before anything is read, so that no change is missed.
    let folder = log.parent().filter(|_| options.follow);
    read_with(log, options, folder.map(Changes::of), ended, output).await
}

async fn read_with(
    log: &Path,
    options: &Options,
    mut changes: Option<Changes>,
    ended: impl Future<Output = ()>,
    output: mpsc::Sender<Bytes>,
) -> io::Result<()> {
    let extent = Extent {
        tail: options.tail,
        is_open_ended: options.follow,
    };
    let mut position = Position::find(log, extent)?;
    let mut selection = Selection::new(options);
    let (mut ended, mut has_ended) = (pin!(ended), false);
    loop {
        let is_last_look = has_ended;
        if !send_rest(&mut position, &mut selection, &output).await? {
            return Ok(());
        }
        if let Some(next) = position.next(log)? {
            // What was written before the file was put aside may have come since.
            if !send_rest(&mut position, &mut selection, &output).await? {
                return Ok(());
            }
            position = next;
            continue;
        }
        let Some(changes) = changes.as_mut().filter(|_| !is_last_look) else {
            return Ok(());
        };
        tokio::select! {
            changed = changes.wait() => changed?,
            () = &mut ended, if !has_ended => has_ended = true,
            () = output.closed() => return Ok(()),
        }
    }
}

/// Sends what is left of a file. False if that was all that is wanted.
async fn send_rest(
    position: &mut Position,
    selection: &mut Selection,
    output: &mpsc::Sender<Bytes>,
) -> io::Result<bool> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = position.read(&mut buffer).await?;
        if count == 0 {
            return Ok(true);
        }
        let (text, goes_on) = selection.take(&buffer[..count]);
        let is_heard = text.is_empty() || output.send(text.into()).await.is_ok();
        if !goes_on || !is_heard {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests;
