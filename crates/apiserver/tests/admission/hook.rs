//! A webhook: a TLS server with an authority of its own, which remembers what it was asked; and how
//! it is registered.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::cluster::Cluster;

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";

/// From the request of a review to its response, without the uid. The path says which webhook is meant.
type Behaviour = dyn Fn(&str, &Value) -> Value + Send + Sync;

pub(crate) struct Hook {
    pub(crate) address: SocketAddr,
    ca_pem: String,
    requests: Arc<Mutex<Vec<Value>>>,
    connections: Arc<AtomicUsize>,
}

impl Hook {
    pub(crate) async fn start(behaviour: impl Fn(&str, &Value) -> Value + Send + Sync + 'static) -> Self {
        let (tls, ca_pem) = certificates();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, connections) = (Arc::<Mutex<Vec<Value>>>::default(), Arc::<AtomicUsize>::default());
        let behaviour: Arc<Behaviour> = Arc::new(behaviour);
        tokio::spawn(accept(
            listener,
            tls,
            behaviour,
            requests.clone(),
            connections.clone(),
        ));
        Self {
            address,
            ca_pem,
            requests,
            connections,
        }
    }

    /// A client configuration for the webhook at a path, by its address.
    pub(crate) fn client_config(&self, path: &str) -> Value {
        json!({ "url": format!("https://{}{path}", self.address), "caBundle": self.ca_bundle() })
    }

    pub(crate) fn ca_bundle(&self) -> String {
        BASE64_STANDARD.encode(&self.ca_pem)
    }

    /// What it was asked since the last time somebody looked. The cluster publishes its authority in
    /// every namespace when it likes; tests are not about that.
    pub(crate) fn take_requests(&self) -> Vec<Value> {
        let mut requests = std::mem::take(&mut *self.requests.lock());
        requests.retain(|request| request["name"] != "kube-root-ca.crt");
        requests
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// A webhook for all operations on one resource.
pub(crate) fn webhook(name: &str, client_config: &Value, group: &str, resource: &str) -> Value {
    json!({
        "name": format!("{name}.example.com"),
        "clientConfig": client_config,
        "rules": [{ "operations": ["*"], "apiGroups": [group], "apiVersions": ["*"], "resources": [resource] }],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    })
}

pub(crate) async fn register(cluster: &Cluster, kind: &str, name: &str, webhooks: &[Value]) {
    let path = format!("{REGISTRATION}/{}webhookconfigurations", kind.to_lowercase());
    cluster
        .post(
            &path,
            &json!({ "metadata": { "name": name }, "webhooks": webhooks }),
        )
        .await
        .ok();
}

pub(crate) fn config_map(name: &str, data: &Value) -> Value {
    json!({ "metadata": { "name": name }, "data": data })
}

/// Agrees with everything.
pub(crate) fn allow() -> Value {
    json!({ "allowed": true })
}

pub(crate) fn deny(message: &str) -> Value {
    json!({ "allowed": false, "status": { "message": message, "code": 403, "reason": "Forbidden" } })
}

pub(crate) fn patch(operations: &Value) -> Value {
    let patch = BASE64_STANDARD.encode(operations.to_string());
    json!({ "allowed": true, "patchType": "JSONPatch", "patch": patch })
}

fn certificates() -> (Arc<ServerConfig>, String) {
    let ca_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_pem = params.self_signed(&ca_key).unwrap().pem();
    let issuer = Issuer::new(params, ca_key);
    let key = KeyPair::generate().unwrap();
    let names = ["127.0.0.1".to_owned(), "hook.default.svc".to_owned()];
    let certificate = CertificateParams::new(names)
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    (Arc::new(config), ca_pem)
}

async fn accept(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    behaviour: Arc<Behaviour>,
    requests: Arc<Mutex<Vec<Value>>>,
    connections: Arc<AtomicUsize>,
) {
    let acceptor = TlsAcceptor::from(tls);
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (acceptor, behaviour, requests) = (acceptor.clone(), behaviour.clone(), requests.clone());
        connections.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(|request| answer(request, behaviour.clone(), requests.clone()));
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// A response may say `"after"`: how many milliseconds to wait with it.
async fn answer(
    request: Request<Incoming>,
    behaviour: Arc<Behaviour>,
    requests: Arc<Mutex<Vec<Value>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let bytes = request.into_body().collect().await.unwrap().to_bytes();
    let mut review: Value = serde_json::from_slice(&bytes).unwrap();
    let question = review["request"].take();
    let mut response = behaviour(&path, &question);
    if let Some(delay) = response["after"].as_u64() {
        tokio::time::sleep(Duration::from_millis(delay)).await;
    }
    response["uid"] = question["uid"].clone();
    requests.lock().push(question);
    let review =
        json!({ "kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response });
    Ok(Response::new(Full::new(review.to_string().into())))
}
