//! What a pod asks of a node, worked out once.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use reconcile::{
    amounts::Amounts,
    demands::{Port, ports, requests},
};

use crate::{class::class, unit::Group};

#[derive(Clone, Debug)]
pub struct Demand {
    pub pod: Arc<Pod>,
    pub requests: Amounts,
    pub ports: Vec<Port>,
    pub priority: i32,
    pub group: Option<Group>,
    /// Equal for pods that can take each other's place.
    pub(crate) class: Option<Arc<str>>,
}

impl Demand {
    pub fn of(pod: Arc<Pod>) -> Self {
        let spec = pod.spec.as_ref();
        let requests = spec.map(requests).unwrap_or_default();
        let ports = spec.map(ports).unwrap_or_default();
        Self {
            class: spec.and_then(|spec| class(spec, &requests, &ports)),
            priority: spec.and_then(|spec| spec.priority).unwrap_or_default(),
            group: Group::of(&pod),
            requests,
            ports,
            pod,
        }
    }

    pub fn name(&self) -> &str {
        self.pod.metadata.name.as_deref().unwrap_or_default()
    }

    pub fn namespace(&self) -> &str {
        self.pod.metadata.namespace.as_deref().unwrap_or_default()
    }

    pub fn uid(&self) -> &str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Whether both are members of one group.
    pub(crate) fn is_of_same_group(&self, other: &Self) -> bool {
        self.group.is_some() && self.group == other.group && self.namespace() == other.namespace()
    }
}
