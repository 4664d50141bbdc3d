//! The way to the API for everything that acts: counts requests, and lets nothing be changed by a process
//! that does not lead.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use http::{Method, Request, Response};
use kube::{Client, client::Body};
use tokio::sync::Semaphore;
use tower_service::Service;

use super::authority::Authority;
use crate::Metrics;

/// This process does not lead, or not any more.
#[derive(Debug, thiserror::Error)]
#[error("this operator does not lead")]
struct NotLeading;

/// So many changes may be under way at a time: enough to keep a server busy, and no more than its own limits
/// have room for.
const CHANGES: usize = 64;

#[derive(Clone)]
pub(crate) struct Guarded {
    client: Client,
    turns: Arc<Semaphore>,
    authority: Authority,
    metrics: Metrics,
}

/// A client that may change things while the authority holds.
pub(crate) fn guarded(client: &Client, authority: Authority, metrics: Metrics) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = Guarded {
        client: client.clone(),
        turns: Arc::new(Semaphore::new(CHANGES)),
        authority,
        metrics,
    };
    Client::new(service, namespace)
}

impl Service<Request<Body>> for Guarded {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, kube::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self {
            client,
            turns,
            authority,
            metrics,
        } = self.clone();
        Box::pin(async move {
            let method = request.method().clone();
            let mut _turn = None;
            if method != Method::GET {
                _turn = turns.acquire().await.ok();
                // After the wait: the end may have come meanwhile.
                if !authority.holds() {
                    return Err(kube::Error::Service(NotLeading.into()));
                }
            }
            let answer = client.send(request).await;
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            metrics.requested(method.as_str(), code);
            answer
        })
    }
}
