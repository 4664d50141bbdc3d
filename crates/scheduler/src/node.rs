//! A node and what is on it.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::{Node as Object, Taint};

use crate::{amounts::Amounts, demand::Demand};

#[derive(Clone, Debug)]
pub struct Node {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub is_cordoned: bool,
    pub allocatable: Amounts,
    pub used: Amounts,
    pub pods: Vec<Arc<Demand>>,
}

impl Node {
    pub fn new(object: &Object) -> Self {
        let spec = object.spec.as_ref();
        let status = object.status.as_ref();
        Self {
            name: object.metadata.name.clone().unwrap_or_default(),
            labels: object.metadata.labels.clone().unwrap_or_default(),
            taints: spec.and_then(|spec| spec.taints.clone()).unwrap_or_default(),
            is_cordoned: spec.and_then(|spec| spec.unschedulable).unwrap_or_default(),
            allocatable: Amounts::read(status.and_then(|status| status.allocatable.as_ref())),
            used: Amounts::default(),
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

    pub fn free(&self, resource: &str) -> i64 {
        self.allocatable.get(resource) - self.used.get(resource)
    }
}
