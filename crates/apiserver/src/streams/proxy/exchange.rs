//! One request to a backend over a connection of its own.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use http::{HeaderMap, Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, BodyStream, StreamBody};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use node_api::Connection;
use rustls_pki_types::ServerName;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;

use super::location::Place;
use crate::{body::RequestBody, call::Call, response::Body};

/// How long a connection may take to come about.
const DIAL: Duration = Duration::from_secs(30);

pub(super) struct Outbound {
    pub method: Method,
    /// Path and query.
    pub target: String,
    pub headers: HeaderMap,
    pub body: RequestBody,
}

/// Sends the request; the answer's body is still to come.
pub(super) async fn send(place: &Place, outbound: Outbound) -> Result<Response<Incoming>, String> {
    let connection = timeout(DIAL, connect(place))
        .await
        .map_err(|_| format!("dial tcp {}: i/o timeout", place.address))??;
    let (mut sender, connection) = http1::handshake(TokioIo::new(connection))
        .await
        .map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        // It ends with the answer; what went wrong before that the sender has reported.
        let _ = connection.with_upgrades().await;
    });
    let mut request = Request::new(outbound.body);
    *request.method_mut() = outbound.method;
    *request.uri_mut() = outbound
        .target
        .parse()
        .map_err(|error: http::uri::InvalidUri| error.to_string())?;
    *request.headers_mut() = outbound.headers;
    sender.send_request(request).await.map_err(|error| {
        if error.is_incomplete_message() {
            "EOF".to_owned()
        } else {
            error.to_string()
        }
    })
}

async fn connect(place: &Place) -> Result<Connection, String> {
    let plain = dial(place).await?;
    if !place.tls {
        return Ok(plain);
    }
    let name = ServerName::from(place.address.ip());
    // Backends are found by their address, for which no certificate speaks: any is taken, as the real
    // server does.
    let config = unverified_tls::client_config().map_err(|error| error.to_string())?;
    let secured = TlsConnector::from(Arc::new(config))
        .connect(name, plain)
        .await
        .map_err(|error| error.to_string())?;
    Ok(Box::new(secured))
}

async fn dial(place: &Place) -> Result<Connection, String> {
    match &place.node {
        Some(node) => node.dial(place.address).await.map_err(|error| error.to_string()),
        None => match TcpStream::connect(place.address).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(dial_error(place.address, &error)),
        },
    }
}

fn dial_error(address: SocketAddr, error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    let why = match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused",
        ErrorKind::HostUnreachable => "no route to host",
        ErrorKind::NetworkUnreachable => "network is unreachable",
        _ => return format!("dial tcp {address}: {error}"),
    };
    format!("dial tcp {address}: connect: {why}")
}

/// A backend's body for a client. It ends where it breaks, or when the server stops.
pub(super) fn until_stopped(call: &Call, body: Incoming) -> Body {
    let api = call.api.clone();
    let frames = BodyStream::new(body)
        .take_while(|frame| std::future::ready(frame.is_ok()))
        .filter_map(|frame| std::future::ready(frame.ok()))
        .take_until(Box::pin(async move { api.stopping().await }));
    StreamBody::new(frames.map(Ok::<Frame<bytes::Bytes>, _>)).boxed_unsync()
}
