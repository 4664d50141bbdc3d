//! The status of a quota, counted anew from all objects of its namespace.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{
    collection::{Collection, Rule},
    pods, scopes, services,
};
use crate::{
    quantity::Quantity,
    read::{at, entries, get},
    resource_list::{amounts, to_object},
};

/// The collections, as (group, plural), whose objects have to be counted for a quota.
pub fn watched(quota: &Value) -> BTreeSet<(&str, &str)> {
    entries(get(quota, "spec"), "hard")
        .flat_map(|(name, _)| Collection::limited_by(name))
        .map(|collection| (collection.group, collection.plural))
        .collect()
}

/// The new status of a quota, from all objects of the collections it watches, each as (group, plural,
/// objects). What no collection counts keeps the usage it had.
pub fn recalculate<'a, Objects>(
    quota: &Value,
    collections: impl IntoIterator<Item = (&'a str, &'a str, Objects)>,
    now: Timestamp,
) -> Value
where
    Objects: IntoIterator<Item = &'a Value>,
{
    let hard = at(quota, &["spec", "hard"])
        .as_object()
        .cloned()
        .unwrap_or_default();
    let mut counted = BTreeMap::<&str, Quantity>::new();
    for (group, plural, objects) in collections {
        let collection = Collection::new(group, plural);
        let mut tracked = hard.keys().filter(|name| collection.tracks(name)).peekable();
        if tracked.peek().is_none() {
            continue;
        }
        for name in tracked {
            counted.entry(name).or_insert(Quantity::ZERO);
        }
        for object in objects {
            if scopes::all_match(quota, collection, object) {
                count(&mut counted, collection, object, now);
            }
        }
    }
    let mut used: Map<String, Value> = entries(get(quota, "status"), "used")
        .filter(|(name, _)| hard.contains_key(*name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    used.extend(to_object(counted));
    let parts = [("hard", hard), ("used", used)].into_iter();
    parts
        .filter(|(_, amounts)| !amounts.is_empty())
        .map(|(name, amounts)| (name.to_owned(), Value::Object(amounts)))
        .collect()
}

fn count(counted: &mut BTreeMap<&str, Quantity>, collection: Collection<'_>, object: &Value, now: Timestamp) {
    for (name, amount) in collection.usage(object, now) {
        if let Some(sum) = counted.get_mut(name.as_str()) {
            *sum = sum.plus(amount);
        }
    }
}

/// Whether a recalculated status says more than the quota does.
pub fn needs_update(quota: &Value, status: &Value) -> bool {
    let old = get(quota, "status");
    ["hard", "used"]
        .iter()
        .any(|field| amounts(old, field) != amounts(status, field))
}

/// Whether an update of an object may have freed what it used, so that quotas are to be counted again.
/// Deletions always have.
pub fn replenishes(group: &str, plural: &str, old: &Value, new: &Value, now: Timestamp) -> bool {
    match Collection::new(group, plural).rule() {
        Rule::Pods => {
            pods::are_resized(old, new)
                || pods::is_terminating(old) != pods::is_terminating(new)
                || (pods::is_charged(old, now) && !pods::is_charged(new, now))
        }
        Rule::Services => services::outside_type(old) != services::outside_type(new),
        Rule::VolumeClaims => true,
        _ => false,
    }
}
