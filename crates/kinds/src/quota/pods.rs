//! What pods count: themselves, and what their containers ask for, until they have ended.

mod missing;
mod resources;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use self::resources::{limits, requests};
use super::Usage;
use crate::{
    pods::qos_class,
    quantity::Quantity,
    read::{at, get, has, int, list, text},
    resource_list::Amounts,
    resource_names::{is_extended, is_huge_pages, is_native},
};

pub(super) use self::missing::missing;

/// Resources that are counted under their own name, and with `requests.` and `limits.` before it.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

pub(super) fn tracks(name: &str) -> bool {
    let bare = name
        .strip_prefix("requests.")
        .or_else(|| name.strip_prefix("limits."))
        .unwrap_or(name);
    name == "pods"
        || COMPUTE.contains(&bare)
        || is_huge_pages(name.strip_prefix("requests.").unwrap_or(name))
        || (name.starts_with("requests.") && !is_native(name))
}

pub(super) fn usage(pod: &Value, now: Timestamp) -> Usage {
    if is_charged(pod, now) {
        compute_usage(&requests(pod), &limits(pod))
    } else {
        Usage::new()
    }
}

/// Pods that have ended are not charged, nor those that should have been gone by now: a lost node
/// must not keep its pods' replacements from starting.
pub(super) fn is_charged(pod: &Value, now: Timestamp) -> bool {
    if matches!(text(get(pod, "status"), "phase"), "Failed" | "Succeeded") {
        return false;
    }
    let metadata = get(pod, "metadata");
    let deleted = text(metadata, "deletionTimestamp").parse::<Timestamp>();
    match (deleted, int(metadata, "deletionGracePeriodSeconds")) {
        (Ok(deleted), Some(grace)) => now.duration_since(deleted) <= SignedDuration::from_secs(grace),
        _ => true,
    }
}

/// The pod has a deadline, and so ends by itself.
pub(super) fn is_terminating(pod: &Value) -> bool {
    int(get(pod, "spec"), "activeDeadlineSeconds").is_some_and(|seconds| seconds >= 0)
}

fn compute_usage(requests: &Amounts<'_>, limits: &Amounts<'_>) -> Usage {
    let mut usage = Usage::from([("pods".to_owned(), Quantity::from_int(1))]);
    for (name, amount) in requests {
        let has_bare_name = COMPUTE.contains(name) || is_huge_pages(name);
        if has_bare_name {
            usage.insert((*name).to_owned(), *amount);
        }
        if has_bare_name || is_extended(name) {
            usage.insert(format!("requests.{name}"), *amount);
        }
    }
    for name in COMPUTE {
        if let Some(amount) = limits.get(name) {
            usage.insert(format!("limits.{name}"), *amount);
        }
    }
    usage
}

/// No container asks for processor time or memory.
pub(super) fn is_best_effort(pod: &Value) -> bool {
    match text(get(pod, "status"), "qosClass") {
        "" => qos_class(get(pod, "spec")) == "BestEffort",
        class => class == "BestEffort",
    }
}

/// Some affinity term looks at pods of other namespaces.
pub(super) fn has_cross_namespace_affinity(pod: &Value) -> bool {
    let affinity = at(pod, &["spec", "affinity"]);
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let affinity = get(affinity, kind);
        let required = list(affinity, "requiredDuringSchedulingIgnoredDuringExecution").iter();
        let preferred = list(affinity, "preferredDuringSchedulingIgnoredDuringExecution").iter();
        required
            .chain(preferred.map(|weighted| get(weighted, "podAffinityTerm")))
            .any(|term| !list(term, "namespaces").is_empty() || has(term, "namespaceSelector"))
    })
}

/// What the node has given to the containers is not what it had given before.
pub(super) fn are_resized(old: &Value, new: &Value) -> bool {
    ["containerStatuses", "initContainerStatuses"]
        .iter()
        .any(|field| {
            let statuses = |pod| -> BTreeMap<&str, &Value> {
                let statuses = list(get(pod, "status"), field).iter();
                statuses
                    .map(|status| (text(status, "name"), get(status, "resources")))
                    .collect()
            };
            let new = statuses(new);
            statuses(old)
                .iter()
                .any(|(name, resources)| new.get(name).is_some_and(|new| new != resources))
        })
}
