//! A connection to a registry, for one request.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Uri;
use http_body_util::Empty;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

const CONNECT: Duration = Duration::from_secs(30);

pub(super) async fn open(
    url: &Uri,
    tls: &Result<Arc<ClientConfig>, String>,
) -> Result<SendRequest<Empty<Bytes>>, String> {
    let host = url.host().unwrap_or_default();
    let is_plain = url.scheme_str() == Some("http");
    let port = url.port_u16().unwrap_or(if is_plain { 80 } else { 443 });
    let peer = format!("{host}:{port}");
    let stream = match timeout(CONNECT, TcpStream::connect(&peer)).await {
        Ok(stream) => stream.map_err(|error| dial_error(&peer, &error))?,
        Err(_) => return Err(format!("dial tcp {peer}: i/o timeout")),
    };
    let _ = stream.set_nodelay(true);
    if is_plain {
        return handshake(stream).await;
    }
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
        .map_err(|_| format!("{host} is no name a certificate can be for"))?;
    let stream = TlsConnector::from(tls.clone()?).connect(name, stream).await;
    handshake(stream.map_err(|error| verified_tls::describe(&error))?).await
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<SendRequest<Empty<Bytes>>, String> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        // It ends with the answer; what goes wrong before that, whoever reads the answer hears.
        let _ = connection.await;
    });
    Ok(sender)
}

/// Why nobody answered, in the words people search for.
fn dial_error(peer: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("dial tcp {peer}: connect: connection refused"),
        io::ErrorKind::ConnectionReset => format!("dial tcp {peer}: connect: connection reset by peer"),
        io::ErrorKind::HostUnreachable => format!("dial tcp {peer}: connect: no route to host"),
        io::ErrorKind::NetworkUnreachable => format!("dial tcp {peer}: connect: network is unreachable"),
        io::ErrorKind::TimedOut => format!("dial tcp {peer}: connect: connection timed out"),
        _ if error.raw_os_error().is_none() => {
            let host = peer.rsplit_once(':').map_or(peer, |(host, _)| host);
            format!("dial tcp: lookup {host}: no such host")
        }
        _ => format!("dial tcp {peer}: {error}"),
    }
}
