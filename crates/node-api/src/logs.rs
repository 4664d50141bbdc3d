//! What a container has written.

use std::io;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use jiff::Timestamp;

/// Whole or part lines as they are to be shown, in pieces of any size.
pub type Logs = BoxStream<'static, io::Result<Bytes>>;

/// One run of a container. The server names it, by the status its clients have seen: what the node knows of
/// its own status may be a moment behind that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    pub container: &'a str,
    /// Its `containerID`.
    pub id: &'a str,
}

/// Which part of a log, and whether to wait for more. The server has checked it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Goes on until the container ends, its restarts not included.
    pub follow: bool,
    /// Each line begins with its time (RFC 3339 with nanoseconds) and a space.
    pub timestamps: bool,
    /// Only lines of this moment or later. Seconds ago are counted from when the server was asked.
    pub since: Option<Timestamp>,
    /// Only so many lines before the end; after them, what is followed.
    pub tail_lines: Option<u64>,
    /// No more than so many bytes in all.
    pub limit_bytes: Option<u64>,
    pub stream: LogStream,
}

/// Which of a container's streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogStream {
    #[default]
    All,
    Stdout,
    Stderr,
}
