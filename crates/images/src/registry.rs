//! Asking a registry: requests with whatever it wants to know of us first, and where it sends us.

mod challenge;
mod connection;

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Incoming;
use rustls::ClientConfig;
use serde::Deserialize;

use self::challenge::Challenge;
use crate::{credentials::Credential, manifest::MAX_DOCUMENT, reference::Reference};

/// The forms a manifest may have.
const ACCEPTED: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, */*";
const MAX_REDIRECTS: usize = 10;
/// How long a registry may take to begin its answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// Why a registry did not give what was asked for. The words are containerd's where it has some.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("failed to do request: {method} \"{url}\": {reason}")]
    Request {
        method: String,
        url: String,
        reason: String,
    },
    #[error("{what}: not found")]
    NotFound { what: String },
    #[error(
        "pull access denied, repository does not exist or may require authorization: authorization failed: {reason}"
    )]
    Denied { reason: String },
    #[error("failed to authorize: failed to fetch token: {reason}")]
    Token { reason: String },
    #[error("unexpected status from {method} request to {url}: {status}{detail}")]
    Status {
        method: String,
        url: String,
        status: String,
        detail: String,
    },
    #[error("the answer to {url} broke off: {reason}")]
    Broken { url: String, reason: String },
    #[error("{url} sends us around in circles")]
    Redirects { url: String },
}

impl RegistryError {
    /// Whether the registry was never reached: there may be no network at all.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Request { .. })
    }
}

/// How registries are reached from here.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    tls: Result<Arc<ClientConfig>, String>,
    insecure: Vec<String>,
}

impl Network {
    /// `authorities` in PEM are trusted beside the system's.
    pub(crate) fn new(insecure: &[String], authorities: &[u8]) -> Self {
        Self {
            tls: verified_tls::client_config(authorities),
            insecure: insecure.to_vec(),
        }
    }

    /// Whether a host is spoken to without TLS.
    fn is_plain(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port),
            _ => (host, ""),
        };
        let address = name.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = name == "localhost"
            || address
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        let is_listed = self
            .insecure
            .iter()
            .any(|listed| listed == host || listed == name);
        is_listed || (is_loopback && port != "443")
    }
}

/// One repository, asked by somebody.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    network: Network,
    base: String,
    repository: String,
    credential: Option<Credential>,
    authorization: Arc<tokio::sync::Mutex<Option<String>>>,
}

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    token: String,
    #[serde(default)]
    access_token: String,
}

impl Session {
    pub(crate) fn new(network: &Network, reference: &Reference, credential: Option<Credential>) -> Self {
        let host = match reference.domain() {
            "docker.io" => "registry-1.docker.io",
            other => other,
        };
        let scheme = if network.is_plain(host) { "http" } else { "https" };
        Self {
            network: network.clone(),
            base: format!("{scheme}://{host}/v2/{}", reference.path()),
            repository: reference.path().to_owned(),
            credential,
            authorization: Arc::default(),
        }
    }

    /// The manifest of a tag or digest.
    pub(crate) async fn manifest(&self, version: &str) -> Result<Bytes, RegistryError> {
        let url = format!("{}/manifests/{version}", self.base);
        let answer = self.get(&url, Some(ACCEPTED), 0).await?;
        read(&url, answer).await
    }

    /// A blob from a byte on; whether the registry began there is told by the status.
    pub(crate) async fn blob(&self, digest: &str, from: u64) -> Result<Response<Incoming>, RegistryError> {
        self.get(&format!("{}/blobs/{digest}", self.base), None, from)
            .await
    }

    /// A small blob as a whole.
    pub(crate) async fn document(&self, digest: &str) -> Result<Bytes, RegistryError> {
        let answer = self.blob(digest, 0).await?;
        read(digest, answer).await
    }

    async fn get(
        &self,
        url: &str,
        accept: Option<&str>,
        from: u64,
    ) -> Result<Response<Incoming>, RegistryError> {
        let authorization = self.authorization.lock().await.clone();
        let answer = self.follow(url, accept, from, authorization.clone()).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return accepted(url, answer).await;
        }
        let challenges = challenge::parse(answer.headers());
        let authorization = self.authorize(&challenges, authorization).await?;
        let answer = self.follow(url, accept, from, Some(authorization)).await?;
        accepted(url, answer).await
    }

    /// Goes where it is sent. What we said to the registry is for nobody else.
    async fn follow(
        &self,
        url: &str,
        accept: Option<&str>,
        from: u64,
        mut authorization: Option<String>,
    ) -> Result<Response<Incoming>, RegistryError> {
        let mut place = parse_url(url)?;
        for _ in 0..MAX_REDIRECTS {
            let mut request = Request::builder().method(Method::GET);
            if let Some(accept) = accept {
                request = request.header(header::ACCEPT, accept);
            }
            if from > 0 {
                request = request.header(header::RANGE, format!("bytes={from}-"));
            }
            if let Some(authorization) = &authorization {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            let answer = self.network.send(&place, request).await?;
            if !answer.status().is_redirection() {
                return Ok(answer);
            }
            let location = answer.headers().get(header::LOCATION);
            let Some(location) = location.and_then(|location| location.to_str().ok()) else {
                return Ok(answer);
            };
            let next = parse_url(&absolute(&place, location))?;
            if next.authority() != place.authority() || next.scheme() != place.scheme() {
                authorization = None;
            }
            place = next;
        }
        Err(RegistryError::Redirects { url: url.to_owned() })
    }

    /// Finds out what to say to a registry that asked who we are. Others may have found out meanwhile.
    async fn authorize(
        &self,
        challenges: &[Challenge],
        refused: Option<String>,
    ) -> Result<String, RegistryError> {
        let mut known = self.authorization.lock().await;
        if let Some(known) = known.as_ref()
            && Some(known) != refused.as_ref()
        {
            return Ok(known.clone());
        }
        let bearer = challenges.iter().find(|challenge| challenge.scheme == "bearer");
        let basic = challenges.iter().any(|challenge| challenge.scheme == "basic");
        let authorization = match (bearer, &self.credential) {
            (Some(bearer), _) => format!("Bearer {}", self.token(bearer).await?),
            (None, Some(credential)) if basic => basic_authorization(credential),
            (None, _) => {
                let reason = "no basic auth credentials".to_owned();
                return Err(RegistryError::Denied { reason });
            }
        };
        if Some(&authorization) == refused.as_ref() {
            let reason = "the registry refuses the credentials".to_owned();
            return Err(RegistryError::Denied { reason });
        }
        *known = Some(authorization.clone());
        Ok(authorization)
    }

    async fn token(&self, challenge: &Challenge) -> Result<String, RegistryError> {
        let failed = |reason: String| RegistryError::Token { reason };
        let realm = challenge
            .get("realm")
            .ok_or_else(|| failed("no realm specified for token auth challenge".to_owned()))?;
        let url = token_url(realm, challenge, &self.repository);
        let place = parse_url(&url)?;
        let mut request = Request::builder().method(Method::GET);
        if let Some(credential) = &self.credential {
            if place.scheme_str() == Some("http") && self.base.starts_with("https:") {
                return Err(failed(format!("`{realm}` is not encrypted")));
            }
            request = request.header(header::AUTHORIZATION, basic_authorization(credential));
        }
        let answer = self.network.send(&place, request).await?;
        let status = answer.status();
        if status != StatusCode::OK {
            return Err(failed(format!(
                "unexpected status from GET request to {url}: {}",
                shown(status)
            )));
        }
        let body = read(&url, answer).await?;
        let token: Token = serde_json::from_slice(&body).map_err(|error| failed(error.to_string()))?;
        let token = if token.token.is_empty() {
            token.access_token
        } else {
            token.token
        };
        if token.is_empty() {
            return Err(failed(
                "authorization server did not include a token in the response".to_owned(),
            ));
        }
        Ok(token)
    }
}

impl Network {
    async fn send(
        &self,
        url: &Uri,
        request: http::request::Builder,
    ) -> Result<Response<Incoming>, RegistryError> {
        let failed = |reason: String| RegistryError::Request {
            method: "Get".to_owned(),
            url: url.to_string(),
            reason,
        };
        let path = url.path_and_query().map_or("/", |path| path.as_str());
        let host = url.authority().map_or("", |authority| authority.as_str());
        let request = request
            .uri(path)
            .header(header::HOST, host)
            .header(
                header::USER_AGENT,
                concat!("trainyard/", env!("CARGO_PKG_VERSION")),
            )
            .body(Empty::<Bytes>::new())
            .map_err(|error| failed(error.to_string()))?;
        let exchange = async {
            let mut sender = connection::open(url, &self.tls).await?;
            sender
                .send_request(request)
                .await
                .map_err(|error| error.to_string())
        };
        match tokio::time::timeout(PATIENCE, exchange).await {
            Ok(answer) => answer.map_err(failed),
            Err(_) => Err(failed("context deadline exceeded".to_owned())),
        }
    }
}

/// Where to ask for a token that may pull from a repository.
fn token_url(realm: &str, challenge: &Challenge, repository: &str) -> String {
    let own_scope = format!("repository:{repository}:pull");
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("scope", challenge.get("scope").unwrap_or(&own_scope));
    if let Some(service) = challenge.get("service") {
        query.append_pair("service", service);
    }
    let separator = if realm.contains('?') { '&' } else { '?' };
    format!("{realm}{separator}{}", query.finish())
}

fn basic_authorization(credential: &Credential) -> String {
    let text = format!("{}:{}", credential.username, credential.password);
    format!("Basic {}", BASE64_STANDARD.encode(text))
}

/// The answer, if it is what was asked for.
async fn accepted(url: &str, answer: Response<Incoming>) -> Result<Response<Incoming>, RegistryError> {
    let status = answer.status();
    match status {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(answer),
        StatusCode::NOT_FOUND => Err(RegistryError::NotFound { what: url.to_owned() }),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let reason = format!("{}{}", shown(status), server_message(answer).await);
            Err(RegistryError::Denied { reason })
        }
        _ => Err(RegistryError::Status {
            method: "GET".to_owned(),
            url: url.to_owned(),
            status: shown(status),
            detail: server_message(answer).await,
        }),
    }
}

/// What the registry says about it: `{"errors":[{"message":…}]}`.
async fn server_message(answer: Response<Incoming>) -> String {
    #[derive(Deserialize)]
    struct Errors {
        errors: Vec<Message>,
    }
    #[derive(Deserialize)]
    struct Message {
        #[serde(default)]
        message: String,
    }
    let body = Limited::new(answer.into_body(), 64 << 10).collect().await;
    let Ok(body) = body else { return String::new() };
    match serde_json::from_slice::<Errors>(&body.to_bytes()) {
        Ok(errors) => errors
            .errors
            .first()
            .map(|error| format!(": server message: {}", error.message))
            .unwrap_or_default(),
        Err(_) => String::new(),
    }
}

async fn read(url: &str, answer: Response<Incoming>) -> Result<Bytes, RegistryError> {
    let body = Limited::new(answer.into_body(), MAX_DOCUMENT as usize).collect();
    let broken = |reason: String| RegistryError::Broken {
        url: url.to_owned(),
        reason,
    };
    match tokio::time::timeout(PATIENCE, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) => Err(broken(error.to_string())),
        Err(_) => Err(broken("no data for a minute".to_owned())),
    }
}

fn parse_url(url: &str) -> Result<Uri, RegistryError> {
    let place: Result<Uri, _> = url.parse();
    match place {
        Ok(place) if matches!(place.scheme_str(), Some("http" | "https")) => Ok(place),
        _ => Err(RegistryError::Request {
            method: "Get".to_owned(),
            url: url.to_owned(),
            reason: "this is no address of the web".to_owned(),
        }),
    }
}

/// Where a redirect from `place` leads.
fn absolute(place: &Uri, location: &str) -> String {
    if location.contains("://") {
        return location.to_owned();
    }
    let scheme = place.scheme_str().unwrap_or("https");
    let authority = place.authority().map_or("", |authority| authority.as_str());
    if let Some(elsewhere) = location.strip_prefix("//") {
        return format!("{scheme}://{elsewhere}");
    }
    if location.starts_with('/') {
        return format!("{scheme}://{authority}{location}");
    }
    let folder = place.path().rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{scheme}://{authority}{folder}/{location}")
}

fn shown(status: StatusCode) -> String {
    format!(
        "{} {}",
        status.as_u16(),
        status.canonical_reason().unwrap_or_default()
    )
    .trim_end()
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_listed_registries_are_spoken_to_without_tls() {
        let network = Network::new(&["build:5000".to_owned(), "lab".to_owned()], b"");
        for host in [
            "127.0.0.1:5000",
            "localhost:5000",
            "[::1]:5000",
            "build:5000",
            "lab:80",
        ] {
            assert!(network.is_plain(host), "{host}");
        }
        for host in [
            "example.com",
            "build:5001",
            "10.0.0.1:5000",
            "localhost:443",
            "::1.evil.io",
        ] {
            assert!(!network.is_plain(host), "{host}");
        }
    }

    #[test]
    fn redirects_may_be_relative() {
        let place: Uri = "https://a.io/v2/x/blobs/1".parse().unwrap();
        assert_eq!(absolute(&place, "/cdn/1"), "https://a.io/cdn/1");
        assert_eq!(absolute(&place, "2"), "https://a.io/v2/x/blobs/2");
        assert_eq!(absolute(&place, "//b.io/1"), "https://b.io/1");
        assert_eq!(absolute(&place, "http://c.io/1"), "http://c.io/1");
    }
}
