//! The API itself, without a socket: a request and a user in, an answer out. The server puts TLS in
//! front of it; programs in the same process call it directly.

use std::{panic::AssertUnwindSafe, sync::Arc};

use bytes::Bytes;
use futures_util::{FutureExt as _, future::BoxFuture};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use node_api::Node;
use store::Store;
use tokio::{sync::watch, time::timeout_at};

use crate::{
    allocation::Allocations,
    aside::aside,
    authentication::{self, User},
    authorization::{self, Attributes, Authorizer, Decision},
    body::RequestBody,
    call::Call,
    dress::Dress,
    error::{ApiError, Result},
    get,
    impersonation::Impersonation,
    in_flight::{self, InFlight, Slot},
    kind::Definition,
    limits::Limits,
    list,
    metrics::Metrics,
    negotiate::{self, Representation},
    nodes::Nodes,
    query::Query,
    receiving::{Received, Receiving},
    registry::Registry,
    request_info::{RequestInfo, ResourceRequest},
    response::{self, Answer},
    sending::{self, Due, Owed},
    streams::{self, Incoming, connections::Connections},
    subresources,
    tokens::Signer,
    usage, watch as watches,
    writes::{
        create, delete, delete_collection, patch,
        update::{self, Part},
    },
};

pub struct Api {
    pub store: Store,
    pub registry: Registry,
    pub authorizer: Authorizer,
    pub allocations: Allocations,
    pub signer: Signer,
    pub admin_token: String,
    pub ca_pem: String,
    pub metrics: Metrics,
    pub(crate) nodes: Nodes,
    pub(crate) limits: Limits,
    pub(crate) in_flight: InFlight,
    pub(crate) connections: Connections,
    pub(crate) receiving: Receiving,
    pub(crate) quota_turns: crate::admission::resource_quotas::Turns,
    pub webhooks: crate::admission::webhooks::Caller,
    pub policies: crate::admission::policies::Policies,
    pub(crate) stopping: watch::Receiver<bool>,
}

/// Whoever is at the other end of a connection.
pub(crate) struct Peer {
    /// Who they are by their certificate.
    pub(crate) certificate: Option<User>,
    /// What they have not taken yet.
    pub(crate) owed: Arc<Owed>,
}

/// A request's place among those worked on.
struct Place {
    is_needed: bool,
    slot: Option<Slot>,
}

impl Api {
    /// Resolves when the server is about to stop; streams end then.
    pub async fn stopping(&self) {
        let mut stopping = self.stopping.clone();
        // A dropped sender is a stopped server too.
        let _ = stopping.wait_for(|stop| *stop).await;
    }

    /// From now on this node answers for its pods, and what they use can be asked.
    pub fn register_node(&self, name: &str, node: Arc<dyn Node>) {
        self.nodes.register(name, node);
        self.registry.replace_measured(usage::kinds());
    }

    /// Authenticates and answers a request from the network.
    pub(crate) async fn serve(self: Arc<Self>, request: Request<RequestBody>, peer: &Peer) -> Answer {
        let (path, headers) = (request.uri().path(), request.headers());
        let id = audit_id(headers);
        let is_head = request.method() == Method::HEAD;
        let user = authentication::authenticate(&self, path, headers, peer.certificate.as_ref())
            .map_err(|error| Box::new(response::error(&error)))
            .and_then(|user| self.impersonate(user, request.uri(), headers));
        let mut answer = match user {
            Ok(user) => self.answer(user, request, Some(&peer.owed)).await,
            Err(refusal) => {
                let (parts, body) = request.into_parts();
                self.receiving.refuse(&parts.headers, body).await;
                Dress::default().put_on(*refusal)
            }
        };
        answer.headers_mut().insert(AUDIT_ID, id);
        // Over HTTP/2 a body that nobody may read breaks the stream.
        if is_head {
            answer.map(|_| response::full(Bytes::new()))
        } else {
            answer
        }
    }

    /// Answers a request of a known user in the same process.
    pub async fn call(self: Arc<Self>, user: User, request: Request<RequestBody>) -> Answer {
        self.answer(user, request, None).await
    }

    /// Answers a request of a known user, who may sit at the other end of a connection. Only those
    /// have to find a place among the requests worked on: this process does not flood itself.
    async fn answer(
        self: Arc<Self>,
        user: User,
        request: Request<RequestBody>,
        connection: Option<&Arc<Owed>>,
    ) -> Answer {
        let (parts, body) = request.into_parts();
        let query = Query::parse(parts.uri.query());
        let info = RequestInfo::read(&parts.method, parts.uri.path(), query.flag("watch"))
            .selecting(query.text("fieldSelector"));
        let timer = self.metrics.start(&info);
        let dress = Dress::of(&query, &parts.headers, &info);
        let due = (!info.is_long_running()).then(|| Due::within(self.limits.request));
        let mut place = Place {
            is_needed: connection.is_some(),
            slot: None,
        };
        let work = self.clone().dispatch(user, parts, query, info, body, &mut place);
        let answer = answered(due, work).await;
        self.metrics.finish(timer, answer.status());
        let answer = dress.put_on(answer);
        match due {
            Some(due) => sending::until_taken(answer, due, place.slot, connection),
            None => answer,
        }
    }

    /// The user a request is to be answered as.
    fn impersonate(&self, user: User, uri: &Uri, headers: &HeaderMap) -> Result<User, Box<Answer>> {
        let Some(wanted) = Impersonation::read(headers).map_err(|error| response::internal(uri, &error))?
        else {
            return Ok(user);
        };
        for right in wanted.rights() {
            if let Decision::Denied(why) = self.authorizer.decide(&self.store, &user, right) {
                return Err(response::error(&authorization::denied(&user, right, &why)).into());
            }
        }
        Ok(wanted.user)
    }

    async fn dispatch(
        self: Arc<Self>,
        user: User,
        parts: http::request::Parts,
        query: Query,
        info: RequestInfo,
        body: RequestBody,
        place: &mut Place,
    ) -> Result<Answer> {
        let attributes = Attributes::from(&info);
        if let Decision::Denied(why) = self.authorizer.decide(&self.store, &user, attributes) {
            self.receiving.refuse(&parts.headers, body).await;
            return Err(authorization::denied(&user, attributes, &why));
        }
        let info = match info {
            RequestInfo::Resource(target) if streams::is_connection(&target, &parts.headers) => {
                // Boxed, as `answer` is: most requests are none of these.
                return self.connect(user, parts, query, target, body).boxed().await;
            }
            other => other,
        };
        let body = if info.is_write() {
            self.receiving.receive(&parts.headers, body).await
        } else {
            Received::nothing()
        };
        if place.is_needed {
            match self.in_flight.enter(&user, &info) {
                Ok(slot) => place.slot = slot,
                Err(in_flight::Full) => return Ok(in_flight::too_many_requests()),
            }
        }
        let work = Box::pin(self.work(user, parts, query, info, &body));
        match body.turn() {
            Some(turn) => aside(turn.clone().take(work)).await,
            None => work.await,
        }
    }

    async fn work(
        self: Arc<Self>,
        user: User,
        parts: http::request::Parts,
        query: Query,
        info: RequestInfo,
        body: &Received,
    ) -> Result<Answer> {
        match info {
            RequestInfo::NonResource { path, .. } => {
                crate::paths::answer(&self, &parts.method, &path, &parts.headers, &query).await
            }
            RequestInfo::Resource(target) => {
                let Some(call) = self.resolve(user, parts.headers, query, target)? else {
                    return Ok(nothing_there());
                };
                Ok(answer(call, parts.method, body).await)
            }
        }
    }

    /// A request whose body and answer are streams: neither is taken in before the other begins.
    async fn connect(
        self: Arc<Self>,
        user: User,
        mut parts: http::request::Parts,
        query: Query,
        target: ResourceRequest,
        body: RequestBody,
    ) -> Result<Answer> {
        let Some(call) = self.resolve(user, parts.headers, query, target)? else {
            return Ok(nothing_there());
        };
        let incoming = Incoming {
            method: parts.method,
            uri: parts.uri,
            body,
            upgrade: parts.extensions.remove(),
            peer: parts.extensions.remove::<streams::Peer>(),
        };
        let mut answer = streams::connect(&call, incoming).await?;
        response::add_warnings(&mut answer, &call.warnings.lock());
        Ok(answer)
    }

    /// The call a request is, or `None` where no group is served that it could be to.
    fn resolve(
        self: Arc<Self>,
        user: User,
        headers: HeaderMap,
        query: Query,
        target: ResourceRequest,
    ) -> Result<Option<Call>> {
        let snapshot = self.registry.snapshot();
        let Some(kind) = snapshot.get(&target.group, &target.version, &target.resource) else {
            return match snapshot.group(&target.group) {
                Some(_) => Err(ApiError::no_such_resource()),
                None => Ok(None),
            };
        };
        let kind = kind.clone();
        check_scope(&kind, &target)?;
        let representation = if target.is_stream() {
            Representation::JSON
        } else {
            negotiate::accept(&headers, &kind, target.verb == "list")?
        };
        let call = Call {
            api: self,
            kind,
            target,
            query,
            headers,
            user,
            representation,
            warnings: Arc::default(),
        };
        call.warn(deprecation(&call.kind));
        Ok(Some(call))
    }
}

/// Waits for an answer as long as the real server would. A request that makes the server panic is
/// answered too, and harms no other.
async fn answered(due: Option<Due>, work: impl Future<Output = Result<Answer>>) -> Answer {
    let work = AssertUnwindSafe(work).catch_unwind();
    let outcome = match due {
        Some(due) => timeout_at(due.at, work)
            .await
            .unwrap_or_else(|_| Ok(Err(ApiError::timeout()))),
        None => work.await,
    };
    match outcome {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => response::error(&error),
        Err(_) => response::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "This request caused apiserver to panic. Look in the logs for details.\n",
        ),
    }
}

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// The id by which a request is found in logs: the client's own, or a new one.
fn audit_id(headers: &HeaderMap) -> HeaderValue {
    if let Some(id) = headers.get(AUDIT_ID).filter(|id| !id.is_empty()) {
        return id.clone();
    }
    let id = uuid::Uuid::new_v4().to_string();
    HeaderValue::from_maybe_shared(Bytes::from(id)).unwrap_or(HeaderValue::from_static(""))
}

/// What every client of a kind on its way out is told.
fn deprecation(kind: &crate::kind::Kind) -> Option<String> {
    const ENDPOINTS: &str = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    let warning = match &kind.definition {
        Definition::BuiltIn(_) => kind.is("", "Endpoints").then_some(ENDPOINTS),
        Definition::Custom(custom) => custom.deprecation_warning(),
    };
    warning.map(str::to_owned)
}

fn nothing_there() -> Answer {
    response::text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// A namespace in the path of a cluster-scoped kind names nothing, and objects of a namespaced kind
/// are only found in a namespace.
fn check_scope(kind: &crate::kind::Kind, target: &ResourceRequest) -> Result<()> {
    let in_namespace = !target.namespace.is_empty() && target.resource != "namespaces";
    let needs_namespace = kind.namespaced
        && (!target.name.is_empty() || matches!(target.verb, "create" | "deletecollection"))
        && kind.has_verb("list");
    if in_namespace && !kind.namespaced {
        return Err(ApiError::no_such_resource());
    }
    if needs_namespace && !in_namespace {
        return Err(if target.name.is_empty() {
            ApiError::method_not_allowed()
        } else {
            ApiError::no_such_resource()
        });
    }
    Ok(())
}

/// The answer, with what the user is warned of. A boxed future: its type would otherwise be every
/// verb's, nested.
fn answer(call: Call, method: Method, body: &Received) -> BoxFuture<'_, Answer> {
    async move {
        let answered = verb(&call, &method, body).await;
        let mut answer = answered.unwrap_or_else(|error| response::error(&error));
        response::add_warnings(&mut answer, &call.warnings.lock());
        answer
    }
    .boxed()
}

async fn verb(call: &Call, method: &Method, body: &Received) -> Result<Answer> {
    if !call.target.subresource.is_empty() {
        return subresources::answer(call, method, body).await;
    }
    if call.target.verb.is_empty() || *method == Method::HEAD || !call.kind.has_verb(call.target.verb) {
        return Err(ApiError::method_not_allowed());
    }
    call.check_name()?;
    if usage::is_measured(&call.kind) {
        return usage::answer(call).await;
    }
    match call.target.verb {
        "get" => get::get(call).await,
        "list" => list::list(call).await,
        "watch" => watches::watch(call).await,
        "create" => {
            // A POST to an object's own path is not a creation.
            if !call.target.name.is_empty() {
                return Err(ApiError::method_not_allowed());
            }
            let bytes = body.bytes()?;
            match subresources::create(call, bytes).await {
                Some(answer) => answer,
                None => create::create(call, bytes).await,
            }
        }
        // Only objects are changed, not collections.
        "update" | "patch" if call.target.name.is_empty() => Err(ApiError::method_not_allowed()),
        "update" => update::update(call, Part::Main, body.bytes()?).await,
        "patch" => patch::patch(call, Part::Main, body.bytes()?).await,
        "delete" => delete::delete(call, body.bytes()?).await,
        "deletecollection" => delete_collection::delete_collection(call, body.bytes()?).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_request_that_panics_is_answered() {
        let answer = answered(None, async { panic!("on purpose") }).await;
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[tokio::test]
    async fn a_request_that_takes_too_long_is_answered() {
        let answer = answered(Some(Due::within(Duration::ZERO)), std::future::pending()).await;
        assert_eq!(answer.status(), StatusCode::GATEWAY_TIMEOUT);
    }
}
