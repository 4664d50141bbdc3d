//! Writing a bond down: the volume names the claim first, then the claim the volume, so that a crash
//! in between leaves a bond that can be finished.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::{
    ResourceExt as _,
    api::{Patch, PatchParams},
};
use reconcile::volumes::{BIND_COMPLETED, BOUND_BY_CONTROLLER, volume_name};
use serde_json::{Value, json};

use super::Binder;
use crate::{Result, world::status_patch};

impl Binder {
    pub(super) async fn bind(
        &self,
        claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
    ) -> Result<PersistentVolumeClaim> {
        let volume = self.reserve(volume, claim).await?;
        let volume = self.set_volume_phase(&volume, "Bound", None).await?;
        let claim = self.choose(claim, &volume).await?;
        let spec = volume.spec.clone().unwrap_or_default();
        let status = json!({
            "phase": "Bound", "accessModes": spec.access_modes, "capacity": spec.capacity,
        });
        let is_bound = claim
            .status
            .as_ref()
            .is_some_and(|status| status.phase.as_deref() == Some("Bound"));
        if is_bound {
            return Ok(claim);
        }
        self.patch_claim_status(&claim, status).await
    }

    async fn reserve(
        &self,
        volume: &PersistentVolume,
        claim: &PersistentVolumeClaim,
    ) -> Result<PersistentVolume> {
        let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
        if reference.is_some_and(|reference| reference.uid.is_some() && reference.uid == claim.metadata.uid) {
            return Ok(volume.clone());
        }
        let mut metadata = json!({"resourceVersion": volume.metadata.resource_version});
        if reference.is_none() {
            metadata["annotations"] = json!({BOUND_BY_CONTROLLER: "yes"});
        }
        let patch = Patch::Merge(json!({"metadata": metadata, "spec": {"claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim.metadata.namespace,
            "name": claim.metadata.name,
            "uid": claim.metadata.uid,
            "resourceVersion": claim.metadata.resource_version,
        }}}));
        let written = self
            .volumes()
            .patch(&volume.name_any(), &PatchParams::default(), &patch)
            .await?;
        self.world.volumes.wrote(written.clone());
        Ok(written)
    }

    async fn choose(
        &self,
        claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
    ) -> Result<PersistentVolumeClaim> {
        if reconcile::volumes::is_bound(claim) {
            return Ok(claim.clone());
        }
        let mut annotations = json!({BIND_COMPLETED: "yes"});
        if volume_name(claim).is_none() {
            annotations[BOUND_BY_CONTROLLER] = "yes".into();
        }
        let patch = Patch::Merge(json!({
            "metadata": {"resourceVersion": claim.metadata.resource_version, "annotations": annotations},
            "spec": {"volumeName": volume.name_any()},
        }));
        let written = self
            .claims(claim)
            .patch(&claim.name_any(), &PatchParams::default(), &patch)
            .await?;
        self.world.claims.wrote(written.clone());
        Ok(written)
    }

    pub(super) async fn assign_class(&self, claim: &PersistentVolumeClaim, class: &str) -> Result<()> {
        let patch = Patch::Merge(json!({
            "metadata": {"resourceVersion": claim.metadata.resource_version},
            "spec": {"storageClassName": class},
        }));
        let written = self
            .claims(claim)
            .patch(&claim.name_any(), &PatchParams::default(), &patch)
            .await?;
        self.world.claims.wrote(written);
        Ok(())
    }

    /// A directory is as large as the disk it is on: more is a matter of words.
    pub(super) async fn grow(
        &self,
        claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
        size: &str,
    ) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": {"capacity": {"storage": size}}}));
        let written = self
            .volumes()
            .patch(&volume.name_any(), &PatchParams::default(), &patch)
            .await?;
        self.world.volumes.wrote(written);
        let status = json!({"capacity": {"storage": size}, "allocatedResources": null, "conditions": null});
        self.patch_claim_status(claim, status).await.map(drop)
    }

    pub(super) async fn set_phase(&self, claim: &PersistentVolumeClaim, phase: &str) -> Result<()> {
        let present = claim.status.as_ref().and_then(|status| status.phase.as_deref());
        if present == Some(phase) {
            return Ok(());
        }
        self.patch_claim_status(claim, json!({ "phase": phase }))
            .await
            .map(drop)
    }

    async fn patch_claim_status(
        &self,
        claim: &PersistentVolumeClaim,
        status: Value,
    ) -> Result<PersistentVolumeClaim> {
        let written = self
            .claims(claim)
            .patch_status(&claim.name_any(), &PatchParams::default(), &status_patch(status))
            .await?;
        self.world.claims.wrote(written.clone());
        Ok(written)
    }

    pub(super) async fn set_volume_phase(
        &self,
        volume: &PersistentVolume,
        phase: &str,
        message: Option<&str>,
    ) -> Result<PersistentVolume> {
        let present = volume.status.as_ref().and_then(|status| status.phase.as_deref());
        if present == Some(phase) {
            return Ok(volume.clone());
        }
        let patch = status_patch(json!({"phase": phase, "message": message}));
        let written = self
            .volumes()
            .patch_status(&volume.name_any(), &PatchParams::default(), &patch)
            .await?;
        self.world.volumes.wrote(written.clone());
        Ok(written)
    }
}
