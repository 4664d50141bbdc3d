//! What to tell whoever makes a namespace stricter about the pods that are already in it. They keep
//! running; the next of their kind will not start.

use std::collections::{BTreeMap, HashSet};

use manifests::field::quoted;
use serde_json::Value;

use super::{Policy, reasons, violations};
use crate::read::{flag, get, list, text};

const MAX_CHECKED: usize = 3000;

/// Warnings about pods of a namespace that break a policy, those that break the same in one line.
pub fn warnings_about_existing(namespace: &str, policy: Policy, pods: &[Value]) -> Vec<String> {
    let mut by_reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for pod in one_of_each_first(pods).into_iter().take(MAX_CHECKED) {
        let (metadata, spec) = (get(pod, "metadata"), get(pod, "spec"));
        let found = violations(policy, metadata, spec);
        if !found.is_empty() {
            by_reasons
                .entry(reasons(&found))
                .or_default()
                .push(text(metadata, "name"));
        }
    }
    let mut warnings = Vec::new();
    if pods.len() > MAX_CHECKED {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {MAX_CHECKED} of {} existing pods",
            pods.len()
        ));
    }
    if !by_reasons.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {} violate the new PodSecurity enforce level {}",
            quoted(namespace),
            quoted(&policy.to_string())
        ));
    }
    let mut lines: Vec<String> = by_reasons
        .iter()
        .map(|(reasons, names)| format!("{}: {reasons}", subject(names)))
        .collect();
    lines.sort();
    warnings.extend(lines);
    warnings
}

/// Pods of the same controller are alike; where there are too many to look at all, one of each is
/// looked at first.
fn one_of_each_first(pods: &[Value]) -> Vec<&Value> {
    let mut controllers = HashSet::new();
    let (mut first, others): (Vec<&Value>, Vec<&Value>) =
        pods.iter().partition(|pod| match controller(pod) {
            Some(uid) => controllers.insert(uid),
            None => true,
        });
    first.extend(others);
    first
}

fn controller(pod: &Value) -> Option<&str> {
    list(get(pod, "metadata"), "ownerReferences")
        .iter()
        .find(|owner| flag(owner, "controller"))
        .map(|owner| text(owner, "uid"))
}

fn subject(names: &[&str]) -> String {
    let first = names.iter().min().copied().unwrap_or_default();
    match names.len() - 1 {
        0 => first.to_owned(),
        1 => format!("{first} (and 1 other pod)"),
        others => format!("{first} (and {others} other pods)"),
    }
}
