//! The API itself, without a socket: a request and a user in, an answer out. The server puts TLS in
//! front of it; programs in the same process call it directly.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use http::{Method, Request, StatusCode};
use store::Store;
use tokio::{sync::watch, time::timeout};

use crate::{
    allocation::Allocations,
    aside::aside,
    authentication::{self, User},
    authorization::{self, Attributes, Authorizer},
    body::RequestBody,
    call::Call,
    error::{ApiError, Result},
    get,
    in_flight::{self, InFlight},
    limits::Limits,
    list,
    metrics::Metrics,
    negotiate,
    query::Query,
    receiving::{Received, Receiving},
    registry::Registry,
    request_info::{RequestInfo, ResourceRequest},
    response::{self, Answer},
    subresources,
    tokens::Signer,
    watch as watches,
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
    pub(crate) limits: Limits,
    pub(crate) in_flight: InFlight,
    pub(crate) receiving: Receiving,
    pub(crate) quota_turns: crate::admission::resource_quotas::Turns,
    pub webhooks: crate::admission::webhooks::Caller,
    pub policies: crate::admission::policies::Policies,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Api {
    /// Resolves when the server is about to stop; streams end then.
    pub async fn stopping(&self) {
        let mut stopping = self.stopping.clone();
        // A dropped sender is a stopped server too.
        let _ = stopping.wait_for(|stop| *stop).await;
    }

    /// Authenticates and answers a request from the network.
    pub async fn serve(
        self: Arc<Self>,
        request: Request<RequestBody>,
        certificate: Option<Arc<User>>,
    ) -> Answer {
        let (path, headers) = (request.uri().path(), request.headers());
        let user = match authentication::authenticate(&self, path, headers, certificate.as_deref()) {
            Ok(user) => user,
            Err(error) => return response::error(&error),
        };
        match self.impersonate(user, request.headers()) {
            Ok(user) => self.call(user, request).await,
            Err(error) => response::error(&error),
        }
    }

    /// Answers a request of a known user.
    pub async fn call(self: Arc<Self>, user: User, request: Request<RequestBody>) -> Answer {
        let (parts, body) = request.into_parts();
        let query = Query::parse(parts.uri.query());
        let info = RequestInfo::read(&parts.method, parts.uri.path(), query.flag("watch"));
        let timer = self.metrics.start(&info);
        let pretty = wants_indentation(&query, &parts.headers, &info);
        let patience = (!info.is_long_running()).then_some(self.limits.request);
        let answer = answered(patience, self.clone().dispatch(user, parts, query, info, body)).await;
        self.metrics.finish(timer, answer.status());
        response::finish(answer, pretty).await
    }

    fn impersonate(&self, user: User, headers: &http::HeaderMap) -> Result<User> {
        let Some(wanted) = authentication::impersonated(headers)? else {
            return Ok(user);
        };
        let may = |group: &str, resource: &str, namespace: &str, name: &str| {
            let attributes = Attributes::Resource {
                verb: "impersonate",
                group,
                resource,
                subresource: "",
                namespace,
                name,
            };
            match self.authorizer.allowed(&self.store, &user, attributes) {
                Some(_) => Ok(()),
                None => Err(authorization::denied(&user, attributes)),
            }
        };
        match crate::tokens::split_username(&wanted.name) {
            Some((namespace, name)) => may("", "serviceaccounts", namespace, name)?,
            None => may("", "users", "", &wanted.name)?,
        }
        for group in headers
            .get_all("impersonate-group")
            .iter()
            .filter_map(|value| value.to_str().ok())
        {
            may("", "groups", "", group)?;
        }
        Ok(wanted)
    }

    async fn dispatch(
        self: Arc<Self>,
        user: User,
        parts: http::request::Parts,
        query: Query,
        info: RequestInfo,
        body: RequestBody,
    ) -> Result<Answer> {
        let attributes = Attributes::from(&info);
        if self.authorizer.allowed(&self.store, &user, attributes).is_none() {
            return Err(authorization::denied(&user, attributes));
        }
        let body = if info.is_write() {
            self.receiving.receive(body).await
        } else {
            Received::nothing()
        };
        let api = self.clone();
        let Some(_slot) = api.in_flight.enter(&user, &info) else {
            return Ok(in_flight::too_many_requests());
        };
        aside(body.is_large(), self.work(user, parts, query, info, &body)).await
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
                let snapshot = self.registry.snapshot();
                let Some(kind) = snapshot.get(&target.group, &target.version, &target.resource) else {
                    return unknown_resource(&snapshot, &target);
                };
                let kind = kind.clone();
                check_scope(&kind, &target)?;
                let representation = negotiate::accept(&parts.headers, target.verb == "list")?;
                let call = Call {
                    api: self,
                    kind,
                    target,
                    query,
                    headers: parts.headers,
                    user,
                    representation,
                };
                let deprecation = deprecation(&call.kind);
                let mut answer = answer(call, parts.method, body).await?;
                response::add_warnings(&mut answer, deprecation.as_slice());
                Ok(answer)
            }
        }
    }
}

/// Waits for an answer as long as the real server would. A request that makes the server panic is
/// answered too, and harms no other.
async fn answered(patience: Option<Duration>, work: impl Future<Output = Result<Answer>>) -> Answer {
    let work = AssertUnwindSafe(work).catch_unwind();
    let outcome = match patience {
        Some(patience) => timeout(patience, work)
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

/// People who look at answers get them indented: by asking, or by using a browser or curl.
fn wants_indentation(query: &Query, headers: &http::HeaderMap, info: &RequestInfo) -> bool {
    if matches!(info, RequestInfo::Resource(ResourceRequest { verb: "watch", .. })) {
        return false;
    }
    query.optional_flag("pretty").unwrap_or_else(|| {
        let agent = headers
            .get(http::header::USER_AGENT)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        ["curl", "Wget", "Mozilla/5.0"]
            .iter()
            .any(|prefix| agent.starts_with(prefix))
    })
}

/// What every client of a kind on its way out is told.
fn deprecation(kind: &crate::kind::Kind) -> Option<String> {
    let is_endpoints = kind.group.is_empty() && kind.kind == "Endpoints";
    is_endpoints
        .then(|| "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned())
}

fn unknown_resource(snapshot: &crate::registry::Snapshot, target: &ResourceRequest) -> Result<Answer> {
    if snapshot.has_version(&target.group, &target.version) {
        return Err(ApiError::no_such_resource());
    }
    Ok(response::text(StatusCode::NOT_FOUND, "404 page not found\n"))
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

/// The answer as a boxed future: its type would otherwise be every verb's, nested.
fn answer(call: Call, method: Method, body: &Received) -> BoxFuture<'_, Result<Answer>> {
    async move { verb(&call, &method, body).await }.boxed()
}

async fn verb(call: &Call, method: &Method, body: &Received) -> Result<Answer> {
    if !call.target.subresource.is_empty() {
        return subresources::answer(call, method, body).await;
    }
    if call.target.verb.is_empty() || !call.kind.has_verb(call.target.verb) {
        return Err(ApiError::method_not_allowed());
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
            match subresources::reviews::answer(call, bytes).await {
                Some(answer) => answer,
                None => create::create(call, bytes).await,
            }
        }
        "update" => update::update(call, Part::Main, body.bytes()?).await,
        "patch" => patch::patch(call, Part::Main, body.bytes()?).await,
        "delete" => delete::delete(call, body.bytes()?).await,
        "deletecollection" => delete_collection::delete_collection(call, body.bytes()?).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_that_panics_is_answered() {
        let answer = answered(None, async { panic!("on purpose") }).await;
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[tokio::test]
    async fn a_request_that_takes_too_long_is_answered() {
        let answer = answered(Some(Duration::ZERO), std::future::pending()).await;
        assert_eq!(answer.status(), StatusCode::GATEWAY_TIMEOUT);
    }
}
