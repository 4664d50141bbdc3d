//! The Kubernetes API as these commands need it: objects are JSON, whatever their kind.

mod busy;
#[cfg(test)]
pub(crate) mod scripted;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{AsyncBufRead, Stream, StreamExt as _};
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::{Client, client::Body, core::Status};
use serde_json::Value;
use tokio::time::sleep;

/// What a watch tells.
pub(crate) type Event = kube::core::WatchEvent<Value>;

/// How long a watch is asked to last. Servers end them anyway; ended by both, none is half-open for long.
const WATCH_SECONDS: u32 = 300;

/// A client of one cluster.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    address: String,
    /// Seconds that the cluster has asked to wait so far; clones wait together.
    waited: Arc<AtomicU64>,
}

/// Why a request has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("{message}")]
    Refused {
        code: u16,
        reason: String,
        message: String,
    },
    #[error("the cluster at {address} cannot be reached: {why}")]
    Unreachable { address: String, why: String },
    #[error("the answer of the cluster cannot be read: {0}")]
    Unreadable(String),
}

impl ApiError {
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// Whether the same request may be answered in a moment: nobody is there, or somebody who is just
    /// starting and does not know everything yet.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Refused { code, .. } => matches!(code, 404 | 410 | 429 | 500..),
            Self::Unreachable { .. } => true,
            Self::Unreadable(_) => false,
        }
    }

    pub(crate) fn refused(status: &Status) -> Self {
        Self::Refused {
            code: status.code,
            reason: status.reason.clone(),
            message: status.message.clone(),
        }
    }

    pub(crate) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { code: 403, .. })
    }

    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { code: 409, .. })
    }
}

type Answer<T> = Result<T, ApiError>;

impl Api {
    pub(crate) fn new(client: Client, address: String) -> Self {
        Self {
            client,
            address,
            waited: Arc::default(),
        }
    }

    /// Where the cluster is.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) async fn get(&self, path: &str) -> Answer<Value> {
        self.ask(Method::GET, path, None, "").await
    }

    /// What may not be there.
    pub(crate) async fn find(&self, path: &str) -> Answer<Option<Value>> {
        match self.get(path).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The items of a list; none where the cluster does not know the kind.
    pub(crate) async fn list(&self, path: &str) -> Answer<Option<Vec<Value>>> {
        let list = self.find(path).await?;
        Ok(list.map(|mut list| match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        }))
    }

    pub(crate) async fn create(&self, path: &str, object: &Value) -> Answer<Value> {
        self.ask(Method::POST, path, Some(object), "application/json")
            .await
    }

    /// The whole object, if it is still of the version it names.
    pub(crate) async fn replace(&self, path: &str, object: &Value) -> Answer<Value> {
        self.ask(Method::PUT, path, Some(object), "application/json")
            .await
    }

    pub(crate) async fn merge(&self, path: &str, change: &Value) -> Answer<Value> {
        self.ask(Method::PATCH, path, Some(change), "application/merge-patch+json")
            .await
    }

    /// Server-side apply: what the object says becomes so, and belongs to whom the path names.
    pub(crate) async fn apply(&self, path: &str, object: &Value) -> Answer<Value> {
        self.ask(Method::PATCH, path, Some(object), "application/apply-patch+yaml")
            .await
    }

    pub(crate) async fn delete(&self, path: &str, options: &Value) -> Answer<Value> {
        self.ask(Method::DELETE, path, Some(options), "application/json")
            .await
    }

    pub(crate) async fn text(&self, path: &str) -> Answer<String> {
        let request = request(Method::GET, path, None, "")?;
        let answer = self.client.request_text(request).await;
        answer.map_err(|error| self.explain(error))
    }

    /// An answer that is read while it is given.
    pub(crate) async fn stream(&self, path: &str) -> Answer<impl AsyncBufRead + Send + use<>> {
        let request = request(Method::GET, path, None, "")?;
        let answer = self.client.request_stream(request).await;
        answer.map_err(|error| self.explain(error))
    }

    /// The changes of a list since a version, until one of both sides ends it.
    pub(crate) async fn watch(
        &self,
        list: &str,
        version: &str,
    ) -> Answer<impl Stream<Item = Answer<Event>> + Send + use<>> {
        let joint = if list.contains('?') { '&' } else { '?' };
        let path = format!(
            "{list}{joint}watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&resourceVersion={}",
            escaped(version)
        );
        let request = request(Method::GET, &path, None, "")?;
        let events = self.client.request_events(request).await;
        let api = self.clone();
        let events = events.map_err(|error| self.explain(error))?;
        Ok(events.map(move |event| event.map_err(|error| api.explain(error))))
    }

    /// Asks until the cluster has the time to answer: whatever the request, nothing was done before.
    async fn ask(&self, method: Method, path: &str, body: Option<&Value>, form: &str) -> Answer<Value> {
        loop {
            let request = request(method.clone(), path, body, form)?.map(Body::from);
            let answer = self.client.send(request).await;
            let (head, body) = answer.map_err(|error| self.explain(error))?.into_parts();
            let bytes = body.collect().await.map_err(|error| self.explain(error))?;
            let bytes = bytes.to_bytes();
            let waited = Duration::from_secs(self.waited.load(Ordering::Relaxed));
            if head.status == StatusCode::TOO_MANY_REQUESTS
                && let Some(pause) = busy::pause(&head.headers, &bytes, waited)
            {
                tracing::debug!(path, ?pause, "the cluster is busy");
                self.waited.fetch_add(pause.as_secs(), Ordering::Relaxed);
                sleep(pause).await;
                continue;
            }
            return read(head.status, &bytes);
        }
    }

    fn explain(&self, error: kube::Error) -> ApiError {
        match error {
            kube::Error::Api(status) => ApiError::refused(&status),
            kube::Error::SerdeError(error) => ApiError::Unreadable(error.to_string()),
            other => {
                // The innermost cause is the one that people can do something about.
                let mut why: &dyn std::error::Error = &other;
                while let Some(source) = why.source() {
                    why = source;
                }
                ApiError::Unreachable {
                    address: self.address.clone(),
                    why: why.to_string(),
                }
            }
        }
    }
}

fn read(status: StatusCode, body: &[u8]) -> Answer<Value> {
    if status.is_success() {
        return serde_json::from_slice(body).map_err(|error| ApiError::Unreadable(error.to_string()));
    }
    // Not everybody who stands in for a cluster answers as one.
    let refused = serde_json::from_slice::<Status>(body)
        .ok()
        .filter(|status| status.code != 0);
    Err(refused.map_or_else(
        || ApiError::Refused {
            code: status.as_u16(),
            reason: String::new(),
            message: match String::from_utf8_lossy(body).trim() {
                "" => status.to_string(),
                text => text.to_owned(),
            },
        },
        |refused| ApiError::refused(&refused),
    ))
}

fn request(method: Method, path: &str, body: Option<&Value>, form: &str) -> Answer<Request<Vec<u8>>> {
    let mut request = Request::builder().method(method).uri(path);
    if !form.is_empty() {
        request = request.header(header::CONTENT_TYPE, form);
    }
    let body = body.map(|body| body.to_string().into_bytes());
    request
        .body(body.unwrap_or_default())
        .map_err(|error| ApiError::Unreadable(error.to_string()))
}

/// A part of a path or of a query, as it may stand there.
pub(crate) fn escaped(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
