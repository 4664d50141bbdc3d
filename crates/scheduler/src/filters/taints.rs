//! Taints a pod does not tolerate keep it away.

use k8s_openapi::api::core::v1::Taint;
use reconcile::taints;

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
    let spec = demand.pod.spec.as_ref();
    taints::tolerates(spec.and_then(|spec| spec.tolerations.as_ref()), taint)
}
