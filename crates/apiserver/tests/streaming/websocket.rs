//! WebSockets made by hand.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::cluster::Cluster;

/// A request for a part of the pod `web` that asks for a WebSocket: the head of the answer, and the
/// connection behind it.
pub(crate) async fn ask(cluster: &Cluster, part: &str, protocols: &str) -> (String, TlsStream<TcpStream>) {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(cluster.running.ca_pem().as_bytes()).unwrap();
    roots.add(authority).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(cluster.running.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .unwrap();
    let protocols = if protocols.is_empty() {
        String::new()
    } else {
        format!("sec-websocket-protocol: {protocols}\r\n")
    };
    let request = format!(
        "GET /api/v1/namespaces/default/pods/web/{part} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{protocols}\r\n",
        cluster.running.admin_token()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    (String::from_utf8(head).unwrap().to_ascii_lowercase(), stream)
}

/// The same, where the server must agree.
pub(crate) async fn connect(
    cluster: &Cluster,
    part: &str,
    protocols: &str,
) -> (String, TlsStream<TcpStream>) {
    let (head, stream) = ask(cluster, part, protocols).await;
    assert!(head.starts_with("http/1.1 101"), "{head}");
    assert!(head.contains("audit-id: "), "{head}");
    (head, stream)
}

/// The next frame, a short one: how it begins, and what it holds.
pub(crate) async fn frame(stream: &mut TlsStream<TcpStream>) -> (u8, Vec<u8>) {
    let first = stream.read_u8().await.unwrap();
    let mut payload = vec![0; usize::from(stream.read_u8().await.unwrap())];
    stream.read_exact(&mut payload).await.unwrap();
    (first, payload)
}
