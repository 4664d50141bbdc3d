//! Whether a change fits all quotas of its namespace, and what they are charged if it does.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{
    collection::{Collection, Rule},
    limits::{Growth, Limits},
    pods,
};
use crate::read::{get, text};

/// A write that quotas may have a say in.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub group: &'a str,
    pub plural: &'a str,
    /// Empty for the object itself.
    pub subresource: &'a str,
    pub operation: Operation<'a>,
    pub object: &'a Value,
    pub now: Timestamp,
}

#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    Create,
    Update { old: &'a Value },
}

/// What a quota has used once the change is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Charge<'a> {
    pub quota_name: &'a str,
    /// The whole of the new `status.used`.
    pub new_used: Map<String, Value>,
}

/// Why a quota forbids a change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuotaError {
    #[error("failed quota: {quota}: must specify {missing}")]
    Unspecified { quota: String, missing: String },
    #[error("status unknown for quota: {quota}, resources: {resources}")]
    StatusUnknown { quota: String, resources: String },
    #[error("exceeded quota: {quota}, requested: {requested}, used: {used}, limited: {limited}")]
    Exceeded {
        quota: String,
        requested: String,
        used: String,
        limited: String,
    },
}

/// Whether a change of this kind can use more than before. If not, no quota need be looked at.
pub fn is_counted(change: &Change<'_>) -> bool {
    use Operation::{Create, Update};
    match (change.collection().rule(), change.subresource, change.operation) {
        (Rule::Ignored, ..) => false,
        // The resources of a pod only change when it is resized; its scope changes with its deadline.
        (Rule::Pods, "", Update { old }) => pods::is_terminating(old) != pods::is_terminating(change.object),
        (Rule::Pods, "resize", Update { .. })
        | (Rule::Services | Rule::ResourceClaims, "", _)
        | (Rule::VolumeClaims, "" | "status", _)
        | (_, "", Create) => true,
        _ => false,
    }
}

/// Checks a change against the quotas of its namespace. The charges, one for each quota whose usage
/// grows, are to be stored before the next change is checked, unless this is only a dry run.
pub fn check<'a>(
    quotas: impl IntoIterator<Item = &'a Value>,
    change: &Change<'_>,
) -> Result<Vec<Charge<'a>>, QuotaError> {
    if !is_counted(change) {
        return Ok(Vec::new());
    }
    let collection = change.collection();
    let interested: Vec<Limits<'a>> = quotas
        .into_iter()
        .filter(|quota| collection.is_limited_by(quota, change.object))
        .map(|quota| Limits::read(quota, change))
        .collect::<Result<_, _>>()?;
    if interested.is_empty() {
        return Ok(Vec::new());
    }
    let growth = Growth::of(change);
    let charges = interested.iter().map(|limits| limits.charge(&growth, change));
    charges.filter_map(Result::transpose).collect()
}

impl<'a> Change<'a> {
    pub(super) fn collection(&self) -> Collection<'a> {
        Collection::new(self.group, self.plural)
    }

    /// The object before this change, if it was stored.
    pub(super) fn old(&self) -> Option<&'a Value> {
        match self.operation {
            Operation::Update { old } if !text(get(old, "metadata"), "resourceVersion").is_empty() => {
                Some(old)
            }
            _ => None,
        }
    }
}
