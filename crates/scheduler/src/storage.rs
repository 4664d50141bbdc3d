//! Claims, volumes and classes, as far as they decide where pods can go.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim},
    storage::v1::StorageClass,
};
use reconcile::{Key, node_selectors, volumes};

use crate::{demand::Demand, node::Node};

#[derive(Clone, Debug, Default)]
pub struct Storage {
    pub claims: HashMap<Key, Arc<PersistentVolumeClaim>>,
    pub volumes: BTreeMap<Key, Arc<PersistentVolume>>,
    pub classes: HashMap<Key, Arc<StorageClass>>,
}

/// What has to be done for a claim that waited for its first pod, once the pod has a node.
#[derive(Clone, Debug)]
pub enum Arrangement {
    /// The volume is given to the claim.
    Take(Arc<PersistentVolumeClaim>, Arc<PersistentVolume>),
    /// A volume is made that can be reached from the node.
    Provision(Arc<PersistentVolumeClaim>),
}

impl Storage {
    pub(crate) fn claim(&self, demand: &Demand, name: &str) -> Option<&Arc<PersistentVolumeClaim>> {
        self.claims.get(&Key::new(demand.namespace(), name))
    }

    pub(crate) fn volume(&self, name: &str) -> Option<&Arc<PersistentVolume>> {
        self.volumes.get(&Key::new("", name))
    }

    pub(crate) fn class(&self, claim: &PersistentVolumeClaim) -> Option<&Arc<StorageClass>> {
        self.classes.get(&Key::new("", volumes::class_of_claim(claim)?))
    }

    /// How the claims that wait for the pod get volumes on the node; `None` if one of them cannot.
    pub(crate) fn arrange(
        &self,
        waiting: &[&Arc<PersistentVolumeClaim>],
        node: &Node,
    ) -> Option<Vec<Arrangement>> {
        let mut free: Vec<Arc<PersistentVolume>> = self.volumes.values().cloned().collect();
        let mut arrangements = Vec::new();
        for claim in waiting {
            let found = volumes::best_match(claim, &free, false, |volume| reaches(volume, node)).cloned();
            match found {
                Some(volume) => {
                    free.retain(|other| !Arc::ptr_eq(other, &volume));
                    arrangements.push(Arrangement::Take((*claim).clone(), volume));
                }
                None if self.can_provision(claim, node) => {
                    arrangements.push(Arrangement::Provision((*claim).clone()));
                }
                None => return None,
            }
        }
        Some(arrangements)
    }

    fn can_provision(&self, claim: &PersistentVolumeClaim, node: &Node) -> bool {
        let Some(class) = self.class(claim) else {
            return false;
        };
        let topologies = class.allowed_topologies.as_deref().unwrap_or_default();
        let mut terms = topologies.iter();
        class.provisioner != "kubernetes.io/no-provisioner"
            && (topologies.is_empty()
                || terms.any(|term| {
                    let mut labels = term.match_label_expressions.iter().flatten();
                    labels.all(|label| {
                        node.labels
                            .get(&label.key)
                            .is_some_and(|value| label.values.contains(value))
                    })
                }))
    }
}

/// Whether pods of the node can use the volume.
pub(crate) fn reaches(volume: &PersistentVolume, node: &Node) -> bool {
    let affinity = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required.as_ref());
    required.is_none_or(|selector| node_selectors::matches(selector, &node.name, &node.labels))
}
