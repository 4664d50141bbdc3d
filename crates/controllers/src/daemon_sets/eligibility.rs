//! Which nodes a daemon runs on. Pure.

use k8s_openapi::api::core::v1::{Node, PodSpec, Taint};
use reconcile::{node_selectors, taints};

/// What a node means to a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It runs here.
    Wanted,
    /// None is started here, but one that runs may stay.
    Tolerated,
    Unwanted,
}

pub(crate) fn standing(spec: &PodSpec, node: &Node) -> Standing {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let labels = node.metadata.labels.clone().unwrap_or_default();
    let is_elsewhere = spec.node_name.as_deref().is_some_and(|wanted| wanted != name);
    if is_elsewhere || !node_selectors::admits(spec, name, &labels) {
        return Standing::Unwanted;
    }
    let untolerated = |effect: &str| {
        let is_refused =
            |taint: &&Taint| taint.effect == effect && !taints::tolerates(spec.tolerations.as_ref(), taint);
        let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        taints.into_iter().any(|taint| is_refused(&taint))
    };
    match (untolerated("NoExecute"), untolerated("NoSchedule")) {
        (true, _) => Standing::Unwanted,
        (false, true) => Standing::Tolerated,
        (false, false) => Standing::Wanted,
    }
}
