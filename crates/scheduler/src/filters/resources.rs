//! Room for what a pod asks for.

use crate::{demand::Demand, node::Node, placement::Refusal};

pub(super) fn objections(demand: &Demand, node: &Node) -> Vec<Refusal> {
    demand
        .requests
        .iter()
        .filter(|(name, wanted)| *wanted > 0 && *wanted > node.free(name))
        .map(|(name, wanted)| {
            let reason = reason(name);
            // Even an empty node would be too small.
            if wanted > node.allocatable.get(name) {
                Refusal::lasting(reason)
            } else {
                Refusal::passing(reason)
            }
        })
        .collect()
}

/// That a node has too little of something.
pub(crate) fn reason(resource: &str) -> String {
    match resource {
        "pods" => "Too many pods".to_owned(),
        name => format!("Insufficient {name}"),
    }
}
