//! What becomes of a volume: it waits for a claim, is bound, or is given up with its claim.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::{
    Resource as _, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use reconcile::{
    Key, Next,
    volumes::{BOUND_BY_CONTROLLER, volume_name},
};
use serde_json::json;

use super::{
    Binder, claim_of, directories,
    provision::{FINALIZER, is_ours},
};
use crate::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    Available,
    Bound,
    /// The claim has gone: the volume is released, and then what its policy says.
    Released(Policy),
    /// The claim got another volume: this one is free again.
    Free,
    /// The object goes, and the directory with it (or, if it is to be kept, without it).
    RemoveDirectory,
    KeepDirectory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Keep,
    Delete,
    /// Somebody else has to do it.
    Elsewhere,
    /// Nobody can.
    Impossible(&'static str, &'static str),
}

fn plan(volume: &PersistentVolume, claim: Option<&PersistentVolumeClaim>) -> Step {
    let meta = &volume.metadata;
    let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    let uid = reference
        .and_then(|reference| reference.uid.as_deref())
        .unwrap_or_default();
    if uid.is_empty() {
        return if meta.deletion_timestamp.is_some() {
            leave(volume)
        } else {
            Step::Available
        };
    }
    let claim = claim.filter(|claim| claim.metadata.uid.as_deref() == Some(uid));
    match claim.map(|claim| volume_name(claim)) {
        // As long as it is bound it is protected, also from a deletion that was asked for before its claim's.
        None if meta.deletion_timestamp.is_some() => match leave(volume) {
            Step::Nothing => Step::Released(Policy::Keep),
            step => step,
        },
        None => Step::Released(policy(volume)),
        // The binder is about to finish the other side.
        Some(None) => Step::Nothing,
        Some(name) if name == meta.name.as_deref() => Step::Bound,
        Some(_) if is_ours(volume) && policy(volume) == Policy::Delete => Step::Released(Policy::Delete),
        Some(_) => Step::Free,
    }
}

fn leave(volume: &PersistentVolume) -> Step {
    let finalizers = volume.metadata.finalizers.as_ref();
    let is_held = finalizers.is_some_and(|finalizers| finalizers.iter().any(|held| held == FINALIZER));
    match policy(volume) {
        _ if !is_held => Step::Nothing,
        Policy::Delete => Step::RemoveDirectory,
        _ => Step::KeepDirectory,
    }
}

fn policy(volume: &PersistentVolume) -> Policy {
    let spec = volume.spec.as_ref();
    let annotations = volume.metadata.annotations.as_ref();
    let is_provisioned =
        annotations.is_some_and(|annotations| annotations.contains_key("pv.kubernetes.io/provisioned-by"));
    match spec.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref()) {
        Some("Delete") if is_ours(volume) => Policy::Delete,
        Some("Delete") if is_provisioned => Policy::Elsewhere,
        Some("Delete") => Policy::Impossible("VolumeFailedDelete", "no deletable volume plugin matched"),
        Some("Recycle") => {
            Policy::Impossible("VolumeFailedRecycle", "No recycler plugin found for the volume!")
        }
        _ => Policy::Keep,
    }
}

impl Binder {
    pub(super) async fn reconcile_volume(&self, key: Key) -> Result<Next> {
        let Some(volume) = self.world.volumes.get(&key) else {
            return Ok(Next::Wait);
        };
        let claim = claim_of(&volume).and_then(|claim| self.world.claims.get(&claim));
        match plan(&volume, claim.as_deref()) {
            Step::Nothing => {}
            Step::Available => drop(self.set_volume_phase(&volume, "Available", None).await?),
            Step::Bound => drop(self.set_volume_phase(&volume, "Bound", None).await?),
            Step::Free => self.free(&volume).await?,
            Step::Released(policy) => self.release(&volume, policy).await?,
            Step::RemoveDirectory => {
                self.remove_directory(&volume).await?;
                self.let_go(&volume).await?;
            }
            Step::KeepDirectory => self.let_go(&volume).await?,
        }
        Ok(Next::Wait)
    }

    /// A volume that was chosen by the user keeps the claim's name, one that we chose is anybody's.
    async fn free(&self, volume: &PersistentVolume) -> Result<()> {
        let annotations = volume.metadata.annotations.as_ref();
        let is_chosen_by_us = annotations.is_some_and(|notes| notes.contains_key(BOUND_BY_CONTROLLER));
        let reference = if is_chosen_by_us {
            json!(null)
        } else {
            json!({"uid": null, "resourceVersion": null})
        };
        let patch = Patch::Merge(json!({
            "metadata": {
                "resourceVersion": volume.metadata.resource_version,
                "annotations": {BOUND_BY_CONTROLLER: null},
            },
            "spec": {"claimRef": reference},
        }));
        let written = self
            .volumes()
            .patch(&volume.name_any(), &PatchParams::default(), &patch)
            .await?;
        self.world.volumes.wrote(written.clone());
        self.set_volume_phase(&written, "Available", None).await.map(drop)
    }

    async fn release(&self, volume: &PersistentVolume, policy: Policy) -> Result<()> {
        let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
        if phase == Some("Failed") {
            return Ok(());
        }
        let volume = self.set_volume_phase(volume, "Released", None).await?;
        match policy {
            Policy::Keep | Policy::Elsewhere => {}
            Policy::Delete => {
                let parameters = DeleteParams::default().preconditions(Preconditions {
                    uid: volume.metadata.uid.clone(),
                    resource_version: None,
                });
                match self.volumes().delete(&volume.name_any(), &parameters).await {
                    Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => {}
                    outcome => drop(outcome?),
                }
            }
            Policy::Impossible(reason, cause) => {
                self.set_volume_phase(&volume, "Failed", Some(cause)).await?;
                self.recorder
                    .warning(volume.object_ref(&()), reason, cause.to_owned());
            }
        }
        Ok(())
    }

    async fn remove_directory(&self, volume: &PersistentVolume) -> Result<()> {
        let Some(directories) = &self.directories else {
            return Ok(());
        };
        let removed = directories::remove(directories, volume).await;
        if let Err(error) = &removed {
            let cause = format!("cannot remove the directory: {error}");
            self.recorder
                .warning(volume.object_ref(&()), "VolumeFailedDelete", cause);
        }
        removed.map_err(Into::into)
    }

    async fn let_go(&self, volume: &PersistentVolume) -> Result<()> {
        let finalizers: Vec<&String> = volume
            .metadata
            .finalizers
            .iter()
            .flatten()
            .filter(|held| *held != FINALIZER)
            .collect();
        let patch = Patch::Merge(json!({"metadata": {
            "resourceVersion": volume.metadata.resource_version, "finalizers": finalizers,
        }}));
        match self
            .volumes()
            .patch(&volume.name_any(), &PatchParams::default(), &patch)
            .await
        {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            outcome => outcome.map(drop).map_err(Into::into),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn volume(policy: &str, extra: Value) -> PersistentVolume {
        let mut object = json!({
            "metadata": {"name": "v", "finalizers": [FINALIZER]},
            "spec": {
                "persistentVolumeReclaimPolicy": policy,
                "claimRef": {"namespace": "n", "name": "c", "uid": "u"},
            },
        });
        for (field, value) in extra.as_object().into_iter().flatten() {
            object["metadata"][field] = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn claim(uid: &str, volume: &str) -> PersistentVolumeClaim {
        let object = json!({
            "metadata": {"name": "c", "namespace": "n", "uid": uid}, "spec": {"volumeName": volume},
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_volume_follows_its_claim() {
        let kept = volume("Retain", json!({}));
        assert_eq!(plan(&kept, Some(&claim("u", "v"))), Step::Bound);
        assert_eq!(plan(&kept, Some(&claim("u", ""))), Step::Nothing);
        assert_eq!(plan(&kept, Some(&claim("u", "other"))), Step::Free);
        assert_eq!(
            plan(&kept, Some(&claim("another", "v"))),
            Step::Released(Policy::Keep)
        );
        assert_eq!(plan(&kept, None), Step::Released(Policy::Keep));
    }

    #[test]
    fn only_directories_of_our_own_class_are_removed() {
        let by = |provisioner: &str| json!({"annotations": {"pv.kubernetes.io/provisioned-by": provisioner}});
        let ours = volume("Delete", by(super::super::PROVISIONER));
        assert_eq!(plan(&ours, None), Step::Released(Policy::Delete));
        assert_eq!(
            plan(&volume("Delete", by("other")), None),
            Step::Released(Policy::Elsewhere)
        );
        let by_hand = plan(&volume("Delete", json!({})), None);
        assert!(matches!(
            by_hand,
            Step::Released(Policy::Impossible("VolumeFailedDelete", _))
        ));
    }

    #[test]
    fn a_volume_that_is_deleted_by_hand_keeps_its_data_unless_its_policy_says_otherwise() {
        let deleted = |policy: &str| {
            volume(
                policy,
                json!({
                    "deletionTimestamp": "2026-01-01T00:00:00Z",
                    "annotations": {"pv.kubernetes.io/provisioned-by": super::super::PROVISIONER},
                }),
            )
        };
        assert_eq!(plan(&deleted("Retain"), None), Step::KeepDirectory);
        assert_eq!(plan(&deleted("Delete"), None), Step::RemoveDirectory);
    }

    #[test]
    fn a_volume_that_is_deleted_before_its_claim_is_released_when_that_is_gone() {
        let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pv-protection"]});
        let deleted = volume("Delete", deleted);
        assert_eq!(plan(&deleted, Some(&claim("u", "v"))), Step::Bound);
        assert_eq!(plan(&deleted, None), Step::Released(Policy::Keep));
    }
}
