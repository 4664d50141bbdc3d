//! What probes need of the pod they ask.

use std::{io, time::Duration};

use tokio::net::TcpStream;

/// A way into a pod.
pub trait Reach: Send + Sync + 'static {
    /// Runs a command in a container to its end, and kills it if it takes longer.
    fn exec(
        &self,
        container: &str,
        argv: &[String],
        limit: Duration,
    ) -> impl Future<Output = Result<Executed, ExecFailure>> + Send;

    /// Which way connections take into the pod now; nothing while there is none. What fails while the way
    /// changes says nothing about the pod.
    fn way(&self) -> Option<u64>;

    /// Connects to a port of the pod, or of another host by name or address.
    fn connect(&self, host: Option<&str>, port: u16) -> impl Future<Output = io::Result<TcpStream>> + Send;
}

/// A command that came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    pub code: i32,
    /// What it wrote, of both streams, as far as it was kept.
    pub output: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum ExecFailure {
    #[error("command timed out")]
    TimedOut,
    /// It could not be started.
    #[error("{0}")]
    Refused(String),
}
