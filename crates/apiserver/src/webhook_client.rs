//! Asking a webhook, be it about admission or conversion: one POST, one answer, within its time.

mod connection;
mod endpoint;
mod service;
mod trust;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use serde_json::Value;

pub(crate) use self::endpoint::Endpoint;
use self::{connection::Peer, endpoint::Place};
use crate::{
    api::Api,
    turns::{self, Crowded},
};

/// The largest answer that is read. A patch can be as large as an object, in base64.
const MAX_ANSWER: usize = 8 * 1024 * 1024;
const USER_AGENT: &str = "kube-apiserver-admission";

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The configuration does not say how to call.
    #[error("{0}")]
    Configuration(String),
    #[error("{0}")]
    Call(String),
    #[error(transparent)]
    Crowded(#[from] Crowded),
}

/// Sends a review and returns the answer.
pub(crate) async fn post(
    api: &Api,
    endpoint: &Endpoint,
    timeout: Duration,
    review: Vec<u8>,
) -> Result<Value, CallError> {
    if let Place::Nowhere(why) = &endpoint.place {
        return Err(CallError::Configuration(why.clone()));
    }
    let tls = endpoint
        .tls
        .as_ref()
        .map_err(|why| CallError::Configuration(why.clone()))?;
    let path = format!("{}?timeout={}s", endpoint.path, timeout.as_secs());
    let exchange = exchange(api, endpoint, tls, &path, review.into());
    let outcome = match turns::waiting(tokio::time::timeout(timeout, exchange)).await? {
        Ok(outcome) => outcome,
        Err(_) => Err("context deadline exceeded".to_owned()),
    };
    match outcome {
        Ok(answer) => read_answer(&answer).map_err(CallError::Call),
        Err(why) => Err(CallError::Call(format!(
            "Post \"https://{}{path}\": {why}",
            endpoint.authority()
        ))),
    }
}

async fn exchange(
    api: &Api,
    endpoint: &Endpoint,
    tls: &std::sync::Arc<rustls::ClientConfig>,
    path: &str,
    review: Bytes,
) -> Result<Response<Bytes>, String> {
    let peer = peer(api, endpoint)?;
    let server_name = endpoint.server_name();
    let authority = endpoint.authority();
    let mut connection = endpoint.pool.get(&peer, &server_name, tls).await?;
    let answer = match connection
        .sender
        .send_request(request(&authority, path, review.clone())?)
        .await
    {
        Ok(answer) => answer,
        // The webhook hung up on a connection it had kept open: that says nothing about it now.
        Err(_) if !connection.is_fresh => {
            connection = connection::open(&peer, &server_name, tls).await?;
            let again = request(&authority, path, review)?;
            connection
                .sender
                .send_request(again)
                .await
                .map_err(|error| broken(&error))?
        }
        Err(error) => return Err(broken(&error)),
    };
    let (parts, body) = answer.into_parts();
    let body = Limited::new(body, MAX_ANSWER).collect().await;
    let body = body.map_err(|error| format!("unexpected error when reading response body: {error}"))?;
    endpoint.pool.keep(connection);
    Ok(Response::from_parts(parts, body.to_bytes()))
}

/// Whom to connect to. What runs in a pod is reached through its node.
fn peer(api: &Api, endpoint: &Endpoint) -> Result<Peer, String> {
    let outside = |address| Peer { address, node: None };
    match &endpoint.place {
        Place::Host { host, port } if host.contains(':') => Ok(outside(format!("[{host}]:{port}"))),
        Place::Host { host, port } => Ok(outside(format!("{host}:{port}"))),
        Place::Service {
            namespace,
            name,
            port,
        } => {
            let backend = service::resolve(&api.store, namespace, name, *port)?;
            Ok(Peer {
                address: backend.address.to_string(),
                node: api.nodes.get(&backend.node).map(|node| (node, backend.address)),
            })
        }
        Place::Nowhere(why) => Err(why.clone()),
    }
}

fn request(authority: &str, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, String> {
    Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, authority)
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .header(header::ACCEPT, HeaderValue::from_static("application/json, */*"))
        .body(Full::new(body))
        .map_err(|error| error.to_string())
}

fn broken(error: &hyper::Error) -> String {
    if error.is_incomplete_message() {
        "EOF".to_owned()
    } else {
        error.to_string()
    }
}

fn read_answer(answer: &Response<Bytes>) -> Result<Value, String> {
    if !(200..=206).contains(&answer.status().as_u16()) {
        return Err(http_failure(answer.status(), is_text(answer), answer.body()));
    }
    manifests::json::parse(answer.body())
        .map(|parsed| parsed.value)
        .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))
}

/// Whether the body is for people. One that does not say what it is counts as text.
fn is_text(answer: &Response<Bytes>) -> bool {
    let content_type = answer.headers().get(header::CONTENT_TYPE);
    content_type.is_none_or(|value| value.as_bytes().starts_with(b"text/"))
}

/// What a failure over HTTP means, in the words of the real server's client.
fn http_failure(code: StatusCode, is_text: bool, body: &[u8]) -> String {
    let status: Value = serde_json::from_slice(body).unwrap_or_default();
    if status["kind"] == "Status" && status["message"].is_string() {
        return kinds::read::text(&status, "message").to_owned();
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(2048)]);
    let text = if is_text { text.trim() } else { "unknown" };
    match code {
        StatusCode::BAD_REQUEST => "the server rejected our request for an unknown reason".to_owned(),
        StatusCode::UNAUTHORIZED => "the server has asked for the client to provide credentials".to_owned(),
        StatusCode::FORBIDDEN => text.to_owned(),
        StatusCode::NOT_FOUND => "the server could not find the requested resource".to_owned(),
        StatusCode::METHOD_NOT_ALLOWED => {
            "the server does not allow this method on the requested resource".to_owned()
        }
        StatusCode::TOO_MANY_REQUESTS => {
            "the server has received too many requests and has asked us to try again later".to_owned()
        }
        StatusCode::SERVICE_UNAVAILABLE => "the server is currently unable to handle the request".to_owned(),
        StatusCode::GATEWAY_TIMEOUT => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
                .to_owned()
        }
        _ if code.is_server_error() => {
            format!(
                "an error on the server ({}) has prevented the request from succeeding",
                manifests::field::quoted(text)
            )
        }
        _ => format!(
            "the server responded with the status code {} but did not return more information",
            code.as_u16()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_over_http_are_told() {
        let failure =
            |code: u16, body: &str| http_failure(StatusCode::from_u16(code).unwrap(), true, body.as_bytes());
        assert_eq!(
            failure(404, "nope"),
            "the server could not find the requested resource"
        );
        assert_eq!(
            failure(500, "boom\n"),
            "an error on the server (\"boom\") has prevented the request from succeeding"
        );
        assert_eq!(
            failure(418, ""),
            "the server responded with the status code 418 but did not return more information"
        );
        assert_eq!(failure(500, r#"{"kind":"Status","message":"tired"}"#), "tired");
    }
}
