//! A node and what is on it.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::{Node as Object, NodeStatus, Taint};
use reconcile::amounts::Amounts;

use crate::demand::Demand;

#[derive(Clone, Debug)]
pub struct Node {
    pub name: Arc<str>,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub is_cordoned: bool,
    pub allocatable: Amounts,
    pub used: Amounts,
    /// Images that are there, and their size in bytes.
    pub images: BTreeMap<String, i64>,
    pub pods: Vec<Arc<Demand>>,
}

impl Node {
    pub fn new(object: &Object) -> Self {
        let spec = object.spec.as_ref();
        let status = object.status.as_ref();
        Self {
            name: object.metadata.name.as_deref().unwrap_or_default().into(),
            labels: object.metadata.labels.clone().unwrap_or_default(),
            taints: spec.and_then(|spec| spec.taints.clone()).unwrap_or_default(),
            is_cordoned: spec.and_then(|spec| spec.unschedulable).unwrap_or_default(),
            allocatable: Amounts::read(status.and_then(|status| status.allocatable.as_ref())),
            used: Amounts::default(),
            images: status.map(images).unwrap_or_default(),
            pods: Vec::new(),
        }
    }

    pub fn add(&mut self, demand: Arc<Demand>) {
        self.used.add(&demand.requests);
        self.pods.push(demand);
    }

    pub fn remove(&mut self, uid: &str) -> Option<Arc<Demand>> {
        let at = self.pods.iter().position(|demand| demand.uid() == uid)?;
        let demand = self.pods.swap_remove(at);
        self.used.subtract(&demand.requests);
        Some(demand)
    }

    /// Whether the other is the same node for everybody who looks for a place.
    pub(crate) fn offers_the_same(&self, other: &Self) -> bool {
        self.labels == other.labels
            && self.taints == other.taints
            && self.is_cordoned == other.is_cordoned
            && self.allocatable == other.allocatable
            && self.images == other.images
    }

    pub fn free(&self, resource: &str) -> i64 {
        self.allocatable.get(resource) - self.used.get(resource)
    }
}

fn images(status: &NodeStatus) -> BTreeMap<String, i64> {
    let images = status.images.iter().flatten();
    images
        .flat_map(|image| {
            let size = image.size_bytes.unwrap_or_default();
            image.names.iter().flatten().map(move |name| (name.clone(), size))
        })
        .collect()
}
