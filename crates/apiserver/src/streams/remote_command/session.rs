//! The bytes between a client's streams and a process.

use bytes::Bytes;
use futures_util::future::{join, join3};
use node_api::{NodeError, Reader, Session, TerminalSize, Writer};
use serde::Deserialize;
use tokio::io::AsyncWriteExt as _;

use crate::streams::{
    multiplex::{Input, Stream, Streams},
    read_piece,
};

/// Nobody's terminal needs more to say its size.
const LONGEST_SIZE: usize = 4096;

/// The client's ends of the streams.
pub(super) struct Ends {
    stdin: Option<Stream>,
    stdout: Option<Stream>,
    stderr: Option<Stream>,
    resize: Option<Stream>,
    pub error: Stream,
}

impl Ends {
    /// Waits until every expected stream is there; `None` if the client goes away before that.
    pub(super) async fn collect(streams: &mut Streams, expected: Vec<&'static str>) -> Option<Self> {
        let mut found: Vec<Stream> = Vec::new();
        let mut missing = expected;
        while !missing.is_empty() {
            let stream = streams.accept().await?;
            if let Some(position) = missing.iter().position(|kind| *kind == stream.purpose.kind) {
                missing.swap_remove(position);
                found.push(stream);
            }
        }
        let mut take = |kind: &str| {
            let position = found.iter().position(|stream| stream.purpose.kind == kind)?;
            Some(found.swap_remove(position))
        };
        Some(Self {
            stdin: take("stdin"),
            stdout: take("stdout"),
            stderr: take("stderr"),
            resize: take("resize"),
            error: take("error")?,
        })
    }

    /// An empty message on the first channel the client listens to.
    pub(super) async fn greet(&self) {
        let first = [&self.stdout, &self.stderr].into_iter().flatten().next();
        let _ = first.unwrap_or(&self.error).output.send(Bytes::new()).await;
    }
}

/// Carries bytes until the process has ended and all it wrote is sent.
pub(super) async fn carry(session: Session, ends: Ends) -> Result<i32, NodeError> {
    let Session {
        stdin,
        stdout,
        stderr,
        resize,
        exit,
    } = session;
    let fed = async {
        if let (Some(stdin), Some(stream)) = (stdin, ends.stdin) {
            feed(stream.input, stdin).await;
        }
    };
    let resized = async {
        if let (Some(resize), Some(stream)) = (resize, ends.resize) {
            follow_size(stream.input, resize).await;
        }
    };
    let input = async {
        join(fed, resized).await;
        // Without input the process goes on.
        std::future::pending::<()>().await;
    };
    let output = join3(exit, drain(stdout, ends.stdout), drain(stderr, ends.stderr));
    tokio::select! {
        (exit, (), ()) = output => exit,
        () = input => Err(NodeError::Failed("the input ended the process".to_owned())),
    }
}

/// Hands the client's input to the process, until one of them has enough.
async fn feed(mut input: Input, mut stdin: Writer) {
    while let Ok(Some(bytes)) = input.next().await {
        if stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
    let _ = stdin.shutdown().await;
}

/// Sends what the process writes, to the end.
async fn drain(output: Option<Reader>, stream: Option<Stream>) {
    let Some(stream) = stream else { return };
    if let Some(mut output) = output {
        while let Ok(piece) = read_piece(&mut output).await
            && !piece.is_empty()
        {
            if stream.output.send(piece).await.is_err() {
                return;
            }
        }
    }
    let _ = stream.output.end().await;
}

/// A size as clients write it.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
struct Size {
    width: u16,
    height: u16,
}

/// Tells the terminal each size the client's has.
async fn follow_size(mut input: Input, mut resize: impl FnMut(TerminalSize)) {
    let mut unread = Vec::new();
    while let Ok(Some(bytes)) = input.next().await {
        unread.extend_from_slice(&bytes);
        let (sizes, consumed) = sizes(&unread);
        for size in sizes {
            resize(TerminalSize {
                columns: size.width,
                rows: size.height,
            });
        }
        unread.drain(..consumed);
        if unread.len() > LONGEST_SIZE {
            return;
        }
    }
}

/// The whole sizes in what was received, and how many bytes they take.
fn sizes(bytes: &[u8]) -> (Vec<Size>, usize) {
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter();
    let mut sizes = Vec::new();
    let mut consumed = 0;
    while let Some(Ok(size)) = stream.next() {
        sizes.push(size);
        consumed = stream.byte_offset();
    }
    (sizes, consumed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_come() {
        let (found, consumed) = sizes(b"{\"Width\":80,\"Height\":24}\n{\"Width\":100,\"He");
        assert_eq!(
            found,
            [Size {
                width: 80,
                height: 24
            }]
        );
        assert_eq!(consumed, 24);
        assert_eq!(sizes(b"nonsense").0, []);
    }
}
