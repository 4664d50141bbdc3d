//! What ReplicaSets and ReplicationControllers have in common.

use std::fmt::Debug;

use k8s_openapi::{
    api::{
        apps::v1::{ReplicaSet, ReplicaSetStatus},
        core::v1::{Pod, PodTemplateSpec, ReplicationController, ReplicationControllerStatus},
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference},
};
use kube::{Resource, core::NamespaceResourceScope};
use reconcile::{
    Informer,
    selectors::{self, Labels},
};
use serde_json::Value;

use crate::world::World;

pub(crate) trait Replicated:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + serde::de::DeserializeOwned
    + Send
    + Sync
    + 'static
{
    const KIND: &'static str;

    fn informer(world: &World) -> &Informer<Self>;
    fn selects(&self, pod: &Pod) -> bool;
    fn replicas(&self) -> i32;
    fn min_ready_seconds(&self) -> i32;
    fn template(&self) -> Option<&PodTemplateSpec>;
    /// The status as JSON, for comparison with the one that should be.
    fn status(&self) -> Value;

    fn owner_reference(&self) -> OwnerReference {
        OwnerReference {
            block_owner_deletion: Some(true),
            ..self.controller_owner_ref(&()).unwrap_or_default()
        }
    }
}

impl Replicated for ReplicaSet {
    const KIND: &'static str = "ReplicaSet";

    fn informer(world: &World) -> &Informer<Self> {
        &world.replica_sets
    }

    fn selects(&self, pod: &Pod) -> bool {
        let selector: Option<&LabelSelector> = self.spec.as_ref().map(|spec| &spec.selector);
        // A set that owned every pod of its namespace would be a mistake.
        selector.is_some_and(|selector| {
            !selectors::is_empty(selector) && selectors::matches(selector, pod.metadata.labels.as_ref())
        })
    }

    fn replicas(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
    }

    fn min_ready_seconds(&self) -> i32 {
        self.spec
            .as_ref()
            .and_then(|spec| spec.min_ready_seconds)
            .unwrap_or(0)
    }

    fn template(&self) -> Option<&PodTemplateSpec> {
        self.spec.as_ref()?.template.as_ref()
    }

    fn status(&self) -> Value {
        let status = self.status.as_ref();
        serde_json::to_value(status.unwrap_or(&ReplicaSetStatus::default())).unwrap_or_default()
    }
}

impl Replicated for ReplicationController {
    const KIND: &'static str = "ReplicationController";

    fn informer(world: &World) -> &Informer<Self> {
        &world.replication_controllers
    }

    fn selects(&self, pod: &Pod) -> bool {
        let selector: Option<&Labels> = self.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        selector.is_some_and(|selector| selectors::matches_all(selector, pod.metadata.labels.as_ref()))
    }

    fn replicas(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
    }

    fn min_ready_seconds(&self) -> i32 {
        self.spec
            .as_ref()
            .and_then(|spec| spec.min_ready_seconds)
            .unwrap_or(0)
    }

    fn template(&self) -> Option<&PodTemplateSpec> {
        self.spec.as_ref()?.template.as_ref()
    }

    fn status(&self) -> Value {
        let status = self.status.as_ref();
        serde_json::to_value(status.unwrap_or(&ReplicationControllerStatus::default())).unwrap_or_default()
    }
}
