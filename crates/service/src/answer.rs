//! What goes back: JSON, text, nothing, a problem, or a stream of events.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use serde_json::Value;
use std::convert::Infallible;

use crate::{audit::Begun, etag, problem::Problem};

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// An answer before it is sent.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(HeaderName, String)>,
    pub(crate) content: Content,
    /// What was changed, for the audit log.
    pub(crate) change: Option<(Begun, Change)>,
}

pub(crate) enum Content {
    Nothing,
    Json(Value),
    /// JSON that is written already.
    Written(Bytes, &'static str),
    Events(BoxStream<'static, Bytes>),
}

/// Something that was changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Change {
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Hashes of what it was and has become.
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, content: Content) -> Self {
        Self {
            status,
            headers: Vec::new(),
            content,
            change: None,
        }
    }

    pub(crate) fn json(value: Value) -> Self {
        Self::new(StatusCode::OK, Content::Json(value))
    }

    pub(crate) fn text(text: impl Into<Bytes>) -> Self {
        Self::new(
            StatusCode::OK,
            Content::Written(text.into(), "text/plain; charset=utf-8"),
        )
    }

    pub(crate) fn nothing(status: StatusCode) -> Self {
        Self::new(status, Content::Nothing)
    }

    pub(crate) fn events(stream: BoxStream<'static, Bytes>) -> Self {
        Self::new(StatusCode::OK, Content::Events(stream))
    }

    pub(crate) fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn version(self, version: &str) -> Self {
        self.header(header::ETAG, etag::tag(version))
    }

    pub(crate) fn location(self, path: String) -> Self {
        self.header(header::LOCATION, path)
    }

    pub(crate) fn changed(mut self, begun: Begun, change: Change) -> Self {
        self.change = Some((begun, change));
        self
    }

    pub(crate) fn problem(problem: &Problem, path: &str, request_id: &str) -> Self {
        let body = problem.json(path, request_id).to_string();
        let mut answer = Self::new(
            problem.status(),
            Content::Written(body.into(), "application/problem+json"),
        );
        if let Some(seconds) = problem.retry_after {
            answer = answer.header(header::RETRY_AFTER, seconds.to_string());
        }
        if problem.status() == StatusCode::UNAUTHORIZED {
            answer = answer.header(header::WWW_AUTHENTICATE, "Bearer realm=\"trainyard\"");
        }
        answer
    }

    pub(crate) fn into_response(self, request_id: &str) -> Response<Body> {
        let (body, form) = match self.content {
            Content::Nothing => (whole(Bytes::new()), None),
            Content::Json(value) => (whole(value.to_string().into()), Some("application/json")),
            Content::Written(bytes, form) => (whole(bytes), Some(form)),
            Content::Events(stream) => {
                let frames = stream.map(|bytes| Ok::<_, Infallible>(Frame::data(bytes)));
                (StreamBody::new(frames).boxed_unsync(), Some("text/event-stream"))
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        for (name, value) in self.headers {
            // Names in paths are escaped, so that every value is a legal one.
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        if let Some(form) = form {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(form));
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        if let Ok(id) = HeaderValue::from_str(request_id) {
            headers.insert(HeaderName::from_static("x-request-id"), id);
        }
        response
    }
}

fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).boxed_unsync()
}
