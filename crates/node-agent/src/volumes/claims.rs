//! From a claim to the volume that is bound to it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod, Volume};

use super::content::VolumeSources;

/// What a claim stands for.
pub(super) struct Claimed {
    pub(super) volume: Arc<PersistentVolume>,
    pub(super) name: String,
    pub(super) is_read_only: bool,
}

/// Why a claim cannot be used yet.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClaimError {
    #[error("error processing PVC {namespace}/{claim}: {reason}")]
    Processing {
        namespace: String,
        claim: String,
        reason: String,
    },
    #[error("PVC {namespace}/{claim} was not created for pod {namespace}/{pod} (pod is not owner)")]
    NotOurs {
        namespace: String,
        claim: String,
        pod: String,
    },
    #[error("volume {volume} has volumeMode Block, but is specified in volumeMounts")]
    Block { volume: String },
}

/// Follows a volume's claim, if it has one.
pub(super) fn resolve(
    pod: &Pod,
    volume: &Volume,
    sources: &impl VolumeSources,
) -> Result<Option<Claimed>, ClaimError> {
    let Some((claim_name, is_read_only)) = claim_of(pod, volume) else {
        return Ok(None);
    };
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let processing = |reason: String| ClaimError::Processing {
        namespace: namespace.clone(),
        claim: claim_name.clone(),
        reason,
    };
    let claim = sources.claim(&claim_name).ok_or_else(|| {
        processing(format!(
            "failed to fetch PVC from API server: persistentvolumeclaims \"{claim_name}\" not found"
        ))
    })?;
    let bound = bound_volume(&claim).map_err(processing)?;
    if volume.ephemeral.is_some() && !is_controlled_by(&claim, pod) {
        return Err(ClaimError::NotOurs {
            namespace,
            claim: claim_name,
            pod: pod.metadata.name.clone().unwrap_or_default(),
        });
    }
    let persistent = sources.persistent_volume(bound).ok_or_else(|| {
        processing(format!(
            "failed to fetch PV {bound} from API server: persistentvolumes \"{bound}\" not found"
        ))
    })?;
    check_reference(bound, &persistent, &claim).map_err(processing)?;
    if persistent
        .spec
        .as_ref()
        .is_some_and(|spec| spec.volume_mode.as_deref() == Some("Block"))
    {
        return Err(ClaimError::Block {
            volume: volume.name.clone(),
        });
    }
    Ok(Some(Claimed {
        volume: persistent,
        name: claim_name,
        is_read_only,
    }))
}

/// The name of the claim a volume uses; one that lives with the pod is named after both.
pub(crate) fn claim_of(pod: &Pod, volume: &Volume) -> Option<(String, bool)> {
    if let Some(source) = &volume.persistent_volume_claim {
        return Some((source.claim_name.clone(), source.read_only == Some(true)));
    }
    volume.ephemeral.as_ref()?;
    let pod = pod.metadata.name.as_deref().unwrap_or_default();
    Some((format!("{pod}-{}", volume.name), false))
}

fn bound_volume(claim: &PersistentVolumeClaim) -> Result<&str, String> {
    let is_protected = claim
        .metadata
        .finalizers
        .iter()
        .flatten()
        .any(|name| name == "kubernetes.io/pvc-protection");
    if claim.metadata.deletion_timestamp.is_some() && !is_protected {
        return Err("PVC is being deleted".to_owned());
    }
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    if phase != Some("Bound") {
        return Err("PVC is not bound".to_owned());
    }
    let name = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref());
    name.filter(|name| !name.is_empty())
        .ok_or_else(|| "PVC has empty pvc.Spec.VolumeName".to_owned())
}

fn check_reference(
    name: &str,
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
) -> Result<(), String> {
    let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    let Some(reference) = reference else {
        return Err(format!(
            "found PV object {name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"
        ));
    };
    if reference.uid == claim.metadata.uid {
        return Ok(());
    }
    let (found, wanted) = (reference.uid.as_deref(), claim.metadata.uid.as_deref());
    Err(format!(
        "found PV object {name} but its pv.Spec.ClaimRef.UID {} does not point to claim.UID {}",
        found.unwrap_or_default(),
        wanted.unwrap_or_default()
    ))
}

fn is_controlled_by(claim: &PersistentVolumeClaim, pod: &Pod) -> bool {
    let mut owners = claim.metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && Some(&owner.uid) == pod.metadata.uid.as_ref())
}

impl Claimed {
    /// Whether only one pod may have it at a time.
    pub(super) fn is_for_one_pod(&self) -> bool {
        let modes = self
            .volume
            .spec
            .iter()
            .flat_map(|spec| spec.access_modes.iter().flatten());
        modes.into_iter().any(|mode| mode == "ReadWriteOncePod")
    }
}
