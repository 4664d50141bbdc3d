//! Volumes of the built-in class: each a directory of its own on this machine, for as many pods as
//! want it.

use k8s_openapi::api::{
    core::v1::{
        HostPathVolumeSource, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectReference,
        PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, VolumeNodeAffinity,
    },
    storage::v1::StorageClass,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource as _, ResourceExt as _, api::PostParams};
use reconcile::volumes::SELECTED_NODE;

use super::{Binder, Directories, claims::Note, directories};
use crate::{Result, message};

/// What a StorageClass names to get directories.
pub const PROVISIONER: &str = "trainyard.dev/directory";

const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// The directory goes before the object does.
pub(super) const FINALIZER: &str = "trainyard.dev/directory";

pub(super) fn is_ours(volume: &PersistentVolume) -> bool {
    let annotations = volume.metadata.annotations.as_ref();
    let by = annotations.and_then(|annotations| annotations.get(PROVISIONED_BY));
    by.is_some_and(|by| by == PROVISIONER)
}

impl Binder {
    pub(super) async fn provision(&self, claim: &PersistentVolumeClaim, class: &StorageClass) -> Result<()> {
        self.set_phase(claim, "Pending").await?;
        let fail = |cause: String| self.tell(claim, &Note::warning("ProvisioningFailed", cause));
        let Some(directories) = &self.directories else {
            fail("no directory is set aside for volumes on this machine".to_owned());
            return Ok(());
        };
        if claim.spec.as_ref().and_then(|spec| spec.volume_mode.as_deref()) == Some("Block") {
            fail(format!("{PROVISIONER} makes directories, not block devices"));
            return Ok(());
        }
        let volume = make(claim, class, directories);
        if let Err(error) = directories::make(directories, &volume).await {
            fail(format!("cannot make the directory: {error}"));
            return Err(error.into());
        }
        let written = match self.volumes().create(&PostParams::default(), &volume).await {
            Ok(volume) => volume,
            // Made before, and the cache does not know it yet.
            Err(kube::Error::Api(status)) if status.code == 409 => {
                self.volumes().get(&volume.name_any()).await?
            }
            Err(error) => {
                fail(message(&error));
                return Err(error.into());
            }
        };
        self.world.volumes.wrote(written.clone());
        let note = format!("Successfully provisioned volume {}", written.name_any());
        self.recorder
            .normal(claim.object_ref(&()), "ProvisioningSucceeded", note);
        self.bind(claim, &written).await.map(drop)
    }
}

fn make(claim: &PersistentVolumeClaim, class: &StorageClass, directories: &Directories) -> PersistentVolume {
    let wanted = claim.spec.clone().unwrap_or_default();
    let name = format!("pvc-{}", claim.metadata.uid.as_deref().unwrap_or_default());
    let annotations = claim.metadata.annotations.as_ref();
    let chosen = annotations.and_then(|annotations| annotations.get(SELECTED_NODE));
    let node = directories.node.as_ref().or(chosen);
    PersistentVolume {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            annotations: Some([(PROVISIONED_BY.to_owned(), PROVISIONER.to_owned())].into()),
            finalizers: Some(vec![FINALIZER.to_owned()]),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeSpec {
            access_modes: wanted.access_modes,
            capacity: wanted.resources.and_then(|resources| resources.requests),
            claim_ref: Some(ObjectReference {
                api_version: Some("v1".into()),
                kind: Some("PersistentVolumeClaim".into()),
                namespace: claim.metadata.namespace.clone(),
                name: claim.metadata.name.clone(),
                uid: claim.metadata.uid.clone(),
                ..ObjectReference::default()
            }),
            host_path: Some(HostPathVolumeSource {
                path: directories.root.join(&name).display().to_string(),
                type_: Some("DirectoryOrCreate".into()),
            }),
            mount_options: class.mount_options.clone(),
            node_affinity: node.map(|node| on_node(node)),
            persistent_volume_reclaim_policy: class.reclaim_policy.clone().or(Some("Delete".into())),
            storage_class_name: class.metadata.name.clone(),
            volume_mode: Some("Filesystem".into()),
            ..PersistentVolumeSpec::default()
        }),
        status: None,
    }
}

fn on_node(node: &str) -> VolumeNodeAffinity {
    let requirement = NodeSelectorRequirement {
        key: "kubernetes.io/hostname".into(),
        operator: "In".into(),
        values: Some(vec![node.to_owned()]),
    };
    VolumeNodeAffinity {
        required: Some(NodeSelector {
            node_selector_terms: vec![NodeSelectorTerm {
                match_expressions: Some(vec![requirement]),
                match_fields: None,
            }],
        }),
    }
}
