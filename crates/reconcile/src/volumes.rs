//! Which volume a claim can have: the rules that the binder and the scheduler must agree on.

use std::sync::Arc;

use k8s_openapi::{
    api::{
        core::v1::{PersistentVolume, PersistentVolumeClaim, Pod},
        storage::v1::StorageClass,
    },
    apimachinery::pkg::api::resource::Quantity as Text,
};
use kinds::quantity::Quantity;

use crate::selectors::{self, Labels};

/// The node the scheduler chose for the first pod that uses a claim.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
pub const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The class a claim asks for; empty is the class of volumes without one.
pub fn class_of_claim(claim: &PersistentVolumeClaim) -> Option<&str> {
    let annotations = claim.metadata.annotations.as_ref();
    let old = annotations.and_then(|annotations| annotations.get(OLD_CLASS));
    let new = claim
        .spec
        .as_ref()
        .and_then(|spec| spec.storage_class_name.as_ref());
    old.or(new).map(String::as_str)
}

pub fn class_of_volume(volume: &PersistentVolume) -> &str {
    let annotations = volume.metadata.annotations.as_ref();
    let old = annotations.and_then(|annotations| annotations.get(OLD_CLASS));
    let new = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.storage_class_name.as_ref());
    old.or(new).map(String::as_str).unwrap_or_default()
}

/// Whether claims of the class wait until a pod uses them and has a place.
pub fn waits_for_consumer(class: &StorageClass) -> bool {
    class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
}

/// Both sides of the bond are made.
pub fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    let annotations = claim.metadata.annotations.as_ref();
    let is_complete = annotations.is_some_and(|annotations| annotations.contains_key(BIND_COMPLETED));
    is_complete && volume_name(claim).is_some()
}

pub fn volume_name(claim: &PersistentVolumeClaim) -> Option<&str> {
    let name = claim.spec.as_ref()?.volume_name.as_deref();
    name.filter(|name| !name.is_empty())
}

/// The volume names this claim, by its uid or, before it was bound, by name only.
pub fn is_reserved_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let Some(reference) = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref()) else {
        return false;
    };
    let uid = reference.uid.as_deref().unwrap_or_default();
    reference.name == claim.metadata.name
        && reference.namespace == claim.metadata.namespace
        && (uid.is_empty() || Some(uid) == claim.metadata.uid.as_deref())
}

/// The claims of a pod's volumes, by name; those of ephemeral volumes included.
pub fn claims_of(pod: &Pod) -> impl Iterator<Item = String> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(move |volume| {
        let own = volume.persistent_volume_claim.as_ref();
        let ephemeral = volume.ephemeral.as_ref();
        own.map(|claim| claim.claim_name.clone())
            .or_else(|| ephemeral.map(|_| format!("{name}-{}", volume.name)))
    })
}

/// Why a volume does not do for a claim that asks for it by name.
pub fn mismatch(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<&'static str> {
    if capacity(volume) < requested(claim) {
        Some("requested PV is too small")
    } else if class_of_volume(volume) != class_of_claim(claim).unwrap_or_default() {
        Some("storageClassName does not match")
    } else if !is_same_mode(volume, claim) {
        Some("incompatible volumeMode")
    } else if !has_access_modes(volume, claim) {
        Some("incompatible accessMode")
    } else {
        None
    }
}

/// The volume for a claim: one that is reserved for it, or else the smallest free one that does.
/// `is_allowed` may leave out volumes that are out of reach; reserved ones alone count where the claim
/// has to wait for a pod.
pub fn best_match<'a>(
    claim: &PersistentVolumeClaim,
    volumes: &'a [Arc<PersistentVolume>],
    must_wait: bool,
    is_allowed: impl Fn(&PersistentVolume) -> bool,
) -> Option<&'a Arc<PersistentVolume>> {
    let does = |volume: &&Arc<PersistentVolume>| {
        volume.metadata.deletion_timestamp.is_none()
            && capacity(volume) >= requested(claim)
            && is_same_mode(volume, claim)
            && has_access_modes(volume, claim)
    };
    let candidates = || volumes.iter().filter(does);
    let reserved = candidates().find(|volume| is_reserved_for(volume, claim));
    if reserved.is_some() || must_wait {
        return reserved;
    }
    let selector = claim.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let is_selected =
        |labels: Option<&Labels>| selector.is_none_or(|selector| selectors::matches(selector, labels));
    candidates()
        .filter(|volume| {
            is_free(volume)
                && is_selected(volume.metadata.labels.as_ref())
                && class_of_volume(volume) == class_of_claim(claim).unwrap_or_default()
                && is_allowed(volume)
        })
        .min_by_key(|volume| (capacity(volume), &volume.metadata.name))
}

fn is_free(volume: &PersistentVolume) -> bool {
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    phase == Some("Available") && reference.is_none()
}

pub fn capacity(volume: &PersistentVolume) -> Option<Quantity> {
    let capacity = volume.spec.as_ref()?.capacity.as_ref()?;
    read(capacity.get("storage")?)
}

pub fn requested(claim: &PersistentVolumeClaim) -> Option<Quantity> {
    let requests = claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?;
    read(requests.get("storage")?)
}

fn read(text: &Text) -> Option<Quantity> {
    Quantity::parse(&text.0).ok()
}

fn is_same_mode(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let of_volume = volume.spec.as_ref().and_then(|spec| spec.volume_mode.as_deref());
    let of_claim = claim.spec.as_ref().and_then(|spec| spec.volume_mode.as_deref());
    of_volume.unwrap_or("Filesystem") == of_claim.unwrap_or("Filesystem")
}

fn has_access_modes(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let offered = volume.spec.as_ref().and_then(|spec| spec.access_modes.as_ref());
    let mut wanted = claim
        .spec
        .iter()
        .flat_map(|spec| spec.access_modes.iter().flatten());
    wanted.all(|mode| offered.is_some_and(|offered| offered.contains(mode)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn volume(name: &str, size: &str, spec: Value) -> Arc<PersistentVolume> {
        let mut object = json!({
            "metadata": {"name": name, "labels": {"disk": name}},
            "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"]},
            "status": {"phase": "Available"},
        });
        for (field, value) in spec.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn claim(size: &str, spec: Value) -> PersistentVolumeClaim {
        let mut object = json!({
            "metadata": {"name": "c", "namespace": "n", "uid": "u"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
        });
        for (field, value) in spec.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn found(claim: &PersistentVolumeClaim, volumes: &[Arc<PersistentVolume>]) -> Option<String> {
        best_match(claim, volumes, false, |_| true).and_then(|volume| volume.metadata.name.clone())
    }

    #[test]
    fn the_smallest_that_is_large_enough_is_taken() {
        let volumes = [
            volume("large", "10Gi", json!({})),
            volume("fit", "5Gi", json!({})),
            volume("small", "1Gi", json!({})),
        ];
        assert_eq!(found(&claim("2Gi", json!({})), &volumes).as_deref(), Some("fit"));
        assert_eq!(found(&claim("20Gi", json!({})), &volumes), None);
    }

    #[test]
    fn class_modes_and_labels_must_be_those_asked_for() {
        let volumes = [
            volume("a", "5Gi", json!({})),
            volume("b", "5Gi", json!({"storageClassName": "fast"})),
        ];
        let ask = |spec: Value| found(&claim("1Gi", spec), &volumes);
        assert_eq!(ask(json!({"storageClassName": "fast"})).as_deref(), Some("b"));
        assert_eq!(
            ask(json!({"selector": {"matchLabels": {"disk": "a"}}})).as_deref(),
            Some("a")
        );
        assert_eq!(ask(json!({"selector": {"matchLabels": {"disk": "b"}}})), None);
        assert_eq!(ask(json!({"accessModes": ["ReadWriteMany"]})), None);
        assert_eq!(ask(json!({"volumeMode": "Block"})), None);
    }

    #[test]
    fn a_reserved_volume_comes_first_and_one_of_another_never() {
        let reference = |uid: &str| json!({"claimRef": {"namespace": "n", "name": "c", "uid": uid}});
        let volumes = [
            volume("free", "1Gi", json!({})),
            volume("mine", "9Gi", reference("")),
            volume("theirs", "1Gi", reference("other")),
        ];
        assert_eq!(found(&claim("1Gi", json!({})), &volumes).as_deref(), Some("mine"));
        let waiting = best_match(&claim("1Gi", json!({})), &volumes[..1], true, |_| true);
        assert!(waiting.is_none());
    }
}
