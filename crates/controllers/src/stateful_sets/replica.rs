//! A replica with its own name and storage. Pure.

use k8s_openapi::api::{
    apps::v1::{StatefulSet, StatefulSetSpec},
    core::v1::{PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume},
};

use crate::{ownership, pods::make};

pub(crate) const REVISION_LABEL: &str = "controller-revision-hash";
const NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";
const INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";

/// The number at the end of the pod's name, if it is a replica of the set.
pub(crate) fn ordinal(set: &StatefulSet, pod: &Pod) -> Option<i32> {
    let (parent, number) = pod.metadata.name.as_deref()?.rsplit_once('-')?;
    (Some(parent) == set.metadata.name.as_deref()).then(|| number.parse().ok())?
}

pub(crate) fn revision(pod: &Pod) -> Option<&str> {
    pod.metadata
        .labels
        .as_ref()?
        .get(REVISION_LABEL)
        .map(String::as_str)
}

pub(crate) fn pod(set: &StatefulSet, template: &PodTemplateSpec, revision: &str, ordinal: i32) -> Pod {
    let mut pod = make::from_template(template, ownership::reference(set));
    let name = name(set, ordinal);
    pod.metadata.generate_name = None;
    pod.metadata.namespace.clone_from(&set.metadata.namespace);
    pod.metadata.name = Some(name.clone());
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(REVISION_LABEL.into(), revision.into());
    let spec = pod.spec.get_or_insert_default();
    spec.hostname = Some(name);
    spec.subdomain = set.spec.as_ref().and_then(|spec| spec.service_name.clone());
    identify(set, &mut pod, ordinal);
    pod
}

/// Gives a pod its labels and its storage.
pub(crate) fn identify(set: &StatefulSet, pod: &mut Pod, ordinal: i32) {
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(NAME_LABEL.into(), name(set, ordinal));
    labels.insert(INDEX_LABEL.into(), ordinal.to_string());
    let claims = claims(set, ordinal);
    if claims.is_empty() {
        return;
    }
    let spec = pod.spec.get_or_insert_default();
    let mut volumes: Vec<Volume> = claims.iter().map(|(name, claim)| volume(name, claim)).collect();
    let others = spec.volumes.take().unwrap_or_default().into_iter();
    volumes.extend(others.filter(|volume| claims.iter().all(|(name, _)| *name != volume.name)));
    spec.volumes = Some(volumes);
}

/// Whether a pod has the labels and the storage of its ordinal.
pub(crate) fn is_identified(set: &StatefulSet, pod: &Pod, ordinal: i32) -> bool {
    let labels = pod.metadata.labels.as_ref();
    let has_name = labels.and_then(|labels| labels.get(NAME_LABEL)) == pod.metadata.name.as_ref();
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_ref());
    let claimed = |name: &str| {
        let mut volumes = volumes.into_iter().flatten();
        let volume = volumes.find(|volume| volume.name == name)?;
        Some(volume.persistent_volume_claim.as_ref()?.claim_name.as_str())
    };
    let mut claims = claims(set, ordinal).into_iter();
    has_name && claims.all(|(name, claim)| claimed(&name) == claim.metadata.name.as_deref())
}

fn name(set: &StatefulSet, ordinal: i32) -> String {
    let set = set.metadata.name.as_deref().unwrap_or_default();
    format!("{set}-{ordinal}")
}

fn volume(name: &str, claim: &PersistentVolumeClaim) -> Volume {
    Volume {
        name: name.into(),
        persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
            claim_name: claim.metadata.name.clone().unwrap_or_default(),
            read_only: None,
        }),
        ..Volume::default()
    }
}

/// The claims of a replica, by the name of their template.
pub(crate) fn claims(set: &StatefulSet, ordinal: i32) -> Vec<(String, PersistentVolumeClaim)> {
    let spec = set.spec.as_ref();
    let templates = spec.and_then(|spec| spec.volume_claim_templates.as_ref());
    let claim = |template: &PersistentVolumeClaim| {
        let purpose = template.metadata.name.clone().unwrap_or_default();
        let mut claim = template.clone();
        claim.metadata.name = Some(format!("{purpose}-{}", name(set, ordinal)));
        claim.metadata.namespace.clone_from(&set.metadata.namespace);
        let labels = claim.metadata.labels.get_or_insert_default();
        labels.extend(pairs(spec));
        claim.status = None;
        (purpose, claim)
    };
    templates.into_iter().flatten().map(claim).collect()
}

fn pairs(spec: Option<&StatefulSetSpec>) -> std::collections::BTreeMap<String, String> {
    let pairs = spec.and_then(|spec| spec.selector.match_labels.clone());
    pairs.unwrap_or_default()
}
