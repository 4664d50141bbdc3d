//! What stands between a well-formed write and the store: the built-in plug-ins users notice, then
//! the cluster's own webhooks and policies.

mod attributes;
mod authorizer;
mod conditions;
mod conversion;
mod definition_lifecycle;
pub(crate) mod escalation;
pub(crate) mod expressions;
pub(crate) mod limit_ranges;
mod matching;
pub(crate) mod namespace_lifecycle;
pub(crate) mod pod_defaults;
mod pod_security;
pub(crate) mod policies;
mod priority_class;
pub(crate) mod resource_quotas;
mod runtime_class;
pub(crate) mod service_account;
pub(crate) mod storage_class;
mod storage_protection;
pub(crate) mod webhooks;

use kinds::strategy::Strategy;
use manifests::field::FieldError;
use serde_json::Value;

use self::resource_quotas::Turn;
use crate::{
    call::Call,
    error::{ApiError, Result},
    subresources::scale,
    writes::{Writer, options::WriteOptions, typed},
};

/// What is done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    /// An update by server-side apply, which records field ownership itself.
    Apply,
    Delete,
    /// Nothing is written: somebody is connected to something.
    Connect,
}

impl Operation {
    /// The name webhooks and policies know it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update | Self::Apply => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// Lets every plug-in change the object, in the order the real server has them.
pub(crate) async fn mutate(
    writer: &mut Writer<'_>,
    operation: Operation,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<()> {
    if writer.admitted {
        return Ok(());
    }
    let call = writer.call;
    if call.target.subresource != "scale" {
        return mutate_seen(writer, operation, object, old).await;
    }
    let mut seen = scale::view(call, object)?;
    let before = seen.clone();
    let old = old.map(|old| scale::view(call, old)).transpose()?;
    mutate_seen(writer, operation, &mut seen, old.as_ref()).await?;
    if seen != before {
        *object = scale::with_view(call, object, &seen)?;
    }
    Ok(())
}

/// The same, for an object as the request shows it. Plug-ins see what webhooks changed, and webhooks
/// that want to see that are called once more.
async fn mutate_seen(
    writer: &mut Writer<'_>,
    operation: Operation,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<()> {
    let call = writer.call;
    let mut rounds = webhooks::Rounds::default();
    loop {
        definition_lifecycle::check(call, operation, object)?;
        namespace_lifecycle::check(call, operation, Some(object))?;
        limit_ranges::admit(call, operation, object, old);
        if operation == Operation::Create && call.target.subresource.is_empty() {
            service_account::admit(call, object)?;
            pod_defaults::admit(call, object)?;
            runtime_class::admit(call, object)?;
            storage_class::admit(call, object);
            storage_protection::admit(call, object);
        }
        if let Some(old) = old.filter(|_| call.target.subresource.is_empty()) {
            pod_defaults::keep(call, object, old);
        }
        webhooks::mutate(writer, operation, Some(object), old, &mut rounds).await?;
        if !rounds.again() {
            return escalation::check(call, object, old);
        }
    }
}

/// Lets every plug-in refuse the write. Deletions have an old object only, and nothing to change. What
/// comes back is to be held until the write is stored.
pub(crate) async fn validate(
    writer: &mut Writer<'_>,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<Turn> {
    if writer.admitted {
        return Ok(Turn::default());
    }
    let call = writer.call;
    if operation == Operation::Delete {
        if let Some(old) = old {
            namespace_lifecycle::check_protected(call, old)?;
        }
        webhooks::mutate(writer, operation, None, old, &mut webhooks::Rounds::default()).await?;
    }
    if let Some(object) = object {
        priority_class::check(call, object)?;
        limit_ranges::check(call, operation, object, old)?;
        pod_security::check(writer, object, old)?;
    }
    if call.target.subresource == "scale" {
        let view = |object: Option<&Value>| object.map(|object| scale::view(call, object)).transpose();
        validate_seen(writer, operation, view(object)?.as_ref(), view(old)?.as_ref()).await?;
    } else {
        validate_seen(writer, operation, object, old).await?;
    }
    match object {
        // Last of all: what is counted here is meant to be stored.
        Some(object) => resource_quotas::charge(writer, operation, object, old).await,
        None => Ok(Turn::default()),
    }
}

/// The cluster's own rules, on objects as the request shows them.
async fn validate_seen(
    writer: &mut Writer<'_>,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<()> {
    policies::validate(writer, operation, object, old).await?;
    webhooks::validate(writer, operation, object, old).await
}

static NO_RULES: Strategy = Strategy::NONE;

/// Admits a request whose body is no stored object: a `Binding`, an `Eviction`, a review. What it then
/// does to stored objects is admitted with it.
pub(crate) async fn admit_body(writer: &mut Writer<'_>, body: &mut Value) -> Result<()> {
    let call = writer.call;
    let own = attributes::kind_of(&call.kind, &call.target.subresource);
    let (group, version) = (
        kinds::read::text(&own, "group"),
        kinds::read::text(&own, "version"),
    );
    let api_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    let kind = kinds::read::text(&own, "kind");
    let strategy = kinds::strategy_of(group, kind).unwrap_or(&NO_RULES);
    if let Some(shape) = kinds::resources::type_of(&api_version, kind) {
        crate::body::normalize(shape, body).map_err(|error| ApiError::bad_request(error.to_string()))?;
    }
    (strategy.default)(body);
    body["kind"] = kind.into();
    body["apiVersion"] = api_version.into();
    typed::settle_namespace(&call.kind, call.key_namespace(), body)?;
    mutate_seen(writer, Operation::Create, body, None).await?;
    let mut errors = Vec::new();
    (strategy.validate)(body, &mut errors);
    if !errors.is_empty() {
        return Err(broken_rules(group, kind, &errors));
    }
    validate_seen(writer, Operation::Create, Some(body), None).await?;
    writer.admitted = true;
    Ok(())
}

/// Admits a connection, whose options are its object.
pub(crate) async fn admit_connection(call: &Call, options: &mut Value) -> Result<()> {
    let mut writer = Writer::new(call, WriteOptions::default());
    let mut rounds = webhooks::Rounds::default();
    loop {
        webhooks::mutate(&mut writer, Operation::Connect, Some(options), None, &mut rounds).await?;
        if !rounds.again() {
            break;
        }
    }
    validate_seen(&mut writer, Operation::Connect, Some(options), None).await
}

/// What a body that breaks the rules of its kind is told.
fn broken_rules(group: &str, kind: &str, errors: &[FieldError]) -> ApiError {
    match (group, kind) {
        ("", "Binding") => ApiError::unhandled(errors),
        // The real server has forgotten the kind of a review when it looks at it.
        ("authorization.k8s.io", _) => ApiError::invalid(group, "", "", errors),
        _ => ApiError::invalid(group, kind, "", errors),
    }
}
