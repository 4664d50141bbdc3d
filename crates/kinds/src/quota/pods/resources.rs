//! What a pod asks for, or still holds on its node while it is resized.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    pod_resources::{Role, total},
    read::{entries, get, has, list, text},
    resource_list::{Amounts, add, amount_of, amounts, raise},
    resource_names::is_huge_pages,
};

pub(super) fn requests(pod: &Value) -> Amounts<'_> {
    let mut requests = asked(pod, "requests");
    add(&mut requests, &amounts(get(pod, "spec"), "overhead"));
    requests
}

pub(super) fn limits(pod: &Value) -> Amounts<'_> {
    let mut limits = asked(pod, "limits");
    for (name, overhead) in amounts(get(pod, "spec"), "overhead") {
        if let Some(limit) = limits.get_mut(name).filter(|limit| !limit.is_zero()) {
            *limit = limit.plus(overhead);
        }
    }
    limits
}

/// The pod itself names resources that it shares among its containers.
pub(super) fn are_set_on_pod(spec: &Value) -> bool {
    let resources = get(spec, "resources");
    ["requests", "limits"]
        .iter()
        .any(|field| entries(resources, field).any(|(name, _)| is_for_pods(name)))
}

fn is_for_pods(name: &str) -> bool {
    name == "cpu" || name == "memory" || is_huge_pages(name)
}

/// What containers ask for together, replaced by what the pod asks for itself.
fn asked<'a>(pod: &'a Value, field: &str) -> Amounts<'a> {
    let spec = get(pod, "spec");
    let given = Given::to(pod);
    let mut asked = total(spec, |container, role| match role {
        Role::Main | Role::Sidecar => given.or_asked(container, field),
        Role::Init => amounts(get(container, "resources"), field),
    });
    let own = entries(get(spec, "resources"), field).filter(|(name, _)| is_for_pods(name));
    asked.extend(own.map(|(name, value)| (name.as_str(), amount_of(value))));
    asked
}

/// What the node reports to have given to each container.
struct Given<'a> {
    statuses: BTreeMap<&'a str, &'a Value>,
    /// What the containers ask for now, the node does not have.
    is_infeasible: bool,
}

impl<'a> Given<'a> {
    fn to(pod: &'a Value) -> Self {
        let status = get(pod, "status");
        let statuses = list(status, "containerStatuses")
            .iter()
            .chain(list(status, "initContainerStatuses"));
        let pending = list(status, "conditions")
            .iter()
            .find(|condition| text(condition, "type") == "PodResizePending");
        Self {
            statuses: statuses.map(|status| (text(status, "name"), status)).collect(),
            is_infeasible: pending.is_some_and(|condition| text(condition, "reason") == "Infeasible"),
        }
    }

    /// The larger of what a container asks for and what it still has.
    fn or_asked(&self, container: &'a Value, field: &str) -> Amounts<'a> {
        let asked = amounts(get(container, "resources"), field);
        let status = self.statuses.get(text(container, "name"));
        let Some(status) = status.filter(|status| has(status, "resources")) else {
            return asked;
        };
        let given = amounts(get(status, "resources"), field);
        let mut held = if self.is_infeasible { Amounts::new() } else { asked };
        raise(&mut held, &given);
        if field == "requests" {
            raise(&mut held, &amounts(status, "allocatedResources"));
        }
        held
    }
}
