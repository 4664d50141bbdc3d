//! One quota's say in a change.

use serde_json::Value;

use super::{Change, Charge, QuotaError, Usage, collection::Rule, pods};
use crate::{
    quantity::Quantity,
    read::{at, entries, get, has, text},
    resource_list::{Amounts, amounts, to_object},
};

/// The limits of a quota that is interested in a change.
pub(super) struct Limits<'a> {
    quota: &'a Value,
    name: &'a str,
    hard: Amounts<'a>,
    used: Amounts<'a>,
}

impl<'a> Limits<'a> {
    /// Refuses an object that does not name what is limited, and limits whose usage was never counted.
    pub(super) fn read(quota: &'a Value, change: &Change<'_>) -> Result<Self, QuotaError> {
        let (name, status) = (text(get(quota, "metadata"), "name"), get(quota, "status"));
        let collection = change.collection();
        let limited = || {
            entries(status, "hard")
                .map(|(name, _)| name.as_str())
                .filter(|name| collection.tracks(name))
        };
        if collection.rule() == Rule::Pods
            && let Some(missing) = pods::missing(change.object, limited())
        {
            let quota = name.to_owned();
            return Err(QuotaError::Unspecified { quota, missing });
        }
        if !limited().all(|name| has(get(status, "used"), name)) {
            return Err(QuotaError::StatusUnknown {
                quota: name.to_owned(),
                resources: limited().collect::<Vec<_>>().join(","),
            });
        }
        Ok(Self {
            quota,
            name,
            hard: amounts(status, "hard"),
            used: amounts(status, "used"),
        })
    }

    /// What the quota is charged for the change, if it is and may be.
    pub(super) fn charge(
        &self,
        growth: &Growth,
        change: &Change<'_>,
    ) -> Result<Option<Charge<'a>>, QuotaError> {
        let requested = self.requested(growth, change);
        if requested.is_empty() {
            return Ok(None);
        }
        let used = |name: &str| self.used.get(name).copied().unwrap_or(Quantity::ZERO);
        let sum = |name: &str| used(name).plus(requested[name]);
        let exceeded: Vec<&str> = requested
            .keys()
            .copied()
            .filter(|name| sum(name) > self.hard[name])
            .collect();
        // What a controller reports has happened already; it is counted, however much it is.
        if !exceeded.is_empty() && change.subresource != "status" {
            return Err(self.exceeded(&requested, &exceeded));
        }
        let mut new_used = at(self.quota, &["status", "used"])
            .as_object()
            .cloned()
            .unwrap_or_default();
        new_used.extend(to_object(requested.keys().map(|name| (name, sum(name)))));
        Ok(Some(Charge {
            quota_name: self.name,
            new_used,
        }))
    }

    /// The growth of what this quota limits.
    fn requested<'g>(&self, growth: &'g Growth, change: &Change<'_>) -> Amounts<'g> {
        let was_counted = |old| change.collection().is_limited_by(self.quota, old);
        let usage = match &growth.difference {
            Some(difference) if change.old().is_some_and(was_counted) => difference,
            _ => &growth.whole,
        };
        usage
            .iter()
            .filter(|(name, amount)| **amount > Quantity::ZERO && self.hard.contains_key(name.as_str()))
            .map(|(name, amount)| (name.as_str(), *amount))
            .collect()
    }

    fn exceeded(&self, requested: &Amounts<'_>, names: &[&str]) -> QuotaError {
        QuotaError::Exceeded {
            quota: self.name.to_owned(),
            requested: shown(requested, names),
            used: shown(&self.used, names),
            limited: shown(&self.hard, names),
        }
    }
}

/// How much more is used after a change.
pub(super) struct Growth {
    /// For quotas that did not count the old object.
    whole: Usage,
    /// For quotas that did.
    difference: Option<Usage>,
}

impl Growth {
    pub(super) fn of(change: &Change<'_>) -> Self {
        let usage = |object| change.collection().usage(object, change.now);
        let whole = usage(change.object);
        let difference = change.old().map(|old| {
            let old = usage(old);
            let less = |name: &str, new: Quantity| old.get(name).map_or(new, |old| new.minus(*old));
            whole
                .iter()
                .map(|(name, new)| (name.clone(), less(name, *new)))
                .collect()
        });
        Self { whole, difference }
    }
}

/// `cpu=1,pods=2`
fn shown(list: &Amounts<'_>, names: &[&str]) -> String {
    let amounts = names
        .iter()
        .filter_map(|name| Some(format!("{name}={}", list.get(name)?)));
    amounts.collect::<Vec<_>>().join(",")
}
