//! A process with somebody at the other end of its streams.

use futures_util::future::BoxFuture;

use crate::{NodeError, Reader, Writer};

/// Which streams of a process somebody wants. With a terminal there is no `stderr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each stream is wanted or not")]
pub struct Streams {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    pub tty: bool,
}

/// A process to start in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; never empty.
    pub argv: Vec<String>,
    pub streams: Streams,
}

/// A process that runs. Dropped, its streams close; whoever made it may end the process then.
pub struct Session {
    /// Absent if not wanted, or if the process has none.
    pub stdin: Option<Writer>,
    pub stdout: Option<Reader>,
    pub stderr: Option<Reader>,
    /// Tells the terminal its size, if there is a terminal.
    pub resize: Option<Box<dyn FnMut(TerminalSize) + Send>>,
    /// How the process ended, as a shell counts (128 and the signal's number for a killed one).
    /// Of an attachment: 0 when the container's output has ended. Output written before the end may
    /// still be unread when this resolves.
    pub exit: BoxFuture<'static, Result<i32, NodeError>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    pub columns: u16,
    pub rows: u16,
}
