//! The task service as these commands need it: JSON in, JSON out, and streams of events.

use anyhow::{Context as _, Result, anyhow};
use futures_util::{Stream, StreamExt as _};
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::{Client, Config, client::Body};
use serde_json::Value;

use super::{
    events::{self, Event},
    problem::Problem,
};
use crate::advised;

/// A client of one service.
#[derive(Clone)]
pub(super) struct Rest {
    client: Client,
    address: String,
    namespace: Option<String>,
}

/// An answer, and the headers it came with.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

impl Answer {
    pub(super) fn etag(&self) -> &str {
        self.headers
            .get(header::ETAG)
            .and_then(|value| value.to_str().ok())
            .unwrap_or("*")
    }
}

impl Rest {
    pub(super) fn new(address: &str, token: String, namespace: Option<String>) -> Result<Self> {
        let address = address.trim_end_matches('/').to_owned();
        let unusable = || format!("`{address}` is no address of a task service");
        let mut config = Config::new(address.parse().with_context(unusable)?);
        config.auth_info.token = Some(token.into());
        config.default_retry = false;
        // Streams of events last as long as their tasks.
        config.read_timeout = None;
        let client = Client::try_from(config).with_context(unusable)?;
        Ok(Self {
            client,
            address,
            namespace,
        })
    }

    pub(super) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Answer> {
        self.ask(Method::GET, path, query, &[], None).await
    }

    /// What may not be there.
    pub(super) async fn find(&self, path: &str, query: &[(&str, &str)]) -> Result<Option<Answer>> {
        match self.get(path, query).await {
            Err(error)
                if error
                    .downcast_ref::<Problem>()
                    .is_some_and(|problem| problem.status() == 404) =>
            {
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Every item of a list, page by page, or the first so many.
    pub(super) async fn list(
        &self,
        path: &str,
        query: &[(&str, &str)],
        most: Option<usize>,
    ) -> Result<Vec<Value>> {
        let mut items: Vec<Value> = Vec::new();
        let mut cursor = String::new();
        loop {
            let left = most.map_or(500, |most| (most - items.len()).min(500)).to_string();
            let mut query = query.to_vec();
            query.push(("limit", &left));
            if !cursor.is_empty() {
                query.push(("cursor", &cursor));
            }
            let mut page = self.get(path, &query).await?.body;
            if let Value::Array(more) = page["items"].take() {
                items.extend(more);
            }
            match page["next_cursor"].as_str() {
                Some(next) if most.is_none_or(|most| items.len() < most) => next.clone_into(&mut cursor),
                _ => return Ok(items),
            }
        }
    }

    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        headers: &[(header::HeaderName, &str)],
        body: Option<&Value>,
    ) -> Result<Answer> {
        let request = self.request(method, path, query, headers, body)?;
        let response = self
            .client
            .send(request)
            .await
            .map_err(|error| self.unreachable(error))?;
        let (head, body) = response.into_parts();
        let bytes = body
            .collect()
            .await
            .map_err(|error| self.unreachable(error))?
            .to_bytes();
        if head.status.is_success() || head.status == StatusCode::NOT_MODIFIED {
            let body = if bytes.is_empty() {
                Value::Null
            } else {
                match serde_json::from_slice(&bytes) {
                    Ok(body) => body,
                    Err(_) => Value::String(String::from_utf8_lossy(&bytes).into_owned()),
                }
            };
            return Ok(Answer {
                status: head.status,
                headers: head.headers,
                body,
            });
        }
        Err(self.refused(head.status, &bytes))
    }

    /// Creates something, or replaces what there is of it; the answer, and which.
    pub(super) async fn store(
        &self,
        folder: &str,
        known: Option<Answer>,
        body: &Value,
        is_dry: bool,
    ) -> Result<(Value, String)> {
        let query: &[(&str, &str)] = if is_dry { &[("dryRun", "true")] } else { &[] };
        let (answer, done) = match known {
            None => (
                self.ask(Method::POST, folder, query, &[], Some(body)).await?,
                "created",
            ),
            Some(known) => {
                let name = known.body["name"].as_str().unwrap_or_default();
                let path = format!("{folder}/{}", escaped(name));
                let headers = [(header::IF_MATCH, known.etag())];
                (
                    self.ask(Method::PUT, &path, query, &headers, Some(body)).await?,
                    "changed",
                )
            }
        };
        let done = if is_dry {
            format!("would be {done}")
        } else {
            done.to_owned()
        };
        Ok((answer.body, done))
    }

    /// An answer that is text.
    pub(super) async fn text(&self, path: &str, query: &[(&str, &str)]) -> Result<String> {
        let headers = [(header::ACCEPT, "text/plain")];
        let request = self.request(Method::GET, path, query, &headers, None)?;
        let response = self
            .client
            .send(request)
            .await
            .map_err(|error| self.unreachable(error))?;
        let (head, body) = response.into_parts();
        let bytes = body
            .collect()
            .await
            .map_err(|error| self.unreachable(error))?
            .to_bytes();
        if !head.status.is_success() {
            return Err(self.refused(head.status, &bytes));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The events of a stream, from after an id on.
    pub(super) async fn stream(
        &self,
        path: &str,
        query: &[(&str, &str)],
        after: &str,
    ) -> Result<impl Stream<Item = Result<Event>> + Send + use<>> {
        let mut headers = vec![(header::ACCEPT, "text/event-stream")];
        let last = header::HeaderName::from_static("last-event-id");
        if !after.is_empty() {
            headers.push((last, after));
        }
        let request = self.request(Method::GET, path, query, &headers, None)?;
        let response = self
            .client
            .send(request)
            .await
            .map_err(|error| self.unreachable(error))?;
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            let bytes = body
                .collect()
                .await
                .map_err(|error| self.unreachable(error))?
                .to_bytes();
            return Err(self.refused(head.status, &bytes));
        }
        let address = self.address.clone();
        let pieces = body.into_data_stream().map(move |piece| {
            piece.map_err(|error| anyhow!("the task service at {address} broke off: {error}"))
        });
        Ok(events::read(pieces))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        headers: &[(header::HeaderName, &str)],
        body: Option<&Value>,
    ) -> Result<Request<Body>> {
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        if let Some(namespace) = &self.namespace
            && !query.iter().any(|(name, _)| *name == "namespace")
            && is_namespaced(path)
        {
            pairs.append_pair("namespace", namespace);
        }
        let query = pairs.extend_pairs(query).finish();
        let mut request = Request::builder().method(method).uri(format!("{path}?{query}"));
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string().into_bytes())
            }
            None => Body::empty(),
        };
        request.body(body).context("the request cannot be written")
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> anyhow::Error {
        match serde_json::from_slice::<Value>(body) {
            Ok(problem) if problem["code"].is_string() => Problem::new(problem).into(),
            _ => anyhow!("{} is no task service: it answered {status}", self.address),
        }
    }

    fn unreachable(&self, error: impl std::error::Error) -> anyhow::Error {
        let mut why: &dyn std::error::Error = &error;
        while let Some(source) = why.source() {
            why = source;
        }
        advised(
            format!("the task service at {} cannot be reached: {why}", self.address),
            "see with `trainyard status` whether it runs",
        )
    }
}

/// Whether what is at a path belongs to a namespace.
fn is_namespaced(path: &str) -> bool {
    (!path.starts_with("/v1/templates") || path.ends_with("/render"))
        && !path.starts_with("/v1/node-groups")
        && !path.starts_with("/v1/whoami")
        && !path.starts_with("/v1/tokens/")
}

/// A name as a part of a path.
pub(super) fn escaped(name: &str) -> String {
    form_urlencoded::byte_serialize(name.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}
