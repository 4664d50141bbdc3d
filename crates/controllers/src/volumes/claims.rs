//! What becomes of a claim. Pure.

use std::sync::Arc;

use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim},
    storage::v1::StorageClass,
};
use kinds::quantity::Quantity;
use reconcile::volumes::{
    BIND_COMPLETED, SELECTED_NODE, best_match, class_of_claim, is_reserved_for, mismatch, requested,
    volume_name, waits_for_consumer,
};

use super::provision::{PROVISIONER, is_ours};

pub(crate) const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

pub(crate) struct Observed<'a> {
    pub claim: &'a PersistentVolumeClaim,
    pub volumes: &'a [Arc<PersistentVolume>],
    pub classes: &'a [Arc<StorageClass>],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub is_warning: bool,
    pub reason: &'static str,
    pub text: String,
}

impl Note {
    pub(crate) fn normal(reason: &'static str, text: impl Into<String>) -> Self {
        Self {
            is_warning: false,
            reason,
            text: text.into(),
        }
    }

    pub(crate) fn warning(reason: &'static str, text: impl Into<String>) -> Self {
        Self {
            is_warning: true,
            reason,
            text: text.into(),
        }
    }
}

#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    Nothing,
    Wait(Option<Note>),
    Lose(Note),
    /// The claim left its class open, and there is a default by now.
    AssignClass(String),
    Bind(Arc<PersistentVolume>),
    /// Make a volume of our own class.
    Provision(Arc<StorageClass>),
    /// The claim asks for more than its volume has, and it is one of ours.
    Grow(Arc<PersistentVolume>, String),
}

pub(crate) fn plan(observed: &Observed<'_>) -> Step {
    let claim = observed.claim;
    let annotations = claim.metadata.annotations.as_ref();
    let was_bound = annotations.is_some_and(|annotations| annotations.contains_key(BIND_COMPLETED));
    match (was_bound, volume_name(claim)) {
        (true, volume) => bound(observed, volume),
        (false, Some(volume)) => named(observed, volume),
        (false, None) => unbound(observed),
    }
}

fn bound(observed: &Observed<'_>, name: Option<&str>) -> Step {
    let lost = |what: &str| {
        let text = format!("Bound claim has lost {what}. Data on the volume is lost!");
        Step::Lose(Note::warning("ClaimLost", text))
    };
    let Some(name) = name else {
        return lost("reference to PersistentVolume");
    };
    let Some(volume) = find(observed, name) else {
        return lost("its PersistentVolume");
    };
    let has_reference = volume.spec.as_ref().is_some_and(|spec| spec.claim_ref.is_some());
    if has_reference && !is_reserved_for(volume, observed.claim) {
        let text = "Two claims are bound to the same volume, this one is bound incorrectly";
        return Step::Lose(Note::warning("ClaimMisbound", text));
    }
    match growth(observed.claim, volume) {
        Some(size) => Step::Grow(volume.clone(), size),
        None if is_settled(observed.claim, volume) => Step::Nothing,
        None => Step::Bind(volume.clone()),
    }
}

fn is_settled(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> bool {
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    let has_uid = reference.is_some_and(|reference| reference.uid == claim.metadata.uid);
    let volume_phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    phase == Some("Bound") && volume_phase == Some("Bound") && has_uid
}

/// How large a volume of ours has to become.
fn growth(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Option<String> {
    let status = claim.status.as_ref()?;
    let present = status.capacity.as_ref()?.get("storage")?;
    let present = Quantity::parse(&present.0).ok()?;
    let wanted = requested(claim)?;
    let text = claim
        .spec
        .as_ref()?
        .resources
        .as_ref()?
        .requests
        .as_ref()?
        .get("storage")?;
    (status.phase.as_deref() == Some("Bound") && is_ours(volume) && wanted > present).then(|| text.0.clone())
}

/// A claim that asks for a certain volume.
fn named(observed: &Observed<'_>, name: &str) -> Step {
    let claim = observed.claim;
    let Some(volume) = find(observed, name) else {
        return Step::Wait(None);
    };
    let has_reference = volume.spec.as_ref().is_some_and(|spec| spec.claim_ref.is_some());
    if is_reserved_for(volume, claim) {
        return Step::Bind(volume.clone());
    }
    if has_reference {
        let text = format!("volume {name:?} already bound to a different claim.");
        return Step::Wait(Some(Note::warning("FailedBinding", text)));
    }
    match mismatch(volume, claim) {
        Some(cause) => {
            let text = format!("Cannot bind to requested volume {name:?}: {cause}");
            Step::Wait(Some(Note::warning("VolumeMismatch", text)))
        }
        None => Step::Bind(volume.clone()),
    }
}

fn unbound(observed: &Observed<'_>) -> Step {
    let claim = observed.claim;
    if class_of_claim(claim).is_none()
        && let Some(class) = default_class(observed.classes)
    {
        return Step::AssignClass(class.to_owned());
    }
    let name = class_of_claim(claim).unwrap_or_default();
    let class = observed
        .classes
        .iter()
        .find(|class| class.metadata.name.as_deref() == Some(name));
    let is_delayed = class.is_some_and(|class| waits_for_consumer(class));
    if let Some(volume) = best_match(claim, observed.volumes, is_delayed, |_| true) {
        return Step::Bind(volume.clone());
    }
    let annotations = claim.metadata.annotations.as_ref();
    let has_place = annotations.is_some_and(|annotations| annotations.contains_key(SELECTED_NODE));
    if is_delayed && !has_place {
        let text = "waiting for first consumer to be created before binding";
        return Step::Wait(Some(Note::normal("WaitForFirstConsumer", text)));
    }
    match class {
        Some(class) if class.provisioner == PROVISIONER => Step::Provision(class.clone()),
        Some(class) => Step::Wait(Some(nobody_of_ours(&class.provisioner))),
        None if name.is_empty() => {
            let text = "no persistent volumes available for this claim and no storage class is set";
            Step::Wait(Some(Note::normal("FailedBinding", text)))
        }
        None => {
            let text = format!("storageclass.storage.k8s.io {name:?} not found");
            Step::Wait(Some(Note::warning("ProvisioningFailed", text)))
        }
    }
}

fn nobody_of_ours(provisioner: &str) -> Note {
    if provisioner == "kubernetes.io/no-provisioner" {
        let text = "no volume plugin matched name: kubernetes.io/no-provisioner";
        return Note::warning("ProvisioningFailed", text);
    }
    let text = format!(
        "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by \
         the system administrator. If volume creation is delayed, please verify that the provisioner is running \
         and correctly registered."
    );
    Note::normal("ExternalProvisioning", text)
}

fn find<'a>(observed: &Observed<'a>, name: &str) -> Option<&'a Arc<PersistentVolume>> {
    let mut volumes = observed.volumes.iter();
    volumes.find(|volume| volume.metadata.name.as_deref() == Some(name))
}

/// The newest of those that are marked as the default.
fn default_class(classes: &[Arc<StorageClass>]) -> Option<&str> {
    let is_default = |class: &&Arc<StorageClass>| {
        let annotations = class.metadata.annotations.as_ref();
        annotations
            .and_then(|annotations| annotations.get(DEFAULT_CLASS))
            .map(String::as_str)
            == Some("true")
    };
    let created = |class: &&Arc<StorageClass>| class.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let class = classes.iter().filter(is_default).max_by_key(created)?;
    class.metadata.name.as_deref()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn claim(spec: Value, annotations: Value) -> PersistentVolumeClaim {
        let mut object = json!({
            "metadata": {"name": "c", "namespace": "n", "uid": "u", "annotations": annotations},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        });
        for (field, value) in spec.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn class(name: &str, provisioner: &str, mode: &str) -> Arc<StorageClass> {
        let object =
            json!({"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn volume(spec: Value) -> Arc<PersistentVolume> {
        let mut object = json!({
            "metadata": {"name": "v"},
            "spec": {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"]},
            "status": {"phase": "Available"},
        });
        for (field, value) in spec.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn look(claim: &PersistentVolumeClaim, volumes: &[Arc<PersistentVolume>]) -> Step {
        let classes = [
            class("ours", PROVISIONER, "Immediate"),
            class("late", PROVISIONER, "WaitForFirstConsumer"),
            class("theirs", "efs.csi.aws.com", "Immediate"),
        ];
        plan(&Observed {
            claim,
            volumes,
            classes: &classes,
        })
    }

    fn reason(step: Step) -> String {
        match step {
            Step::Wait(Some(note)) | Step::Lose(note) => note.reason.to_owned(),
            step => format!("{step:?}"),
        }
    }

    #[test]
    fn a_claim_is_bound_provisioned_or_told_what_it_waits_for() {
        let of_class = |class: &str| claim(json!({"storageClassName": class}), json!({}));
        assert!(matches!(look(&of_class(""), &[volume(json!({}))]), Step::Bind(_)));
        assert_eq!(reason(look(&of_class(""), &[])), "FailedBinding");
        assert!(matches!(look(&of_class("ours"), &[]), Step::Provision(_)));
        assert_eq!(reason(look(&of_class("late"), &[])), "WaitForFirstConsumer");
        assert_eq!(reason(look(&of_class("theirs"), &[])), "ExternalProvisioning");
        assert_eq!(reason(look(&of_class("none"), &[])), "ProvisioningFailed");
        let placed = claim(
            json!({"storageClassName": "late"}),
            json!({SELECTED_NODE: "node"}),
        );
        assert!(matches!(look(&placed, &[]), Step::Provision(_)));
    }

    #[test]
    fn a_claim_that_names_its_volume_gets_no_other() {
        let named = claim(json!({"volumeName": "v", "storageClassName": ""}), json!({}));
        assert_eq!(look(&named, &[]), Step::Wait(None));
        assert!(matches!(look(&named, &[volume(json!({}))]), Step::Bind(_)));
        let taken = volume(json!({"claimRef": {"namespace": "n", "name": "other"}}));
        assert_eq!(reason(look(&named, &[taken])), "FailedBinding");
        let other = volume(json!({"storageClassName": "ours"}));
        assert_eq!(reason(look(&named, &[other])), "VolumeMismatch");
    }

    #[test]
    fn a_bound_claim_without_its_volume_is_lost() {
        let bound = claim(json!({"volumeName": "v"}), json!({BIND_COMPLETED: "yes"}));
        assert_eq!(reason(look(&bound, &[])), "ClaimLost");
        let of_another = volume(json!({"claimRef": {"namespace": "n", "name": "c", "uid": "other"}}));
        assert_eq!(reason(look(&bound, &[of_another])), "ClaimMisbound");
    }
}
