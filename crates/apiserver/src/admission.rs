//! What stands between a well-formed write and the store: the built-in plug-ins users notice, then
//! the cluster's own webhooks and policies.

mod attributes;
mod authorizer;
mod conditions;
mod conversion;
pub(crate) mod expressions;
mod matching;
pub(crate) mod namespace_lifecycle;
pub(crate) mod pod_defaults;
pub(crate) mod policies;
pub(crate) mod service_account;
pub(crate) mod storage_class;
pub(crate) mod webhooks;

use serde_json::Value;

use crate::{error::Result, subresources::scale, writes::Writer};

/// What is done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    /// An update by server-side apply, which records field ownership itself.
    Apply,
    Delete,
}

impl Operation {
    /// The name webhooks and policies know it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update | Self::Apply => "UPDATE",
            Self::Delete => "DELETE",
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
        return mutate_as_it_is(writer, operation, object, old).await;
    }
    let mut view = scale::view(call, object)?;
    let before = view.clone();
    let old = old.map(|old| scale::view(call, old)).transpose()?;
    mutate_as_it_is(writer, operation, &mut view, old.as_ref()).await?;
    if view != before {
        *object = scale::with_view(call, object, &view)?;
    }
    Ok(())
}

async fn mutate_as_it_is(
    writer: &mut Writer<'_>,
    operation: Operation,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<()> {
    let mut rounds = webhooks::Rounds::default();
    loop {
        namespace_lifecycle::check(writer.call, operation)?;
        if operation == Operation::Create && writer.call.target.subresource.is_empty() {
            service_account::admit(writer.call, object)?;
            pod_defaults::admit(writer.call, object)?;
            storage_class::admit(writer.call, object);
        }
        webhooks::mutate(writer, operation, Some(object), old, &mut rounds).await?;
        if !rounds.again() {
            return Ok(());
        }
    }
}

/// Lets every plug-in refuse the write. Deletions have an old object only, and nothing to change.
pub(crate) async fn validate(
    writer: &mut Writer<'_>,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<()> {
    if writer.admitted {
        return Ok(());
    }
    let call = writer.call;
    if operation == Operation::Delete {
        namespace_lifecycle::check(call, operation)?;
        if let Some(old) = old {
            namespace_lifecycle::check_protected(call, old)?;
        }
        webhooks::mutate(writer, operation, None, old, &mut webhooks::Rounds::default()).await?;
    }
    if call.target.subresource != "scale" {
        return validate_as_it_is(writer, operation, object, old).await;
    }
    let view = |object: Option<&Value>| object.map(|object| scale::view(call, object)).transpose();
    let (object, old) = (view(object)?, view(old)?);
    validate_as_it_is(writer, operation, object.as_ref(), old.as_ref()).await
}

async fn validate_as_it_is(
    writer: &mut Writer<'_>,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<()> {
    policies::validate(writer, operation, object, old)?;
    webhooks::validate(writer, operation, object, old).await
}

/// Admits a request whose body is no version of the stored object: a `Binding`, an `Eviction`. What it
/// then does to stored objects is admitted with it.
pub(crate) async fn admit_body(writer: &mut Writer<'_>, body: &mut Value) -> Result<()> {
    let kind = &writer.call.kind;
    let own = attributes::kind_of(kind, &writer.call.target.subresource);
    let (group, version) = (kinds::read::text(&own, "group"), kinds::read::text(&own, "version"));
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    body["kind"] = own["kind"].clone();
    body["apiVersion"] = api_version.into();
    mutate(writer, Operation::Create, body, None).await?;
    validate(writer, Operation::Create, Some(body), None).await?;
    writer.admitted = true;
    Ok(())
}
