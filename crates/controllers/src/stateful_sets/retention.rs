//! Who owns the claims of a replica, and with whom they go. Pure.

use k8s_openapi::{
    api::{
        apps::v1::StatefulSet,
        core::v1::{PersistentVolumeClaim, Pod},
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};

use crate::ownership;

/// The owners a claim should have; `None` if it has them.
pub(crate) fn owners(
    claim: &PersistentVolumeClaim,
    set: &StatefulSet,
    pod: &Pod,
    is_surplus: bool,
) -> Option<Vec<OwnerReference>> {
    let known = claim.metadata.owner_references.clone().unwrap_or_default();
    let ours = [ownership::reference(set), ownership::reference(pod)];
    // A namesake that was there before us still holds the claim; the garbage collector will see to it.
    if ours.iter().any(|own| is_held_by_namesake(&known, own)) {
        return None;
    }
    let (goes_with_set, goes_with_pod) = policy(set);
    let mut wanted: Vec<OwnerReference> = known
        .iter()
        .filter(|owner| ours.iter().all(|own| own.uid != owner.uid))
        .cloned()
        .collect();
    let is_anothers = wanted.iter().any(|owner| owner.controller == Some(true));
    let [of_set, of_pod] = ours;
    if !is_anothers && goes_with_pod && is_surplus {
        wanted.push(of_pod);
    } else if !is_anothers && goes_with_set {
        wanted.push(of_set);
    }
    let is_same = wanted.len() == known.len()
        && wanted.iter().all(|owner| {
            let mut known = known.iter();
            known.any(|known| known.uid == owner.uid && known.controller == owner.controller)
        });
    (!is_same).then_some(wanted)
}

/// Whether the claim is about to go with a pod of the same name as one that would be made.
pub(crate) fn is_going(claim: &PersistentVolumeClaim, set: &StatefulSet, pod: &Pod) -> bool {
    let known = claim.metadata.owner_references.iter().flatten();
    let (_, goes_with_pod) = policy(set);
    goes_with_pod
        && known
            .into_iter()
            .any(|owner| owner.kind == "Pod" && Some(&owner.name) == pod.metadata.name.as_ref())
}

fn is_held_by_namesake(known: &[OwnerReference], own: &OwnerReference) -> bool {
    known
        .iter()
        .any(|owner| owner.kind == own.kind && owner.name == own.name && owner.uid != own.uid)
}

/// Whether claims go when the set is deleted, and when it shrinks.
fn policy(set: &StatefulSet) -> (bool, bool) {
    let spec = set.spec.as_ref();
    let policy = spec.and_then(|spec| spec.persistent_volume_claim_retention_policy.as_ref());
    let deletes = |when: Option<&String>| when.is_some_and(|when| when == "Delete");
    (
        deletes(policy.and_then(|policy| policy.when_deleted.as_ref())),
        deletes(policy.and_then(|policy| policy.when_scaled.as_ref())),
    )
}
