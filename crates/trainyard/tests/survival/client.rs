//! An HTTPS client that can lose its server at any time and says so.

use std::{path::Path, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::server::entry;

/// What a client knows of a server: where it is, how to trust it, and who asks.
#[derive(Clone)]
pub(crate) struct Client {
    address: String,
    token: String,
    roots: Arc<RootCertStore>,
}

/// The version of HTTP a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Http1,
    Http2,
}

/// One connection to the server.
pub(crate) struct Connection {
    sender: Sender,
    token: String,
}

#[derive(Clone)]
enum Sender {
    Http1(Arc<tokio::sync::Mutex<conn::http1::SendRequest<Full<Bytes>>>>),
    Http2(conn::http2::SendRequest<Full<Bytes>>),
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) body: Bytes,
}

/// The server went away before it had answered.
#[derive(Debug)]
pub(crate) struct Lost;

impl Client {
    pub(crate) fn from_kubeconfig(path: &Path) -> Self {
        let pem = BASE64_STANDARD
            .decode(entry(path, "certificate-authority-data"))
            .unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
        let server = entry(path, "server");
        Self {
            address: server.strip_prefix("https://").unwrap().to_owned(),
            token: entry(path, "token"),
            roots: Arc::new(roots),
        }
    }

    pub(crate) async fn stream(&self, version: Version) -> Result<TlsStream<TcpStream>, Lost> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        if version == Version::Http2 {
            config.alpn_protocols = vec![b"h2".to_vec()];
        }
        let stream = TcpStream::connect(&self.address).await.map_err(|_| Lost)?;
        stream.set_nodelay(true).map_err(|_| Lost)?;
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await.map_err(|_| Lost)
    }

    pub(crate) async fn connect(&self, version: Version) -> Result<Connection, Lost> {
        let stream = TokioIo::new(self.stream(version).await?);
        let sender = match version {
            Version::Http1 => {
                let (sender, connection) = conn::http1::handshake(stream).await.map_err(|_| Lost)?;
                tokio::spawn(connection);
                Sender::Http1(Arc::new(tokio::sync::Mutex::new(sender)))
            }
            Version::Http2 => {
                let handshake = conn::http2::handshake(TokioExecutor::new(), stream).await;
                let (sender, connection) = handshake.map_err(|_| Lost)?;
                tokio::spawn(connection);
                Sender::Http2(sender)
            }
        };
        Ok(Connection {
            sender,
            token: self.token.clone(),
        })
    }
}

impl Connection {
    /// Sends a request and returns the head of its answer with the body still to come.
    pub(crate) async fn open(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> Result<http::Response<Incoming>, Lost> {
        let host = "127.0.0.1";
        let request = Request::builder()
            .method(method)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, content_type);
        let body = Full::new(body.into());
        match self.sender.clone() {
            Sender::Http1(sender) => {
                let request = request.uri(path).header(header::HOST, host);
                let mut sender = sender.lock().await;
                sender.ready().await.map_err(|_| Lost)?;
                sender.send_request(request.body(body).unwrap()).await
            }
            Sender::Http2(mut sender) => {
                let request = request.uri(format!("https://{host}{path}"));
                sender.ready().await.map_err(|_| Lost)?;
                sender.send_request(request.body(body).unwrap()).await
            }
        }
        .map_err(|_| Lost)
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> Result<Answer, Lost> {
        let (head, body) = self.open(method, path, content_type, body).await?.into_parts();
        let body = body.collect().await.map_err(|_| Lost)?.to_bytes();
        Ok(Answer {
            code: head.status,
            body,
        })
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Answer, Lost> {
        self.send(Method::GET, path, "", "").await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> Result<Answer, Lost> {
        self.send(Method::POST, path, "application/json", object.to_string())
            .await
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(&self.body)))
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert!(
            self.code.is_success(),
            "{} {}",
            self.code,
            String::from_utf8_lossy(&self.body)
        );
        self.json()
    }
}

/// The lines of a watch, one event each.
pub(crate) struct Events {
    body: Incoming,
    read: Vec<u8>,
}

impl Events {
    pub(crate) fn of(answer: http::Response<Incoming>) -> Self {
        Self {
            body: answer.into_body(),
            read: Vec::new(),
        }
    }

    /// The next event; `None` when the watch is over or its server gone.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.read.extend_from_slice(&data);
            }
        }
    }
}
