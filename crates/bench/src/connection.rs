//! One HTTP/1.1 connection over TLS, kept open, one request at a time.

use std::{fs, sync::Arc};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::server::Server;

pub(crate) type Sender = SendRequest<Full<Bytes>>;

pub(crate) async fn open(server: &Server) -> Result<Sender> {
    let stream = TcpStream::connect((server.host.as_str(), server.port))
        .await
        .context("cannot connect")?;
    stream.set_nodelay(true).context("cannot switch delays off")?;
    let name = ServerName::try_from(server.host.clone()).context("the host has no valid name")?;
    let stream = TlsConnector::from(trust(server)?)
        .connect(name, stream)
        .await
        .context("cannot agree on TLS")?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .context("cannot speak HTTP")?;
    // It ends with its sender; how it ends shows in the answer that does not come.
    tokio::spawn(connection);
    Ok(sender)
}

fn trust(server: &Server) -> Result<Arc<ClientConfig>> {
    let pem = fs::read(&server.authority)
        .with_context(|| format!("cannot read `{}`", server.authority.display()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        roots.add(certificate.context("the authority is no certificate")?)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
