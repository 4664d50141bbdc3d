//! Pods that are alike: what a node must be for one of them, it must be for all.
//!
//! Most pods of a large cluster are copies of each other. Where a pod can go is worked out once a class
//! and then only for nodes that have changed.

use std::sync::Arc;

use k8s_openapi::api::core::v1::PodSpec;
use reconcile::{amounts::Amounts, demands::Port};
use serde_json::json;

/// Equal for pods that can take each other's place. `None` for a pod whose place depends on more than
/// the node itself: on where other pods are, on volumes, or on ports.
pub(crate) fn class(spec: &PodSpec, requests: &Amounts, ports: &[Port]) -> Option<Arc<str>> {
    let affinity = spec.affinity.as_ref();
    let looks_at_others = affinity
        .is_some_and(|affinity| affinity.pod_affinity.is_some() || affinity.pod_anti_affinity.is_some())
        || spec
            .topology_spread_constraints
            .as_ref()
            .is_some_and(|constraints| !constraints.is_empty());
    let mut volumes = spec.volumes.iter().flatten();
    let has_claims =
        volumes.any(|volume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some());
    if looks_at_others || has_claims || !ports.is_empty() {
        return None;
    }
    let images: Vec<_> = spec.containers.iter().map(|container| &container.image).collect();
    let requests: Vec<_> = requests.iter().collect();
    let looks = json!([
        requests,
        images,
        spec.node_selector,
        affinity.and_then(|affinity| affinity.node_affinity.as_ref()),
        spec.tolerations,
        spec.preemption_policy,
    ]);
    Some(looks.to_string().into())
}
