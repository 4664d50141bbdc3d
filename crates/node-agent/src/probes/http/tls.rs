//! Encryption without trust: a probe asks whether the server works, not who it is.

use std::{io, sync::Arc};

use rustls::pki_types::{IpAddr, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

pub(super) async fn connect(stream: TcpStream, host: &str) -> io::Result<TlsStream<TcpStream>> {
    let name = match host.parse::<std::net::IpAddr>() {
        Ok(address) => ServerName::IpAddress(IpAddr::from(address)),
        Err(_) => ServerName::try_from(host.to_owned()).map_err(io::Error::other)?,
    };
    let config = unverified_tls::client_config().map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}
