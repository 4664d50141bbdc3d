//! One try: resolves the name, connects to the address that was judged and to no other, posts, and reads the beginning
//! of the answer. It follows no redirects and knows no proxies.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use ipnet::IpNet;
use jiff::Timestamp;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, lookup_host},
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::{
    guard::{self, Destination},
    schedule::{Try, retry_after},
};

/// A receiver has so long to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// So much of an answer is remembered.
const REMEMBERED: usize = 2048;
/// Headers of users that are ours to set.
const OURS: [&str; 7] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
];

/// What is sent.
pub(crate) struct Message {
    pub url: String,
    pub id: String,
    pub timestamp: i64,
    pub signature: String,
    pub body: String,
    pub headers: Vec<(String, String)>,
}

/// Sends messages.
pub(crate) struct Client {
    pub allowed: Vec<IpNet>,
    pub tls: Result<Arc<ClientConfig>, String>,
}

/// Why there is no answer.
struct Failure {
    why: String,
    is_hopeless: bool,
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self {
            why,
            is_hopeless: false,
        }
    }
}

impl Client {
    pub(crate) async fn send(&self, message: &Message) -> Try {
        let (begun, at) = (Instant::now(), Timestamp::now());
        let mut tried = Try::default();
        let outcome = match timeout(PATIENCE, self.exchange(message, &mut tried)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("no answer within {} seconds", PATIENCE.as_secs()).into()),
        };
        if let Err(failure) = outcome {
            tried.attempt.error = failure.why;
            tried.is_hopeless = failure.is_hopeless;
        }
        let attempt = &mut tried.attempt;
        attempt.time = Some(at);
        attempt.duration_milliseconds = i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        tried
    }

    async fn exchange(&self, message: &Message, tried: &mut Try) -> Result<(), Failure> {
        let hopeless = |why: String| Failure {
            why,
            is_hopeless: true,
        };
        let destination = guard::destination(&message.url).map_err(hopeless)?;
        let addresses = resolve(&destination).await?;
        let address = guard::choose(&addresses, &self.allowed).map_err(|why| {
            // Administrators read this.
            tracing::warn!(
                id = message.id,
                host = destination.host,
                ?addresses,
                "a callback may not go there"
            );
            hopeless(why)
        })?;
        tried.attempt.address = guard::told(address);
        let address = SocketAddr::new(address, destination.port);
        let stream = TcpStream::connect(address).await.map_err(|error| {
            tracing::info!(id = message.id, %address, %error, "a receiver of callbacks cannot be reached");
            format!("cannot connect to `{}`: {}", destination.authority, error.kind())
        })?;
        let _ = stream.set_nodelay(true);
        let mut driven = JoinSet::new();
        let answer = if destination.is_encrypted {
            let name = ServerName::try_from(destination.host.clone())
                .map_err(|_| format!("`{}` is no name a certificate can be for", destination.host))?;
            let connector = TlsConnector::from(self.tls.clone()?);
            let stream = connector.connect(name, stream).await;
            post(
                stream.map_err(|error| verified_tls::describe(&error))?,
                &destination,
                message,
                &mut driven,
            )
            .await?
        } else {
            post(stream, &destination, message, &mut driven).await?
        };
        read(answer, &message.headers, tried).await;
        Ok(())
    }
}

async fn resolve(destination: &Destination) -> Result<Vec<IpAddr>, String> {
    if let Ok(address) = destination.host.parse() {
        return Ok(vec![address]);
    }
    let found = lookup_host((destination.host.as_str(), destination.port)).await;
    let found = found.map_err(|error| format!("`{}` cannot be resolved: {error}", destination.host))?;
    Ok(found.map(|address| address.ip()).collect())
}

async fn post(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    destination: &Destination,
    message: &Message,
    driven: &mut JoinSet<()>,
) -> Result<Response<Incoming>, String> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    driven.spawn(async move {
        // What goes wrong, whoever waits for the answer hears.
        let _ = connection.await;
    });
    let answer = sender.send_request(request(destination, message)?).await;
    answer.map_err(|error| error.to_string())
}

fn request(destination: &Destination, message: &Message) -> Result<Request<Full<Bytes>>, String> {
    let mut request = Request::post(destination.path.as_str())
        .body(Full::new(Bytes::from(message.body.clone())))
        .map_err(|error| error.to_string())?;
    let headers = request.headers_mut();
    headers.insert(header::USER_AGENT, HeaderValue::from_static("trainyard"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in &message.headers {
        if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            continue;
        }
        // Neither the name nor the value is told: both may be secrets.
        let name: HeaderName = name
            .parse()
            .map_err(|_| "one of the headers has no legal name".to_owned())?;
        let value: HeaderValue = value
            .parse()
            .map_err(|_| "one of the headers has no legal value".to_owned())?;
        headers.insert(name, value);
    }
    set(headers, "host", &destination.authority)?;
    set(headers, "connection", "close")?;
    set(headers, "webhook-id", &message.id)?;
    set(headers, "webhook-timestamp", &message.timestamp.to_string())?;
    set(headers, "webhook-signature", &message.signature)?;
    Ok(request)
}

fn set(headers: &mut HeaderMap, name: &'static str, value: &str) -> Result<(), String> {
    let value = HeaderValue::from_str(value).map_err(|_| format!("`{name}` has no legal value"))?;
    headers.insert(name, value);
    Ok(())
}

async fn read(answer: Response<Incoming>, secrets: &[(String, String)], tried: &mut Try) {
    let status = answer.status();
    tried.attempt.status_code = Some(i32::from(status.as_u16()));
    let header = answer.headers().get(header::RETRY_AFTER);
    let header = header.and_then(|value| value.to_str().ok());
    tried.retry_after = header.and_then(|header| retry_after(header, Timestamp::now()));
    if !status.is_success() {
        tried.attempt.error = if status.is_redirection() {
            format!("answered {status}; redirects are not followed")
        } else {
            format!("answered {status}")
        };
    }
    // A secret that is cut in two would not be found.
    let longest = secrets.iter().map(|(_, secret)| secret.len()).max();
    let wanted = REMEMBERED + longest.unwrap_or_default();
    let (mut body, mut beginning) = (answer.into_body(), Vec::new());
    while beginning.len() < wanted {
        // What breaks off has been answered all the same.
        let Some(Ok(frame)) = body.frame().await else {
            break;
        };
        if let Some(data) = frame.data_ref() {
            let room = wanted - beginning.len();
            beginning.extend_from_slice(&data[..data.len().min(room)]);
        }
    }
    tried.attempt.response = without(secrets, &String::from_utf8_lossy(&beginning));
}

/// As much of an answer as is remembered. Some receivers send back what they were sent, and headers are secrets.
fn without(secrets: &[(String, String)], answer: &str) -> String {
    /// What is shorter is no secret, and in every text.
    const SHORTEST: usize = 4;
    let mut shown = answer.to_owned();
    for (_, secret) in secrets.iter().filter(|(_, secret)| secret.len() >= SHORTEST) {
        shown = shown.replace(secret.as_str(), "••••");
    }
    let mut end = shown.len().min(REMEMBERED);
    while !shown.is_char_boundary(end) {
        end -= 1;
    }
    shown[..end].trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_remembered_without_the_secrets_it_repeats() {
        let secrets = [
            ("x-api-key".to_owned(), "k3y-of-mine".to_owned()),
            ("x-a".to_owned(), "1".to_owned()),
        ];
        assert_eq!(
            without(
                &secrets,
                " {\"headers\": {\"x-api-key\": \"k3y-of-mine\", \"n\": 1}}\n"
            ),
            "{\"headers\": {\"x-api-key\": \"••••\", \"n\": 1}}"
        );
        // Also where it begins before the end of what is remembered, and ends behind it.
        let long = format!("{}k3y-of-mine", "é".repeat(REMEMBERED / 2 - 2));
        let shown = without(&secrets, &long);
        assert!(shown.len() <= REMEMBERED && !shown.contains("k3y"), "{shown}");
    }
}
