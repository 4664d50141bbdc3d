//! Connections to webhooks: opened when they are needed, and a few kept for the next call.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use node_api::Node;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::{net::TcpStream, time::Instant};
use tokio_rustls::TlsConnector;

use super::trust;

/// How many connections of one webhook are kept while nobody uses them, and for how long.
const MAX_IDLE: usize = 4;
const MAX_IDLE_TIME: Duration = Duration::from_mins(1);

pub(super) type Sender = SendRequest<Full<Bytes>>;

/// Whom to call.
pub(super) struct Peer {
    /// Host and port.
    pub address: String,
    /// The node that reaches the address; without one this process tries itself.
    pub node: Option<(Arc<dyn Node>, SocketAddr)>,
}

impl Peer {
    async fn dial(&self) -> Result<node_api::Connection, String> {
        if let Some((node, address)) = &self.node {
            return node.dial(*address).await.map_err(|error| error.to_string());
        }
        let stream = TcpStream::connect(&self.address)
            .await
            .map_err(|error| dial_error(&self.address, &error))?;
        let _ = stream.set_nodelay(true);
        Ok(Box::new(stream))
    }
}

/// An open connection to one address.
pub(super) struct Connection {
    peer: String,
    pub sender: Sender,
    pub is_fresh: bool,
    used: Instant,
}

/// The connections of one webhook that are not in use.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Connection>>);

impl Pool {
    /// A connection to the peer that was used before and is still open.
    fn take(&self, peer: &str) -> Option<Connection> {
        let mut idle = self.0.lock();
        idle.retain(|connection| !connection.sender.is_closed() && connection.used.elapsed() < MAX_IDLE_TIME);
        let position = idle.iter().position(|connection| connection.peer == peer)?;
        Some(idle.swap_remove(position))
    }

    /// Keeps a connection whose last answer was read to its end.
    pub(super) fn keep(&self, connection: Connection) {
        let mut idle = self.0.lock();
        if idle.len() < MAX_IDLE && !connection.sender.is_closed() {
            idle.push(Connection {
                is_fresh: false,
                used: Instant::now(),
                ..connection
            });
        }
    }

    /// A connection that is ready to send on: one that was kept, or a new one.
    pub(super) async fn get(
        &self,
        peer: &Peer,
        server_name: &str,
        tls: &Arc<ClientConfig>,
    ) -> Result<Connection, String> {
        while let Some(mut kept) = self.take(&peer.address) {
            if kept.sender.ready().await.is_ok() {
                return Ok(kept);
            }
        }
        open(peer, server_name, tls).await
    }
}

/// Opens a new connection.
pub(super) async fn open(
    peer: &Peer,
    server_name: &str,
    tls: &Arc<ClientConfig>,
) -> Result<Connection, String> {
    let name = ServerName::try_from(server_name.to_owned())
        .map_err(|_| format!("{server_name} is no name a certificate can be for"))?;
    let stream = peer.dial().await?;
    let stream = TlsConnector::from(tls.clone()).connect(name, stream).await;
    let stream = TokioIo::new(stream.map_err(|error| trust::describe(&error))?);
    let (sender, connection) = http1::handshake(stream)
        .await
        .map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        // It ends with its sender; what went wrong before that the sender has reported.
        let _ = connection.await;
    });
    Ok(Connection {
        peer: peer.address.clone(),
        sender,
        is_fresh: true,
        used: Instant::now(),
    })
}

/// Why nobody answered, in the words of the real server.
fn dial_error(peer: &str, error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused => format!("dial tcp {peer}: connect: connection refused"),
        ErrorKind::ConnectionReset => format!("dial tcp {peer}: connect: connection reset by peer"),
        ErrorKind::HostUnreachable => format!("dial tcp {peer}: connect: no route to host"),
        ErrorKind::NetworkUnreachable => format!("dial tcp {peer}: connect: network is unreachable"),
        ErrorKind::TimedOut => format!("dial tcp {peer}: connect: connection timed out"),
        _ if error.raw_os_error().is_none() => {
            let host = peer.rsplit_once(':').map_or(peer, |(host, _)| host);
            format!("dial tcp: lookup {host}: no such host")
        }
        _ => format!("dial tcp {peer}: {error}"),
    }
}
