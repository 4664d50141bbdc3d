//! What monitoring and the kubelet ask a process: `/metrics`, `/healthz`, `/readyz`.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::RwLock;
use tokio::{net::TcpListener, task::JoinSet};

use crate::Metrics;

/// How far the process has come, for those who ask.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readiness {
    state: Arc<RwLock<State>>,
}

#[derive(Clone, Debug)]
pub(crate) enum State {
    /// Nothing can be expected of it yet, for this reason.
    NotReady(&'static str),
    /// It waits to take over.
    Standby,
    Leading,
}

impl Default for State {
    fn default() -> Self {
        Self::NotReady("starting")
    }
}

impl Readiness {
    pub(crate) fn set(&self, state: State) {
        *self.state.write() = state;
    }

    pub(crate) fn is_leading(&self) -> bool {
        matches!(*self.state.read(), State::Leading)
    }

    fn answer(&self) -> (StatusCode, String) {
        match &*self.state.read() {
            State::NotReady(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
            State::Standby => (StatusCode::OK, "ok: stands by\n".to_owned()),
            State::Leading => (StatusCode::OK, "ok: leads\n".to_owned()),
        }
    }
}

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct ListenError {
    pub address: SocketAddr,
    pub source: std::io::Error,
}

pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, ListenError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|source| ListenError { address, source })
}

/// Answers until it is dropped.
pub(crate) async fn serve(listener: TcpListener, metrics: Metrics, readiness: Readiness) {
    let mut connections = JoinSet::new();
    loop {
        // Errors of a connection that was given up before it was taken are nobody's business.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let (metrics, readiness) = (metrics.clone(), readiness.clone());
        let service = service_fn(move |request| {
            let answer = answer(&request, &metrics, &readiness);
            async move { Ok::<_, Infallible>(answer) }
        });
        connections.spawn(async move {
            // The builder's timer ends connections that say nothing.
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new());
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn answer(request: &Request<Incoming>, metrics: &Metrics, readiness: &Readiness) -> Response<Full<Bytes>> {
    let (status, text) = match request.uri().path() {
        "/metrics" => (StatusCode::OK, metrics.text()),
        "/healthz" | "/livez" => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => readiness.answer(),
        _ => (
            StatusCode::NOT_FOUND,
            "here are /metrics, /healthz and /readyz\n".to_owned(),
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let form = header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, form);
    response
}
