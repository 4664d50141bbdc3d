//! How the node agent uses sandboxes. A `Sandbox` is no more than a folder: it holds no connection and
//! may be made anew after each restart of the agent.

mod attach;
mod connection;
mod descriptor;
mod error;
mod exec;
mod start;
mod watch;

use std::{
    collections::BTreeMap,
    net::{SocketAddr, SocketAddrV4},
    path::{Path, PathBuf},
};

use tokio::net::{TcpSocket, TcpStream};

pub use attach::Attachment;
pub use descriptor::Descriptor;
pub use error::Error;
pub use exec::Execution;
pub use start::{bury, last_state};
pub use watch::States;

use crate::{
    protocol::{Request, Response},
    spec::Container,
    state::Usage,
};
use connection::Connection;

/// A sandbox that was started or found alive.
#[derive(Debug, Clone)]
pub struct Sandbox {
    dir: PathBuf,
    pid: i32,
}

impl Sandbox {
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The sandbox's process; its namespaces are under `/proc/PID/ns`.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Starts a container; returns when its program runs, or with the reason why it does not.
    pub async fn start_container(&self, container: &Container) -> Result<(), Error> {
        let request = Request::Start(Box::new(container.clone()));
        match self.ask(&request).await? {
            Response::Started => Ok(()),
            other => Err(Error::unexpected(other)),
        }
    }

    /// Sends a signal to a container's first process.
    pub async fn signal(&self, container: &str, signal: i32) -> Result<(), Error> {
        let request = Request::Signal {
            container: container.to_owned(),
            signal,
        };
        match self.ask(&request).await? {
            Response::Done => Ok(()),
            other => Err(Error::unexpected(other)),
        }
    }

    /// What each running container uses; those that nothing is counted for are absent.
    pub async fn usage(&self) -> Result<BTreeMap<String, Usage>, Error> {
        match self.ask(&Request::Usage).await? {
            Response::Usage(usage) => Ok(usage),
            other => Err(Error::unexpected(other)),
        }
    }

    /// Connects to a port of the pod's own network, its loopback included.
    pub async fn connect(&self, address: SocketAddrV4) -> Result<TcpStream, Error> {
        let mut connection = Connection::open(&self.dir).await?;
        connection.send(&Request::Socket, &[]).await?;
        match connection.receive().await? {
            Response::Socket => {}
            other => return Err(Error::unexpected(other)),
        }
        let socket = connection.descriptors.pop();
        let socket = socket.ok_or_else(|| Error::Unexpected("no socket came with the answer".to_owned()))?;
        let socket = TcpSocket::from_std_stream(std::net::TcpStream::from(socket));
        socket
            .connect(SocketAddr::V4(address))
            .await
            .map_err(Error::Connect)
    }

    /// Kills what runs and ends the sandbox. Its last state stays in the folder.
    pub async fn stop(&self) -> Result<(), Error> {
        match self.ask(&Request::Stop).await? {
            Response::Done => Ok(()),
            other => Err(Error::unexpected(other)),
        }
    }

    async fn ask(&self, request: &Request) -> Result<Response, Error> {
        let mut connection = Connection::open(&self.dir).await?;
        connection.send(request, &[]).await?;
        connection.receive().await
    }
}
