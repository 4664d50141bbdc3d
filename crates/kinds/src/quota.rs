//! Resource quotas: what each object counts, whether a change still fits, and how much is used.
//!
//! The API server calls [`check`] on every write into a namespace with quotas and stores the charges
//! it answers with; the status controller counts anew with [`recalculate`]. An object that is not in
//! a namespace is never counted; seeing to that is left to the caller.

mod admission;
mod collection;
mod limits;
mod pods;
mod resource_claims;
mod scopes;
mod services;
mod status;
#[cfg(test)]
mod tests;
mod volume_claims;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use self::collection::Collection;
use crate::quantity::Quantity;

pub use self::{
    admission::{Change, Charge, Operation, QuotaError, check, is_counted},
    status::{needs_update, recalculate, replenishes, watched},
};

/// Amounts by the name a quota limits them under: `pods`, `requests.cpu`, `count/jobs.batch`.
pub type Usage = BTreeMap<String, Quantity>;

/// What one object counts. The time matters to pods, which stop to count some time after deletion.
pub fn usage(group: &str, plural: &str, object: &Value, now: Timestamp) -> Usage {
    Collection::new(group, plural).usage(object, now)
}

/// Whether the quota is about objects like this one, by its scopes alone.
pub fn matches_scopes(quota: &Value, group: &str, plural: &str, object: &Value) -> bool {
    scopes::all_match(quota, Collection::new(group, plural), object)
}

/// Whether the quota limits something this object may use.
pub fn interested(quota: &Value, group: &str, plural: &str, object: &Value) -> bool {
    Collection::new(group, plural).is_limited_by(quota, object)
}
