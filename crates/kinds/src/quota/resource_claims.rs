//! What resource claims count: themselves, and the devices they may get of each class.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Usage;
use crate::{
    quantity::Quantity,
    read::{at, int, list, text},
};

/// After the name of a device class.
const BY_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// The most devices one claim can get.
const MOST_DEVICES: i64 = 32;

pub(super) fn tracks(name: &str) -> bool {
    name.ends_with(BY_CLASS)
}

pub(super) fn usage(claim: &Value) -> Usage {
    let mut devices = BTreeMap::<&str, i64>::new();
    for request in list(at(claim, &["spec", "devices"]), "requests") {
        for (class, count) in most_devices(request) {
            *devices.entry(class).or_default() += count;
        }
    }
    let counted = devices.into_iter();
    counted
        .map(|(class, count)| (format!("{class}{BY_CLASS}"), Quantity::from_int(count)))
        .collect()
}

/// The most devices of each class a request can get: of alternatives, only one is taken.
fn most_devices(request: &Value) -> BTreeMap<&str, i64> {
    let alternatives = list(request, "firstAvailable");
    if alternatives.is_empty() {
        let exactly = request.get("exactly").filter(|request| request.is_object());
        return exactly.map(device_count).into_iter().collect();
    }
    let mut most = BTreeMap::new();
    for (class, count) in alternatives
        .iter()
        .map(device_count)
        .filter(|(_, count)| *count > 0)
    {
        let highest = most.entry(class).or_insert(count);
        *highest = count.max(*highest);
    }
    most
}

/// How many devices of which class.
fn device_count(request: &Value) -> (&str, i64) {
    let count = match text(request, "allocationMode") {
        "ExactCount" => int(request, "count").unwrap_or_default(),
        "All" => MOST_DEVICES,
        _ => 0,
    };
    (text(request, "deviceClassName"), count)
}
