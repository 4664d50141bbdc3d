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

/// So many events are written at a time while half of those turns are taken: events tell of what was done, and
/// are not to hold up what is to be done. A busy server would take half of its writes for them.
const EVENTS: usize = 2;

#[derive(Clone)]
pub(crate) struct Guarded {
    client: Client,
    changes: Arc<Semaphore>,
    events: Arc<Semaphore>,
    authority: Authority,
    metrics: Metrics,
}

/// A client that may change things while the authority holds.
pub(crate) fn guarded(client: &Client, authority: Authority, metrics: Metrics) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = Guarded {
        client: client.clone(),
        changes: Arc::new(Semaphore::new(CHANGES)),
        events: Arc::new(Semaphore::new(EVENTS)),
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
            changes,
            events,
            authority,
            metrics,
        } = self.clone();
        Box::pin(async move {
            let method = request.method().clone();
            let mut _turn = None;
            if method != Method::GET {
                let is_busy = changes.available_permits() < CHANGES / 2;
                _turn = match (is_event(request.uri().path()), is_busy) {
                    (false, _) => changes.acquire_owned().await.ok(),
                    (true, true) => events.acquire_owned().await.ok(),
                    (true, false) => None,
                };
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

/// `/api/v1/namespaces/NAME/events`, or one of them.
fn is_event(path: &str) -> bool {
    path.split('/').nth(5) == Some("events")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_from_objects_that_are_called_so() {
        assert!(is_event("/api/v1/namespaces/team/events"));
        assert!(is_event("/api/v1/namespaces/team/events/j.17f0"));
        assert!(!is_event("/api/v1/namespaces/events/pods"));
        assert!(!is_event(
            "/apis/kubeflow.org/v1/namespaces/team/pytorchjobs/events"
        ));
    }
}
