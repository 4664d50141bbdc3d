//! What the API server asks of a node: logs, commands, connections and usage. The node agent answers;
//! the server speaks the protocols of clients. Neither knows the other, only this.

mod error;
mod logs;
mod session;
mod usage;

use std::net::SocketAddr;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

pub use error::NodeError;
pub use logs::{LogOptions, LogStream, Logs, Run};
pub use session::{Command, Session, Streams, TerminalSize};
pub use usage::{ContainerUsage, NodeUsage, PodUsage, Usage};

pub type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// Dropped, it is the end of what the other side reads.
pub type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Bytes in both directions. `poll_shutdown` ends one of them and leaves the other open.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

pub type Connection = Box<dyn Duplex>;

pub type Answer<'a, T> = BoxFuture<'a, Result<T, NodeError>>;

/// A pod the API server knows and believes to be on the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

/// One node, as the API server sees it. The container in a request is one of the pod's specification,
/// of whichever kind (ordinary, init, ephemeral); whether it runs, the node knows.
///
/// Dropping a future or what it resolved to ends the work and frees what it holds.
pub trait Node: Send + Sync {
    /// What a container has written in one of its runs. An error in the middle of the stream ends it.
    fn logs<'a>(&'a self, pod: &'a Pod, run: Run<'a>, options: LogOptions) -> Answer<'a, Logs>;

    /// Starts a further process in a running container. Resolves when its program runs; a program that
    /// cannot be run is [`NodeError::Failed`], a container that does not run [`NodeError::NoContainer`].
    fn exec<'a>(&'a self, pod: &'a Pod, container: &'a str, command: Command) -> Answer<'a, Session>;

    /// Joins the streams of a running container's first process. A terminal is what the container's
    /// specification says it is, whatever the client asks for.
    fn attach<'a>(&'a self, pod: &'a Pod, container: &'a str, streams: Streams) -> Answer<'a, Session>;

    /// Connects to a port inside the pod, to its loopback too, as port-forward does.
    fn forward<'a>(&'a self, pod: &'a Pod, port: u16) -> Answer<'a, Connection>;

    /// Connects to an address the node reaches: a pod's, a service's or any other.
    fn dial(&self, address: SocketAddr) -> Answer<'_, Connection>;

    /// What the pods with running containers use.
    fn pod_usage(&self) -> Answer<'_, Vec<PodUsage>>;

    /// What the node as a whole uses.
    fn node_usage(&self) -> Answer<'_, NodeUsage>;
}
