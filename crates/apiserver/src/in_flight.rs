//! How many requests are worked on at once. Beyond that clients are asked to come back: a flood costs
//! its sender time, and nobody else.

use http::{HeaderValue, StatusCode, header};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{
    authentication::User,
    limits::Limits,
    request_info::RequestInfo,
    response::{self, Answer},
};

pub(crate) struct InFlight {
    reads: Semaphore,
    writes: Semaphore,
}

/// The right to work on a request, given back when it is dropped.
pub(crate) struct Slot<'a>(#[expect(dead_code, reason = "held for its drop")] Option<SemaphorePermit<'a>>);

impl InFlight {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            reads: Semaphore::new(limits.reads),
            writes: Semaphore::new(limits.writes),
        }
    }

    /// A slot for a request, unless all are taken. Streams and health checks need none, and the
    /// cluster's masters always get an answer.
    pub(crate) fn enter(&self, user: &User, info: &RequestInfo) -> Option<Slot<'_>> {
        if info.is_long_running() || info.is_health_check() {
            return Some(Slot(None));
        }
        let slots = if info.is_write() {
            &self.writes
        } else {
            &self.reads
        };
        match slots.try_acquire() {
            Ok(permit) => Some(Slot(Some(permit))),
            Err(_) => user.is_master().then_some(Slot(None)),
        }
    }
}

/// What the real server says: plain text, which clients judge by its code.
pub(crate) fn too_many_requests() -> Answer {
    let mut answer = response::text(
        StatusCode::TOO_MANY_REQUESTS,
        "Too many requests, please try again later.\n",
    );
    let headers = answer.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    answer
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[test]
    fn each_kind_of_request_has_its_own_limit_and_streams_have_none() {
        let limits = Limits {
            reads: 1,
            writes: 1,
            ..Limits::default()
        };
        let (in_flight, user) = (InFlight::new(&limits), User::new("ada", &[]));
        let enter = |user: &User, method: Method, path: &str, watch: bool| {
            in_flight.enter(user, &RequestInfo::read(&method, path, watch))
        };
        let pods = "/api/v1/pods";
        let read = enter(&user, Method::GET, pods, false);
        assert!(read.is_some() && enter(&user, Method::GET, "/version", false).is_none());
        let write = enter(&user, Method::DELETE, pods, false);
        assert!(write.is_some() && enter(&user, Method::POST, pods, false).is_none());
        assert!(enter(&user, Method::GET, pods, true).is_some());
        assert!(enter(&user, Method::GET, "/readyz", false).is_some());
        assert!(enter(&User::admin(), Method::GET, pods, false).is_some());
        drop(read);
        assert!(enter(&user, Method::GET, pods, false).is_some());
    }
}
