//! An API server of its own for each test, and a client that talks to it over HTTPS.

use std::{sync::Arc, time::Duration};

use apiserver::{Options, Running};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

pub(crate) struct Cluster {
    running: Running,
    tls: TlsConnector,
    _directory: TempDir,
}

/// What the server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) body: Value,
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    /// Code, reason and message of a refusal.
    pub(crate) fn refusal(&self) -> (u16, &str, &str) {
        let text = |field: &str| self.body[field].as_str().unwrap_or_default();
        (self.code.as_u16(), text("reason"), text("message"))
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert!(self.code.is_success(), "{self:?}");
        self.body
    }
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            data_dir: directory.path().to_owned(),
            listen: ([127, 0, 0, 1], 0).into(),
            drop_damaged: false,
            limits: apiserver::Limits::default(),
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
        let cluster = Self {
            running,
            tls: TlsConnector::from(Arc::new(config)),
            _directory: directory,
        };
        // Pods need it; whoever looks after service accounts is not part of the API server.
        cluster
            .post(
                "/api/v1/namespaces/default/serviceaccounts",
                &json!({ "metadata": { "name": "default" } }),
            )
            .await;
        cluster
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "", &Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, "application/json", body).await
    }

    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Answer {
        self.send(Method::PATCH, path, "application/merge-patch+json", patch)
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, "", &Value::Null).await
    }

    /// Stores an object past the API, which would refuse it: tests live on loopback addresses.
    pub(crate) async fn plant(&self, group: &str, plural: &str, name: &str, object: &Value) {
        let json = object.to_string();
        let marker = "\"resourceVersion\":\"";
        let revision_at = json.find(marker).unwrap() + marker.len();
        let body = store::Body::new(json.into_bytes(), revision_at);
        let collection = store::Collection::new(group, plural);
        let store = &self.running.api.store;
        store
            .create(&collection, store::Key::new("default", name), body)
            .await
            .unwrap();
    }

    /// Asks until the answer is as wanted.
    pub(crate) async fn wait(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..200 {
            let answer = self.get(path).await;
            if wanted(&answer.body) {
                return answer.body;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{path} never became what was wanted");
    }

    async fn send(&self, method: Method, path: &str, content_type: &str, body: &Value) -> Answer {
        let stream = TcpStream::connect(self.running.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TokioIo::new(self.tls.connect(name, stream).await.unwrap());
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let bytes = if body.is_null() {
            Bytes::new()
        } else {
            body.to_string().into()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(
                header::AUTHORIZATION,
                format!("Bearer {}", self.running.admin_token()),
            )
            .header(header::CONTENT_TYPE, content_type)
            .body(Full::new(bytes))
            .unwrap();
        let answer = sender.send_request(request).await.unwrap();
        let code = answer.status();
        let warnings = answer.headers().get_all(header::WARNING).iter();
        let warnings = warnings
            .map(|warning| warning.to_str().unwrap().to_owned())
            .collect();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        Answer {
            code,
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
            warnings,
        }
    }
}
