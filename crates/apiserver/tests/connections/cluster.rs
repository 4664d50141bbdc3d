//! A server with little patience, and requests written by hand.

use std::sync::Arc;

use apiserver::{Limits, Options, Running};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(crate) struct Cluster {
    pub(crate) running: Running,
    tls: TlsConnector,
    directory: TempDir,
}

/// Somebody who may do anything but is no master of the cluster.
pub(crate) struct Guest {
    token: String,
}

impl Cluster {
    pub(crate) async fn start(limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            data_dir: directory.path().to_owned(),
            listen: ([127, 0, 0, 1], 0).into(),
            drop_damaged: false,
            limits,
        };
        let running = apiserver::start(options).await.unwrap();
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(running.ca_pem().as_bytes()).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            running,
            tls: TlsConnector::from(Arc::new(config)),
            directory,
        }
    }

    /// A connection that takes in no more than a little at a time.
    pub(crate) async fn connect(&self) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(self.running.address).await.unwrap()
    }

    pub(crate) async fn stream(&self) -> TlsStream<TcpStream> {
        let name = ServerName::try_from("localhost").unwrap();
        self.tls.connect(name, self.connect().await).await.unwrap()
    }

    /// A connection of somebody with a certificate of the cluster's authority.
    pub(crate) async fn stream_of(&self, name: &str, group: &str) -> TlsStream<TcpStream> {
        let pki = self.directory.path().join("pki");
        let authority = CertificateDer::from_pem_file(pki.join("ca.crt")).unwrap();
        let key = KeyPair::from_pem(&std::fs::read_to_string(pki.join("ca.key")).unwrap()).unwrap();
        let issuer = Issuer::from_ca_cert_der(&authority, key).unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.distinguished_name.push(DnType::OrganizationName, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let own_key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&own_key, &issuer).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(authority).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(own_key.serialize_der()).unwrap(),
            )
            .unwrap();
        let server = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(server, self.connect().await).await.unwrap()
    }

    /// A connection that speaks HTTP/2.
    pub(crate) async fn http2(&self) -> SendRequest<Full<Bytes>> {
        let mut config = self.tls.config().as_ref().clone();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TcpStream::connect(self.running.address).await.unwrap();
        let stream = TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .unwrap();
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        sender
    }

    /// The administrator, who is a master.
    pub(crate) fn admin(&self) -> Guest {
        Guest {
            token: self.running.admin_token().to_owned(),
        }
    }

    pub(crate) async fn guest(&self) -> Guest {
        let admin = self.admin();
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        let account = json!({ "metadata": { "name": "guest" } });
        self.ok(&admin.post(accounts, &account)).await;
        let binding = json!({
            "metadata": { "name": "guest" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
            "subjects": [{ "kind": "ServiceAccount", "namespace": "default", "name": "guest" }],
        });
        let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        self.ok(&admin.post(bindings, &binding)).await;
        let request = admin.post(&format!("{accounts}/guest/token"), &json!({ "spec": {} }));
        let answer = self.ok(&request).await;
        Guest {
            token: answer["status"]["token"].as_str().unwrap().to_owned(),
        }
    }

    /// Sends a request on a connection of its own and returns all that comes back.
    pub(crate) async fn ask(&self, request: &str) -> String {
        let mut stream = self.stream().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        // What TLS holds back would never be sent while we read.
        stream.flush().await.unwrap();
        read_to_end(&mut stream).await
    }

    pub(crate) async fn ok(&self, request: &str) -> Value {
        let answer = self.ask(request).await;
        assert!(answer.starts_with("HTTP/1.1 20"), "{request}\n{answer}");
        body(&answer)
    }
}

impl Guest {
    /// Somebody whom nobody knows.
    pub(crate) fn stranger() -> Self {
        Self {
            token: "nobody".to_owned(),
        }
    }

    /// A POST to be sent by a library.
    pub(crate) fn post_request(&self, path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
        Request::post(format!("https://localhost{path}"))
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(Full::new(body.into()))
            .unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> String {
        self.request("GET", path, "")
    }

    pub(crate) fn post(&self, path: &str, object: &Value) -> String {
        self.request("POST", path, &object.to_string())
    }

    pub(crate) fn delete(&self, path: &str) -> String {
        self.request("DELETE", path, "")
    }

    pub(crate) fn merge(&self, path: &str, patch: &Value) -> String {
        self.request("PATCH", path, &patch.to_string())
    }

    fn request(&self, method: &str, path: &str, body: &str) -> String {
        let content_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.token,
            body.len()
        )
    }
}

/// All that comes until the server closes; how it closes is its own business.
pub(crate) async fn read_to_end(stream: &mut TlsStream<TcpStream>) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8(bytes).unwrap()
}

/// The JSON of an answer.
pub(crate) fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}
