//! What containers have to name because a quota limits it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::resources;
use crate::{
    pod_resources::containers,
    read::{at, get, has, text},
};

/// Which limited resources some containers do not name: `limits.cpu for: c1; requests.memory for: c1,c2`.
/// Pods with resources of their own need not name any.
pub(in crate::quota) fn missing<'a>(pod: &Value, limited: impl Iterator<Item = &'a str>) -> Option<String> {
    let spec = get(pod, "spec");
    if resources::are_set_on_pod(spec) {
        return None;
    }
    let sentences: Vec<String> = limited
        .filter_map(|limit| {
            let [field, resource] = required_field(limit)?;
            let without = containers(spec).filter(|it| !has(at(it, &["resources", field]), resource));
            let names: BTreeSet<&str> = without.map(|container| text(container, "name")).collect();
            (!names.is_empty()).then(|| format!("{limit} for: {}", Vec::from_iter(names).join(",")))
        })
        .collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// Where a container names what a limit is about. Only processors and memory have to be named.
fn required_field(limit: &str) -> Option<[&'static str; 2]> {
    Some(match limit {
        "cpu" | "requests.cpu" => ["requests", "cpu"],
        "memory" | "requests.memory" => ["requests", "memory"],
        "limits.cpu" => ["limits", "cpu"],
        "limits.memory" => ["limits", "memory"],
        _ => return None,
    })
}
