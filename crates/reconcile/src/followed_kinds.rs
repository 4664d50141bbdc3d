//! The kinds that several engines follow.
//!
//! What is generic is compiled in the crate that names its types, and again in each of its sisters. Named
//! here, below all engines, the code that reads and keeps a pod is in the program once, not five times.

use k8s_openapi::api::{
    core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod, Service},
    discovery::v1::EndpointSlice,
    policy::v1::PodDisruptionBudget,
    storage::v1::StorageClass,
};

use crate::{Informer, Informers};

impl Informers {
    pub fn pods(&self) -> Informer<Pod> {
        self.of()
    }

    pub fn nodes(&self) -> Informer<Node> {
        self.of()
    }

    pub fn services(&self) -> Informer<Service> {
        self.of()
    }

    pub fn claims(&self) -> Informer<PersistentVolumeClaim> {
        self.of()
    }

    pub fn volumes(&self) -> Informer<PersistentVolume> {
        self.of()
    }

    pub fn storage_classes(&self) -> Informer<StorageClass> {
        self.of()
    }

    pub fn disruption_budgets(&self) -> Informer<PodDisruptionBudget> {
        self.of()
    }

    pub fn endpoint_slices(&self) -> Informer<EndpointSlice> {
        self.of()
    }
}
