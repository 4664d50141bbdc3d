//! What stands between a well-formed write and the store: the built-in plug-ins users notice, then
//! the cluster's own webhooks and policies.

pub(crate) mod escalation;
pub(crate) mod limit_ranges;
pub(crate) mod namespace_lifecycle;
pub(crate) mod pod_defaults;
pub(crate) mod resource_quotas;
pub(crate) mod service_account;
pub(crate) mod storage_class;
pub(crate) mod webhooks;

use serde_json::Value;

use self::resource_quotas::Turn;
use crate::{error::Result, writes::Writer};

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
    namespace_lifecycle::check(writer.call, operation)?;
    if operation == Operation::Create && writer.call.target.subresource.is_empty() {
        service_account::admit(writer.call, object)?;
        pod_defaults::admit(writer.call, object)?;
        storage_class::admit(writer.call, object);
    }
    webhooks::mutate(writer, operation, object, old).await?;
    limit_ranges::admit(writer.call, operation, object, old);
    escalation::check(writer.call, object, old)
}

/// Lets every plug-in refuse the write. Deletions have an old object only. What comes back is to be
/// held until the write is stored.
pub(crate) async fn validate(
    writer: &mut Writer<'_>,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<Turn> {
    if operation == Operation::Delete {
        namespace_lifecycle::check(writer.call, operation)?;
        if let Some(old) = old {
            namespace_lifecycle::check_protected(writer.call, old)?;
        }
    }
    webhooks::validate(writer, operation, object, old).await?;
    if let Some(object) = object {
        limit_ranges::check(writer.call, operation, object, old)?;
        // Last of all: what is counted here is meant to be stored.
        return resource_quotas::charge(writer, operation, object, old).await;
    }
    Ok(Turn::default())
}
