//! Taints a pod does not tolerate keep it away.

use k8s_openapi::api::core::v1::{Taint, Toleration};

use crate::{demand::Demand, node::Node, placement::Refusal};

pub(super) fn objections(demand: &Demand, node: &Node) -> Vec<Refusal> {
    let forbids = |taint: &&Taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute");
    let mut taints = node.taints.iter().filter(forbids);
    let refused = taints.find(|taint| !tolerates(demand, taint));
    refused
        .map(|taint| {
            let value = taint.value.as_deref().unwrap_or_default();
            Refusal::lasting(format!(
                "node(s) had untolerated taint {{{}: {value}}}",
                taint.key
            ))
        })
        .into_iter()
        .collect()
}

pub(crate) fn tolerates(demand: &Demand, taint: &Taint) -> bool {
    let tolerations = demand
        .pod
        .spec
        .iter()
        .flat_map(|spec| spec.tolerations.iter().flatten());
    tolerations
        .into_iter()
        .any(|toleration| covers(toleration, taint))
}

fn covers(toleration: &Toleration, taint: &Taint) -> bool {
    let is_same_effect = toleration
        .effect
        .as_deref()
        .is_none_or(|effect| effect.is_empty() || effect == taint.effect);
    let key = toleration.key.as_deref().unwrap_or_default();
    let is_same_key = key.is_empty() || key == taint.key;
    let is_same_value = match toleration.operator.as_deref() {
        Some("Exists") => true,
        _ => toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default(),
    };
    is_same_effect && is_same_key && is_same_value
}
