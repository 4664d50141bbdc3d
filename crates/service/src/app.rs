//! One request, from its first header to its answer: found, identified, limited, checked, allowed, done, noted.

mod receiving;
mod staying;

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{StreamExt as _, future::join_all};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use serde_json::Value;
use templates::BuiltIn;
use tokio::sync::watch;

use self::staying::Stay;
use crate::{
    answer::{Answer, Body, Content},
    audit::Audit,
    checking::{Checks, Parameters, clipped},
    handlers,
    identity::{Doorkeeper, Identity},
    index::Index,
    objects::{Earnest, Objects},
    problem::{Code, Outcome, Problem},
    rate::{Buckets, Rate},
    roles::EVERYWHERE,
    routes::{self, Access, Match, Operation, Route},
    rows::{DefinitionForm, DeliveryForm, TaskForm, TemplateForm, TokenForm},
    streams::Streams,
};

/// Failed tries of one address.
const FAILURES: Rate = Rate {
    per_second: 5.0,
    burst: 50.0,
};

/// So long a request waits for the service to know the cluster, and the question whether it does.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
const READY_PATIENCE: Duration = Duration::from_millis(100);

/// Everything a request is answered with.
pub(crate) struct App {
    pub(crate) objects: Objects,
    pub(crate) doorkeeper: Doorkeeper,
    pub(crate) audit: Audit,
    pub(crate) templates: Index<TemplateForm>,
    pub(crate) definitions: Index<DefinitionForm>,
    pub(crate) tasks: Index<TaskForm>,
    pub(crate) deliveries: Index<DeliveryForm>,
    pub(crate) tokens: Index<TokenForm>,
    pub(crate) renderer: crate::rendering::Renderer,
    /// Where the service keeps what is its own.
    pub(crate) system_namespace: String,
    /// Where logs are that outlive their pods.
    pub(crate) logs: Option<PathBuf>,
    pub(crate) streams: Streams,
    routes: Vec<Route>,
    checks: Checks,
    document: Bytes,
    reads: Buckets,
    writes: Buckets,
    failures: Buckets,
    started: Instant,
    /// Whether everything that was there at the start is known.
    knows: AtomicBool,
    /// Whether the templates that come with the program have been there, where somebody brings them.
    has_templates: watch::Sender<bool>,
}

/// What an app is made of.
pub(crate) struct Parts {
    pub(crate) objects: Objects,
    pub(crate) audit: Audit,
    pub(crate) templates: Index<TemplateForm>,
    pub(crate) definitions: Index<DefinitionForm>,
    pub(crate) tasks: Index<TaskForm>,
    pub(crate) deliveries: Index<DeliveryForm>,
    pub(crate) tokens: Index<TokenForm>,
    pub(crate) renderer: crate::rendering::Renderer,
    pub(crate) system_namespace: String,
    pub(crate) logs: Option<PathBuf>,
    pub(crate) reads: Rate,
    pub(crate) writes: Rate,
}

/// A request that may be done.
pub(crate) struct Asked {
    pub(crate) operation: Operation,
    /// What the document of the service calls the operation.
    pub(crate) operation_id: &'static str,
    pub(crate) request_id: String,
    /// Where it comes from.
    pub(crate) address: String,
    pub(crate) identity: Identity,
    pub(crate) parameters: Parameters,
    /// The namespace it is about; `*` is all of them.
    pub(crate) namespace: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    /// The body as it was sent.
    pub(crate) bytes: Bytes,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) wants_events: bool,
}

impl Asked {
    pub(crate) fn text(&self, parameter: &str) -> Option<&str> {
        self.parameters.get(parameter)?.as_str()
    }

    pub(crate) fn number(&self, parameter: &str) -> Option<i64> {
        self.parameters.get(parameter)?.as_i64()
    }

    pub(crate) fn limit(&self) -> usize {
        let limit = self.number("limit").and_then(|limit| usize::try_from(limit).ok());
        limit.unwrap_or(crate::cursor::DEFAULT_LIMIT)
    }

    pub(crate) fn earnest(&self) -> Earnest {
        match self.parameters.get("dryRun") {
            Some(Value::Bool(true)) => Earnest::DryRun,
            _ => Earnest::Really,
        }
    }

    /// The namespace of a list, none for all.
    pub(crate) fn one_namespace(&self) -> Option<&str> {
        (self.namespace != EVERYWHERE).then_some(self.namespace.as_str())
    }
}

impl App {
    pub(crate) fn new(parts: Parts) -> Self {
        let routes = routes::table();
        Self {
            doorkeeper: Doorkeeper::new(parts.objects.clone(), &parts.system_namespace),
            objects: parts.objects,
            audit: parts.audit,
            templates: parts.templates,
            definitions: parts.definitions,
            tasks: parts.tasks,
            deliveries: parts.deliveries,
            tokens: parts.tokens,
            renderer: parts.renderer,
            system_namespace: parts.system_namespace,
            logs: parts.logs,
            streams: Streams::default(),
            checks: Checks::new(&routes),
            document: crate::openapi::document(&routes).to_string().into(),
            routes,
            reads: Buckets::new(parts.reads),
            writes: Buckets::new(parts.writes),
            failures: Buckets::new(FAILURES),
            started: Instant::now(),
            knows: AtomicBool::new(false),
            has_templates: watch::Sender::new(false),
        }
    }

    pub(crate) async fn answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Response<Body> {
        let request_id = request_id(request.headers());
        let path = request.uri().path().to_owned();
        let is_head = request.method() == Method::HEAD;
        let outcome = self.outcome(request, peer, &request_id).await;
        let mut answer = outcome.unwrap_or_else(|problem| {
            if problem.status().is_server_error() {
                tracing::warn!(request_id, path, detail = problem.detail, "a request failed");
            }
            Answer::problem(&problem, &clipped(&path), &request_id)
        });
        if is_head {
            answer.content = Content::Nothing;
        }
        answer.into_response(&request_id)
    }

    async fn outcome(
        self: &Arc<Self>,
        request: Request<Incoming>,
        peer: SocketAddr,
        request_id: &str,
    ) -> Outcome<Answer> {
        let (head, incoming) = request.into_parts();
        let (route, values) = match routes::find(&self.routes, &head.method, head.uri.path()) {
            Match::Route(route, values) => (route, values),
            Match::Methods(methods) => return Ok(not_allowed(&methods, head.uri.path(), request_id)),
            Match::Nothing => {
                return Err(Problem::new(
                    Code::NotFound,
                    "there is nothing at this path; `/openapi.json` says what there is",
                ));
            }
        };
        let identity = match route.access {
            Access::Open => None,
            Access::Known | Access::Right(_) => Some(self.identify(&head.headers, peer).await?),
        };
        if let Some(identity) = &identity {
            self.limit(identity, route)?;
        }
        let wants_events = wanted_form(route, &head.headers)?;
        let query = head.uri.query().unwrap_or_default();
        let parameters = self.checks.parameters(route, values, query, &head.headers)?;
        let Some(identity) = identity else {
            return self.open(route).await;
        };
        self.check_known(PATIENCE).await?;
        let named = parameters.get("namespace").and_then(Value::as_str);
        let namespace = named.unwrap_or(identity.namespace()).to_owned();
        if let Access::Right(right) = route.access
            && !handlers::asks_itself(route.operation)
        {
            self.doorkeeper.check(&identity, right, &namespace).await?;
        }
        let (bytes, body) = if route.body.is_none() {
            (Bytes::new(), Value::Null)
        } else {
            receiving::check_form(&head.headers)?;
            let bytes = receiving::receive(&head.headers, incoming).await?;
            let body = self.checks.body(route, &bytes)?;
            (bytes, body)
        };
        let asked = Asked {
            operation: route.operation,
            operation_id: route.id,
            request_id: request_id.to_owned(),
            address: peer.ip().to_string(),
            identity,
            parameters,
            namespace,
            headers: head.headers,
            body,
            bytes,
            path: head.uri.path().to_owned(),
            query: query.to_owned(),
            wants_events,
        };
        let mut answer = handlers::handle(self, &asked).await?;
        if let Content::Events(stream) = answer.content {
            let stay = Stay::of(&asked, route.access.right());
            answer.content = Content::Events(stream.take_until(stay.ends(self.clone())).boxed());
        }
        if let Some((begun, change)) = answer.change.take() {
            self.audit.finish(begun, &change).await;
        }
        Ok(answer)
    }

    /// What everybody may see.
    async fn open(&self, route: &Route) -> Outcome<Answer> {
        match route.operation {
            Operation::OpenApi => Ok(Answer::new(
                StatusCode::OK,
                Content::Written(self.document.clone(), "application/json"),
            )),
            Operation::Ready => {
                self.check_known(READY_PATIENCE).await?;
                self.check_templates(READY_PATIENCE).await?;
                Ok(Answer::text("ok\n"))
            }
            _ => Ok(Answer::text("ok\n")),
        }
    }

    /// Resolves when everything that was there at the start is known.
    pub(crate) async fn synced(&self) {
        tokio::join!(
            self.templates.synced(),
            self.definitions.synced(),
            self.tasks.synced(),
            self.deliveries.synced()
        );
        self.knows.store(true, Ordering::Relaxed);
    }

    /// Lists that are not complete, and answers that go by them, would be wrong.
    async fn check_known(&self, patience: Duration) -> Outcome<()> {
        if self.knows.load(Ordering::Relaxed) {
            return Ok(());
        }
        let known = tokio::time::timeout(patience, self.synced()).await;
        known.map_err(|_| Problem {
            retry_after: Some(1),
            ..Problem::new(Code::Unavailable, "the service does not know the cluster yet")
        })
    }

    /// Waits until each of these templates has been there; whoever deletes one later is right.
    pub(crate) async fn await_templates(&self, templates: &[BuiltIn]) {
        // All at once: one that has been there and was deleted while another was waited for has been there.
        join_all(templates.iter().map(|it| self.await_template(it.name))).await;
        self.has_templates.send_replace(true);
    }

    async fn await_template(&self, name: &str) {
        let mut changes = self.templates.follow("", name);
        while self.templates.get("", name).is_none() {
            changes.changed().await;
        }
    }

    /// Resolves when the templates that come with the program have been there.
    pub(crate) async fn has_templates(&self) {
        // The sender is here, so there is no end of it to wait for in vain.
        let _ = self.has_templates.subscribe().wait_for(|has| *has).await;
    }

    /// What is not there yet is not missing: whoever asks for it is to ask again.
    pub(crate) async fn check_templates(&self, patience: Duration) -> Outcome<()> {
        let known = tokio::time::timeout(patience, self.has_templates()).await;
        known.map_err(|_| Problem {
            retry_after: Some(1),
            ..Problem::new(
                Code::Unavailable,
                "the templates that come with the program are not there yet",
            )
        })
    }

    /// Who asks. An address from which many tokens are tried has to wait.
    async fn identify(&self, headers: &HeaderMap, peer: SocketAddr) -> Outcome<Identity> {
        let address = peer.ip().to_string();
        match self.doorkeeper.identify(headers.get(header::AUTHORIZATION)).await {
            Err(problem) if problem.code == Code::Unauthenticated => {
                match self.failures.take(&address, self.started.elapsed()) {
                    Ok(()) => Err(problem),
                    Err(wait) => Err(too_many(wait)),
                }
            }
            other => other,
        }
    }

    fn limit(&self, identity: &Identity, route: &Route) -> Outcome<()> {
        let buckets = if route.changes() {
            &self.writes
        } else {
            &self.reads
        };
        let taken = buckets.take(&identity.name, self.started.elapsed());
        taken.map_err(too_many)
    }
}

fn too_many(wait: std::time::Duration) -> Problem {
    let seconds = wait.as_secs() + 1;
    Problem {
        retry_after: Some(seconds),
        ..Problem::new(Code::TooMany, "slow down, and try again after `Retry-After`")
    }
}

fn not_allowed(methods: &[&Method], path: &str, request_id: &str) -> Answer {
    let names: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
    let problem = Problem::new(
        Code::MethodNotAllowed,
        format!("here are {}", names.join(" and ")),
    );
    Answer::problem(&problem, &clipped(path), request_id).header(header::ALLOW, names.join(", "))
}

/// Whether a stream of events is wanted; refuses forms there are none of.
fn wanted_form(route: &Route, headers: &HeaderMap) -> Outcome<bool> {
    let accepted: Vec<&str> = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(|form| form.split(';').next().unwrap_or_default().trim())
        .collect();
    let takes = |wanted: &[&str]| {
        accepted.iter().any(|form| {
            let group = wanted[0].split('/').next().unwrap_or_default();
            *form == "*/*" || wanted.contains(form) || form.strip_suffix("/*") == Some(group)
        })
    };
    // A stream is for those who ask for one by its name.
    if route.streams() && accepted.contains(&"text/event-stream") {
        return Ok(true);
    }
    let forms: &[&str] = match route.answers.first() {
        Some((_, routes::Content::Text | routes::Content::TextOrEvents)) => &["text/plain"],
        _ => &["application/json", "application/problem+json"],
    };
    if accepted.is_empty() || takes(forms) {
        Ok(false)
    } else {
        Err(Problem::new(
            Code::NotAcceptable,
            format!("answers are {}", forms[0]),
        ))
    }
}

/// The request as its sender calls it, or a name of its own.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get("x-request-id").and_then(|value| value.to_str().ok());
    let is_usable = |id: &&str| {
        (1..=64).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    given
        .filter(is_usable)
        .map_or_else(crate::random_hex::<8>, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(operation: Operation, accept: &str) -> Outcome<bool> {
        let routes = routes::table();
        let route = routes.iter().find(|route| route.operation == operation).unwrap();
        wanted_form(
            route,
            &HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())]),
        )
    }

    #[test]
    fn streams_are_for_those_who_ask() {
        assert_eq!(form(Operation::GetStatus, "text/event-stream"), Ok(true));
        assert_eq!(
            form(Operation::GetStatus, "application/json, text/event-stream;q=0.5"),
            Ok(true)
        );
        assert_eq!(form(Operation::GetStatus, "*/*"), Ok(false));
        assert_eq!(form(Operation::GetLogs, "text/*"), Ok(false));
        for (operation, accept) in [
            (Operation::GetTask, "text/event-stream"),
            (Operation::GetTask, "image/png"),
            (Operation::GetLogs, "application/json"),
        ] {
            assert_eq!(
                form(operation, accept).unwrap_err().code,
                Code::NotAcceptable,
                "{accept}"
            );
        }
    }

    #[test]
    fn a_request_is_called_what_its_sender_calls_it_if_that_is_a_name() {
        let named = |id: &str| {
            let headers =
                HeaderMap::from_iter([(http::HeaderName::from_static("x-request-id"), id.parse().unwrap())]);
            request_id(&headers)
        };
        assert_eq!(named("abc-1"), "abc-1");
        assert_eq!(named("a b").len(), 16);
    }
}
