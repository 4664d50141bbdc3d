//! Which container has which GPU. Pure; `pool` keeps it on disk.
//!
//! A pod gets all its GPUs at once or none. Containers that run side by side never share one; an init
//! container, which is over before they start, uses theirs.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, Pod};
use kinds::quantity::Quantity;
use serde::{Deserialize, Serialize};

use super::advertisement::RESOURCE;

/// What one container asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    pub container: String,
    pub count: usize,
    /// Over before the others start.
    pub is_step: bool,
}

/// What the containers of a pod ask for; those that ask for none are left out.
pub fn demands(pod: &Pod) -> Vec<Demand> {
    let Some(spec) = &pod.spec else {
        return Vec::new();
    };
    let demand = |container: &Container, is_step: bool| Demand {
        container: container.name.clone(),
        count: count(container),
        is_step,
    };
    let init = spec.init_containers.iter().flatten().map(|container| {
        let is_sidecar = container.restart_policy.as_deref() == Some("Always");
        demand(container, !is_sidecar)
    });
    let work = spec.containers.iter().map(|container| demand(container, false));
    init.chain(work).filter(|demand| demand.count > 0).collect()
}

fn count(container: &Container) -> usize {
    let resources = container.resources.as_ref();
    let limits = resources.and_then(|resources| resources.limits.as_ref());
    let quantity = limits.and_then(|limits| limits.get(RESOURCE));
    let quantity = quantity.and_then(|quantity| Quantity::parse(&quantity.0).ok());
    quantity
        .and_then(|quantity| usize::try_from(quantity.value()).ok())
        .unwrap_or_default()
}

/// There are not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    pub requested: usize,
    pub available: usize,
}

/// GPUs by pod and container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Leases {
    pods: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

impl Leases {
    /// Gives a pod what it asks for, of those that may be given. A pod that has its GPUs keeps them.
    pub(super) fn grant(&mut self, pod: &str, demands: &[Demand], usable: &[String]) -> Result<(), Short> {
        if self.pods.contains_key(pod) || demands.is_empty() {
            return Ok(());
        }
        let held = self.held();
        let free: Vec<&String> = usable
            .iter()
            .filter(|uuid| !held.contains(uuid.as_str()))
            .collect();
        let side_by_side: usize = demands
            .iter()
            .filter(|demand| !demand.is_step)
            .map(|demand| demand.count)
            .sum();
        let steps = demands.iter().filter(|demand| demand.is_step);
        let requested = steps
            .map(|demand| demand.count)
            .max()
            .unwrap_or(0)
            .max(side_by_side);
        if requested > free.len() {
            return Err(Short {
                requested,
                available: free.len(),
            });
        }
        let mut next = 0;
        let mut granted = BTreeMap::new();
        for demand in demands {
            let first = if demand.is_step { 0 } else { next };
            let given = free[first..first + demand.count]
                .iter()
                .map(|uuid| (*uuid).clone());
            granted.insert(demand.container.clone(), given.collect());
            if !demand.is_step {
                next += demand.count;
            }
        }
        self.pods.insert(pod.to_owned(), granted);
        Ok(())
    }

    /// Takes a pod's GPUs back. Returns whether it had any.
    pub(super) fn release(&mut self, pod: &str) -> bool {
        self.pods.remove(pod).is_some()
    }

    /// Takes back what pods have that are no more, and says which pods those were.
    pub(super) fn keep_only(&mut self, existing: &BTreeSet<String>) -> Vec<String> {
        let gone: Vec<String> = self
            .pods
            .keys()
            .filter(|pod| !existing.contains(*pod))
            .cloned()
            .collect();
        for pod in &gone {
            self.pods.remove(pod);
        }
        gone
    }

    pub(super) fn of(&self, pod: &str, container: &str) -> &[String] {
        let containers = self.pods.get(pod);
        containers
            .and_then(|containers| containers.get(container))
            .map_or(&[], Vec::as_slice)
    }

    /// All that somebody has.
    pub(super) fn held(&self) -> BTreeSet<&str> {
        let containers = self.pods.values().flat_map(BTreeMap::values);
        containers.flatten().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests;
