//! Volumes must be reachable from the node, or be possible to get there.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use reconcile::volumes::{SELECTED_NODE, claims_of, is_bound, volume_name, waits_for_consumer};

use crate::{
    cluster::Cluster,
    demand::Demand,
    node::Node,
    placement::Refusal,
    storage::{Arrangement, Storage, reaches},
};

#[derive(Default)]
pub(crate) struct Volumes<'a> {
    storage: Option<&'a Storage>,
    bound: Vec<&'a Arc<PersistentVolume>>,
    /// Claims that wait for the pod to have a node.
    waiting: Vec<&'a Arc<PersistentVolumeClaim>>,
    /// What keeps the pod from every node.
    obstacle: Option<String>,
    /// Another pod uses a claim that only one pod may use.
    is_taken: bool,
}

impl<'a> Volumes<'a> {
    pub(crate) fn new(cluster: &'a Cluster, demand: &Demand) -> Self {
        let storage = &cluster.storage;
        let mut volumes = Self {
            storage: Some(storage),
            ..Self::default()
        };
        for name in claims_of(&demand.pod) {
            let Some(claim) = storage.claim(demand, &name) else {
                volumes.object(format!("persistentvolumeclaim {name:?} not found"));
                continue;
            };
            if claim.metadata.deletion_timestamp.is_some() {
                volumes.object(format!("persistentvolumeclaim {name:?} is being deleted"));
                continue;
            }
            volumes.is_taken |= is_for_one_pod(claim) && cluster.uses_claim(demand, &name);
            volumes.sort_in(storage, claim);
        }
        volumes
    }

    fn sort_in(&mut self, storage: &'a Storage, claim: &'a Arc<PersistentVolumeClaim>) {
        let is_delayed = storage
            .class(claim)
            .is_some_and(|class| waits_for_consumer(class));
        let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
        match volume_name(claim).filter(|_| is_bound(claim)) {
            _ if phase == Some("Lost") => {
                let name = claim.metadata.name.as_deref().unwrap_or_default();
                let volume = volume_name(claim).unwrap_or_default();
                let cause = format!(
                    "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
                );
                self.object(cause);
            }
            Some(name) => match storage.volume(name) {
                Some(volume) => self.bound.push(volume),
                None => self.object(
                    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)".to_owned(),
                ),
            },
            None if is_delayed && volume_name(claim).is_none() => self.waiting.push(claim),
            None => self.object("pod has unbound immediate PersistentVolumeClaims".to_owned()),
        }
    }

    fn object(&mut self, cause: String) {
        self.obstacle.get_or_insert(cause);
    }

    pub(crate) fn obstacle(&self) -> Option<&str> {
        self.obstacle.as_deref()
    }

    pub(crate) fn objections(&self, node: &Node) -> Vec<Refusal> {
        if self.is_taken {
            let reason = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode \
                          already in-use by another pod";
            return vec![Refusal::passing(reason)];
        }
        if !self.bound.iter().all(|volume| reaches(volume, node)) {
            return vec![Refusal::lasting(
                "node(s) didn't match PersistentVolume's node affinity",
            )];
        }
        let is_elsewhere = |claim: &&Arc<PersistentVolumeClaim>| -> bool {
            let annotations = claim.metadata.annotations.as_ref();
            let chosen = annotations.and_then(|annotations| annotations.get(SELECTED_NODE));
            chosen.is_some_and(|chosen| **chosen != *node.name)
        };
        if self.waiting.iter().any(is_elsewhere) || self.arrangements(node).is_none() {
            let reason = "node(s) didn't find available persistent volumes to bind";
            return vec![Refusal::lasting(reason)];
        }
        Vec::new()
    }

    /// What has to be done before the pod can run on the node.
    pub(crate) fn arrangements(&self, node: &Node) -> Option<Vec<Arrangement>> {
        match self.storage {
            Some(storage) if !self.waiting.is_empty() => storage.arrange(&self.waiting, node),
            _ => Some(Vec::new()),
        }
    }
}

fn is_for_one_pod(claim: &PersistentVolumeClaim) -> bool {
    let mut modes = claim
        .spec
        .iter()
        .flat_map(|spec| spec.access_modes.iter().flatten());
    modes.any(|mode| mode == "ReadWriteOncePod")
}
