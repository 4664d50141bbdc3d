//! Requests on their way to a server of another make, and its answers on their way back.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use http::{HeaderMap, Request, Response, Uri, Version, header};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::sync::watch;

use super::supervisor::Phase;
use crate::{
    body::Answer,
    failure::{Code, Failure},
    grpc,
    proto::health::{HealthCheckResponse, NOT_SERVING, SERVING},
    rest,
};

/// Headers that are about a connection, not about what is said on it.
const OF_CONNECTIONS: [&str; 6] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

pub(crate) struct Relay {
    /// What people call the server.
    program: String,
    phase: watch::Receiver<Phase>,
    is_stopping: Arc<AtomicBool>,
    grpc: Client<HttpConnector, Incoming>,
    rest: Client<HttpConnector, Incoming>,
}

impl Relay {
    pub(super) fn new(program: &str, phase: watch::Receiver<Phase>, is_stopping: Arc<AtomicBool>) -> Self {
        let connector = || {
            let mut connector = HttpConnector::new();
            connector.set_nodelay(true);
            connector
        };
        Self {
            program: program.to_owned(),
            phase,
            is_stopping,
            grpc: Client::builder(TokioExecutor::new())
                .http2_only(true)
                .http2_adaptive_window(true)
                .build(connector()),
            rest: Client::builder(TokioExecutor::new()).build(connector()),
        }
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response<Answer> {
        match request.uri().path() {
            "/healthz" | "/livez" => rest::health(true),
            "/readyz" => rest::health(self.is_ready()),
            "/grpc.health.v1.Health/Check" => {
                let status = if self.is_ready() { SERVING } else { NOT_SERVING };
                grpc::respond(Ok(grpc::framed(&HealthCheckResponse { status })))
            }
            _ => self.relayed(request).await,
        }
    }

    fn is_ready(&self) -> bool {
        let is_there = matches!(*self.phase.borrow(), Phase::Ready(_));
        is_there && !self.is_stopping.load(Ordering::Relaxed)
    }

    async fn relayed(&self, request: Request<Incoming>) -> Response<Answer> {
        let is_grpc = grpc::is_meant(request.headers());
        let asked = self.ask(request, is_grpc).await;
        asked.unwrap_or_else(|failure| {
            if is_grpc {
                grpc::respond(Err(failure))
            } else {
                rest::refuse(&failure)
            }
        })
    }

    async fn ask(&self, request: Request<Incoming>, is_grpc: bool) -> Result<Response<Answer>, Failure> {
        let away = |why: String| Failure::new(Code::Unavailable, format!("`{}` {why}", self.program));
        let phase = self.phase.borrow().clone();
        let ports = match phase {
            Phase::Ready(ports) => ports,
            Phase::Starting => return Err(away("cannot be asked yet".to_owned())),
            Phase::Ended(how) => return Err(away(format!("{how} and is started again"))),
        };
        let (client, port, version) = if is_grpc {
            (&self.grpc, ports.grpc, Version::HTTP_2)
        } else {
            (&self.rest, ports.rest, Version::HTTP_11)
        };
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let uri: Result<Uri, _> = format!("http://127.0.0.1:{port}{path}").parse();
        parts.uri =
            uri.map_err(|error| Failure::invalid(format!("`{path}` cannot be asked for: {error}")))?;
        parts.version = version;
        parts.headers.remove(header::HOST);
        strip(&mut parts.headers);
        let response = client.request(Request::from_parts(parts, body)).await;
        let response = response.map_err(|error| away(format!("did not answer: {error}")))?;
        let (mut parts, body) = response.into_parts();
        parts.version = Version::HTTP_11;
        strip(&mut parts.headers);
        Ok(Response::from_parts(parts, Answer::Relayed(body)))
    }
}

fn strip(headers: &mut HeaderMap) {
    for name in OF_CONNECTIONS {
        headers.remove(name);
    }
}
