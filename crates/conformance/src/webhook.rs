//! A small TLS server for webhooks of admission and conversion, with a certificate authority of its own.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, ServerConnection, StreamOwned, crypto::ring};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};

/// What a webhook answers to a request: the response without its uid, or null for a broken server.
pub(crate) type Respond = fn(&Value) -> Value;

/// Started when a check first asks for it.
#[derive(Debug, Default)]
pub(crate) struct WebhooksCell(OnceLock<Result<Webhooks, String>>);

impl WebhooksCell {
    pub(crate) fn get(&self) -> Result<&Webhooks, &str> {
        self.0
            .get_or_init(|| Webhooks::start().map_err(|error| error.to_string()))
            .as_ref()
            .map_err(String::as_str)
    }
}

/// The running server.
#[derive(Debug)]
pub(crate) struct Webhooks {
    address: SocketAddr,
    authority: String,
    routes: Routes,
    counter: AtomicU64,
}

type Routes = Arc<Mutex<BTreeMap<String, Route>>>;

#[derive(Debug)]
struct Route {
    respond: Respond,
    received: Vec<Value>,
}

/// One webhook of one check.
#[derive(Debug)]
pub(crate) struct Webhook {
    path: String,
    url: String,
    authority: String,
    routes: Routes,
}

impl Webhook {
    /// How a configuration names this webhook.
    pub(crate) fn client_config(&self) -> Value {
        json!({"url": self.url, "caBundle": BASE64_STANDARD.encode(&self.authority)})
    }

    /// The reviews that came so far.
    pub(crate) fn received(&self) -> Vec<Value> {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        routes
            .get(&self.path)
            .map(|route| route.received.clone())
            .unwrap_or_default()
    }
}

impl Webhooks {
    /// Serves a webhook at a path of its own.
    pub(crate) fn serve(&self, respond: Respond) -> Webhook {
        let path = format!("/{}", self.counter.fetch_add(1, Ordering::Relaxed));
        let route = Route {
            respond,
            received: Vec::new(),
        };
        self.routes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.clone(), route);
        Webhook {
            url: format!("https://{}{path}", self.address),
            path,
            authority: self.authority.clone(),
            routes: Arc::clone(&self.routes),
        }
    }

    fn start() -> io::Result<Self> {
        let (config, authority) = identity().map_err(io::Error::other)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let routes = Routes::default();
        let served = Arc::clone(&routes);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (config, routes) = (Arc::clone(&config), Arc::clone(&served));
                thread::spawn(move || serve(socket, config, &routes));
            }
        });
        Ok(Self {
            address,
            authority,
            routes,
            counter: AtomicU64::new(1),
        })
    }
}

/// A certificate for this machine, and the authority that signed it.
fn identity() -> Result<(Arc<ServerConfig>, String), Box<dyn std::error::Error + Send + Sync>> {
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &authority)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    Ok((Arc::new(config), authority.pem()))
}

/// Answers the requests of one connection until it ends.
fn serve(socket: TcpStream, config: Arc<ServerConfig>, routes: &Routes) {
    let Ok(session) = ServerConnection::new(config) else {
        return;
    };
    if socket.set_read_timeout(Some(Duration::from_mins(1))).is_err() {
        return;
    }
    let mut stream = StreamOwned::new(session, socket);
    let mut buffer = Vec::new();
    while let Ok(Some((path, body))) = read_request(&mut stream, &mut buffer) {
        let answer = answer(routes, &path, &body);
        if stream.write_all(&answer).and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
}

fn answer(routes: &Routes, path: &str, body: &[u8]) -> Vec<u8> {
    let review: Value = serde_json::from_slice(body).unwrap_or_default();
    let path = path.split('?').next().unwrap_or(path);
    let respond = {
        let mut routes = routes.lock().unwrap_or_else(PoisonError::into_inner);
        routes.get_mut(path).map(|route| {
            route.received.push(review.clone());
            route.respond
        })
    };
    let mut response = respond.map_or(Value::Null, |respond| respond(&review["request"]));
    if response.is_null() {
        return http("500 Internal Server Error", "broken");
    }
    response["uid"] = review["request"]["uid"].clone();
    // A review is answered by one of its own kind.
    let review = json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
    http("200 OK", &review.to_string())
}

fn http(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Reads a request with a length; none at the end of the connection.
fn read_request(stream: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut chunk = [0; 16 * 1024];
    loop {
        if let Some(request) = take_request(buffer) {
            return Ok(Some(request));
        }
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Ok(None);
        }
        buffer.extend_from_slice(&chunk[..count]);
    }
}

fn take_request(buffer: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let head_end = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .unwrap_or(0);
    if buffer.len() < head_end + length {
        return None;
    }
    let rest = buffer.split_off(head_end + length);
    let body = std::mem::replace(buffer, rest).split_off(head_end);
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    Some((path, body))
}
