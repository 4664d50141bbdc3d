//! The order of the output: the order objects came in, or kinds first that others need.

use std::cmp::Ordering;

use super::{
    kustomization::SortOptions,
    problem::{Outcome, Problem},
    resource::Resource,
};

const FIRST: &[&str] = &[
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
const LAST: &[&str] = &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// The rank of a kind; those that are not listed are in the middle.
pub(super) fn kind_rank(kind: &str) -> isize {
    rank(kind, FIRST, LAST)
}

fn rank<S: AsRef<str>>(kind: &str, first: &[S], last: &[S]) -> isize {
    let position = |kinds: &[S]| kinds.iter().rposition(|known| known.as_ref() == kind);
    // Of a kind that is in both lists, the last counts.
    if let Some(position) = position(last) {
        return 1 + position as isize;
    }
    position(first).map_or(0, |position| position as isize - first.len() as isize)
}

/// Sorts as a kustomization says; without options, kinds that others need come first.
pub(super) fn sort(resources: &mut [Resource], options: Option<&SortOptions>) -> Outcome {
    match options {
        None => sort_by_kind(resources, FIRST, LAST),
        Some(options) => match (options.order.as_str(), &options.legacy) {
            ("fifo", None) => {}
            ("legacy", None) => sort_by_kind(resources, FIRST, LAST),
            ("legacy", Some((first, last))) => sort_by_kind(resources, first, last),
            ("fifo", Some(_)) => {
                return Err(Problem::new("`legacySortOptions` are for the order `legacy`")
                    .at(options.at)
                    .help("set `order: legacy`, or leave them out"));
            }
            (order, _) => {
                return Err(Problem::new(format!("the order is `{order}`"))
                    .at(options.at)
                    .help("`sortOptions.order` must be `fifo` or `legacy`"));
            }
        },
    }
    Ok(())
}

fn sort_by_kind<S: AsRef<str>>(resources: &mut [Resource], first: &[S], last: &[S]) {
    resources.sort_by_cached_key(|resource| {
        let id = resource.id();
        let or = |text: &str, missing: &str| if text.is_empty() { missing } else { text }.to_owned();
        let gvk = [or(id.group, "~G"), or(id.version, "~V"), or(id.kind, "~K")].join("_");
        Key {
            rank: rank(id.kind, first, last),
            is_core_namespace: id.kind == "Namespace" && id.group.is_empty(),
            is_namespace: id.kind == "Namespace",
            gvk,
            namespace: or(id.namespace, "~X"),
            name: or(id.name, "~N"),
        }
    });
}

#[derive(PartialEq, Eq)]
struct Key {
    rank: isize,
    is_core_namespace: bool,
    is_namespace: bool,
    gvk: String,
    namespace: String,
    name: String,
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_gvk = || {
            let order = self.gvk.cmp(&other.gvk);
            // Namespaces of Kubernetes itself come before those of others.
            let is_reversed = self.is_namespace
                && other.is_namespace
                && (self.is_core_namespace || other.is_core_namespace);
            if is_reversed { order.reverse() } else { order }
        };
        let by_name = || {
            let text = |key: &Self| format!("{}|{}", key.namespace, key.name);
            text(self).cmp(&text(other))
        };
        self.rank.cmp(&other.rank).then_with(by_gvk).then_with(by_name)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
