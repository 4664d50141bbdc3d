//! Probes by HTTP: any answer from 200 to 399 is good. Certificates are not looked at, and redirections
//! are followed as long as they stay on the host.

mod tls;

use std::{io, time::Duration};

use ::http::{HeaderName, HeaderValue, Request, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Collected, Empty, Limited};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use super::{check::HttpGet, reach::Reach, tcp, verdict::Verdict};

const MAX_REDIRECTIONS: usize = 10;
const MAX_BODY: usize = 10 << 10;

/// Asks once. `pod` is the pod's address.
pub async fn get(reach: &impl Reach, get: &HttpGet, pod: &str, limit: Duration) -> Verdict {
    let first = Place::of(get, pod);
    match timeout(limit, follow(reach, get, first.clone())).await {
        Ok(verdict) => verdict,
        Err(_) => first.failed("context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
    }
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    is_encrypted: bool,
    /// Nothing for the pod itself.
    dialled: Option<String>,
    host: String,
    port: u16,
    path: String,
}

impl Place {
    fn of(get: &HttpGet, pod: &str) -> Self {
        Self {
            is_encrypted: get.is_encrypted,
            dialled: get.host.clone(),
            host: get.host.clone().unwrap_or_else(|| pod.to_owned()),
            port: get.port,
            path: get.path.clone(),
        }
    }

    fn address(&self) -> String {
        tcp::address(&self.host, self.port)
    }

    fn failed(&self, reason: &str) -> Verdict {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        Verdict::Failed(format!(
            "Get \"{scheme}://{}{}\": {reason}",
            self.address(),
            self.path
        ))
    }

    /// Where a redirection leads; nothing if that is another host.
    fn redirected(&self, location: &str) -> Option<Self> {
        if !location.contains("://") {
            let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let path = if location.starts_with('/') {
                location.to_owned()
            } else {
                format!("{folder}/{location}")
            };
            return Some(Self { path, ..self.clone() });
        }
        let uri: Uri = location.parse().ok()?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let host = uri.host()?;
        let is_encrypted = uri.scheme_str() == Some("https");
        (host.trim_matches(['[', ']']) == self.host).then(|| Self {
            is_encrypted,
            port: uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 }),
            path: path.to_owned(),
            ..self.clone()
        })
    }
}

async fn follow(reach: &impl Reach, get: &HttpGet, first: Place) -> Verdict {
    let mut place = first.clone();
    for _ in 0..MAX_REDIRECTIONS {
        let answer = match ask(reach, get, &place).await {
            Ok(answer) => answer,
            Err(reason) => return place.failed(&reason),
        };
        let status = answer.status().as_u16();
        let is_redirection = matches!(status, 301 | 302 | 303 | 307 | 308);
        if !is_redirection {
            return verdict(answer).await;
        }
        let location = answer.headers().get(header::LOCATION);
        let Some(location) = location.and_then(|location| location.to_str().ok()) else {
            return place.failed(&format!("{status} response missing Location header"));
        };
        match place.redirected(location) {
            Some(next) => place = next,
            None => return verdict(answer).await,
        }
    }
    place.failed("stopped after 10 redirects")
}

async fn verdict(answer: ::http::Response<Incoming>) -> Verdict {
    let status = answer.status().as_u16();
    match status {
        200..300 => Verdict::Passed,
        300..400 => {
            // What does not fit or never comes is not worth a word more.
            let body = Limited::new(answer.into_body(), MAX_BODY).collect().await;
            let body = body.map(Collected::to_bytes).unwrap_or_default();
            let body = String::from_utf8_lossy(&body).into_owned();
            Verdict::Warned(format!("Probe terminated redirects, Response body: {body}"))
        }
        _ => Verdict::Failed(format!("HTTP probe failed with statuscode: {status}")),
    }
}

async fn ask(reach: &impl Reach, get: &HttpGet, place: &Place) -> Result<::http::Response<Incoming>, String> {
    let connected = reach.connect(place.dialled.as_deref(), place.port).await;
    let stream = connected.map_err(|error| tcp::refusal(&place.address(), &error))?;
    let request = request(get, place)?;
    if place.is_encrypted {
        let stream = tls::connect(stream, &place.host)
            .await
            .map_err(|error| error.to_string())?;
        exchange(stream, request).await
    } else {
        exchange(stream, request).await
    }
}

fn request(get: &HttpGet, place: &Place) -> Result<Request<Empty<Bytes>>, String> {
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = place
        .path
        .parse()
        .map_err(|_| format!("invalid path {}", place.path))?;
    let headers = request.headers_mut();
    for (name, value) in &get.headers {
        let name =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("invalid header name {name:?}"))?;
        let value = HeaderValue::from_str(value).map_err(|_| format!("invalid value of header {name:?}"))?;
        headers.append(name, value);
    }
    let default = |text: &str| HeaderValue::from_str(text).map_err(|_| format!("invalid host {text:?}"));
    headers.entry(header::HOST).or_insert(default(&place.address())?);
    headers
        .entry(header::USER_AGENT)
        .or_insert(default(get.user_agent)?);
    headers.entry(header::ACCEPT).or_insert(default("*/*")?);
    // An empty one is a wish for none.
    if headers.get(header::ACCEPT).is_some_and(HeaderValue::is_empty) {
        headers.remove(header::ACCEPT);
    }
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    Ok(request)
}

async fn exchange<S>(stream: S, request: Request<Empty<Bytes>>) -> Result<::http::Response<Incoming>, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut builder = http1::Builder::new();
    // Servers that look for the usual spelling are served.
    builder.title_case_headers(true);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(explain)?;
    // Ends with the answer's body.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    sender.send_request(request).await.map_err(explain)
}

fn explain(error: hyper::Error) -> String {
    if error.is_incomplete_message() || error.is_canceled() {
        return "EOF".to_owned();
    }
    let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>());
    match cause.map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionReset) => "read: connection reset by peer".to_owned(),
        Some(_) | None if error.is_parse() => {
            format!("net/http: HTTP/1.x transport connection broken: {error}")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
