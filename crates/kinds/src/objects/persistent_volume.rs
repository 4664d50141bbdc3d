//! PersistentVolume: storage that exists. Where it comes from never changes.

mod source_checks;
mod sources;

use serde_json::{Value, json};

use super::{
    access_modes, deprecated_labels,
    field::{Errors, Field},
    node_selector, resource_names,
};
use crate::{
    checks::same, internal_form, names, read, resource_list::amount_of, strategy::Strategy,
    unified_diff::unified_diff,
};

const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const IMMUTABLE_AFFINITY: &str = "field is immutable, except for updating from beta label to GA";

/// Annotations that fields replaced.
const DEPRECATED_ANNOTATIONS: [(&str, &str); 2] = [
    (
        "volume.beta.kubernetes.io/storage-class",
        "deprecated since v1.8; use \"storageClassName\" attribute instead",
    ),
    (
        MOUNT_OPTIONS,
        "deprecated since v1.31; use \"mountOptions\" attribute instead",
    ),
];

/// Labels whose beta names may be replaced by their final ones.
const RENAMED_LABELS: [(&str, &str); 5] = [
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
    ),
];

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    prepare_for_create: |volume| volume["status"] = json!({"phase": "Pending"}),
    prepare_for_update: super::keep_status,
    validate,
    validate_update,
    prepare_for_status_update: super::keep_spec,
    warnings_on_create: warnings,
    warnings_on_update: |volume, _| warnings(volume),
    ..Strategy::NONE
};

fn default(volume: &mut Value) {
    if read::text(read::get(volume, "status"), "phase").is_empty() {
        read::object_mut(volume, "status").insert("phase".to_owned(), "Pending".into());
    }
    let spec = super::spec_mut(volume);
    if read::text(spec, "persistentVolumeReclaimPolicy").is_empty() {
        spec["persistentVolumeReclaimPolicy"] = "Retain".into();
    }
    read::default(spec, "volumeMode", "Filesystem");
    sources::default(spec);
}

/// Notes when the phase of a volume changed, unless the writer did. `old` is null on creation.
pub fn stamp_phase(volume: &mut Value, old: &Value, now: &str) {
    let phase = |volume| read::at(volume, &["status", "phase"]);
    let stamp = read::at(volume, &["status", "lastPhaseTransitionTime"]);
    let before = read::at(old, &["status", "lastPhaseTransitionTime"]);
    let stamp = if old.is_null() || (phase(volume) != phase(old) && (stamp.is_null() || stamp == before)) {
        now.into()
    } else if phase(volume) == phase(old) && stamp.is_null() && !before.is_null() {
        before.clone()
    } else {
        return;
    };
    read::object_mut(volume, "status").insert("lastPhaseTransitionTime".to_owned(), stamp);
}

fn validate(volume: &Value, errors: &mut Errors) {
    let root = Field::root(volume);
    let spec = root.child("spec");
    let modes = spec.child("accessModes");
    modes.require(errors);
    access_modes::validate(&modes, errors);
    validate_capacity(&spec.child("capacity"), errors);
    let policy = spec.child("persistentVolumeReclaimPolicy");
    if !policy.is_empty() {
        policy.one_of(&["Delete", "Recycle", "Retain"], errors);
    }
    let affinity = spec.child("nodeAffinity");
    if affinity.is_set() {
        let required = affinity.child("required");
        if required.is_set() {
            node_selector::validate(&required, errors);
        } else {
            required.required_because("must specify required node constraints", errors);
        }
    }
    sources::validate(&spec, read::text(read::get(volume, "metadata"), "name"), errors);
    validate_reclaim(&spec, &policy, errors);
    spec.child("storageClassName")
        .optional_syntax(names::dns_subdomain, errors);
    spec.child("volumeMode")
        .optional_one_of(&access_modes::VOLUME_MODES, errors);
    validate_attributes_class(&spec, errors);
    validate_mount_options(&root, &spec, errors);
}

fn validate_capacity(capacity: &Field<'_>, errors: &mut Errors) {
    capacity.require(errors);
    let entries = capacity.value.as_object();
    if entries.is_none_or(|entries| entries.len() > 1 || !entries.contains_key("storage")) {
        let shown = entries.map_or(Value::Null, |entries| Value::Object(entries.clone()));
        let path = capacity.path();
        errors.push(manifests::field::FieldError::not_supported(
            &path,
            &shown,
            &["storage"],
        ));
    }
    for (_, amount) in capacity.entries() {
        let value = amount_of(amount.value).value();
        if value < 0 {
            amount.invalid_as(value, "must be a valid resource quantity", errors);
        }
        resource_names::validate_positive(&amount, errors);
    }
}

fn validate_reclaim(spec: &Field<'_>, policy: &Field<'_>, errors: &mut Errors) {
    let host_path = spec.child("hostPath.path");
    let is_root = host_path.text().starts_with('/')
        && host_path
            .text()
            .split('/')
            .all(|part| part.is_empty() || part == ".");
    if is_root && policy.text() == "Recycle" {
        policy.forbidden("may not be 'recycle' for a hostPath mount of '/'", errors);
    }
}

fn validate_attributes_class(spec: &Field<'_>, errors: &mut Errors) {
    let class = spec.child("volumeAttributesClassName");
    if !class.is_set() {
        return;
    }
    if class.is_empty() {
        class.required_because("an empty string is disallowed", errors);
    } else {
        class.syntax(names::dns_subdomain, errors);
    }
    let csi = spec.child("csi");
    if !csi.is_set() {
        csi.required_because("has to be specified when using volumeAttributesClassName", errors);
    }
}

fn validate_mount_options(root: &Field<'_>, spec: &Field<'_>, errors: &mut Errors) {
    let annotations = root.child("metadata.annotations");
    if annotations.key(MOUNT_OPTIONS).is_set() && !sources::takes_mount_options(spec) {
        annotations
            .renamed(MOUNT_OPTIONS)
            .forbidden("may not specify mount options for this volume type", errors);
    }
}

fn validate_update(volume: &Value, old: &Value, errors: &mut Errors) {
    validate(volume, errors);
    let root = Field::root(volume);
    let spec = root.child("spec");
    let before = read::get(old, "spec");
    let (new_source, old_source) = (sources::of(spec.value), sources::of(before));
    if !sources::is_same(&new_source, &old_source) {
        let shown = |source| internal_form::pretty(source, "PersistentVolumeSource");
        let changes = unified_diff(&shown(before), &shown(spec.value));
        spec.renamed("persistentvolumesource").forbidden(
            &format!("spec.persistentvolumesource is immutable after creation\n{changes}"),
            errors,
        );
    }
    // Errors name these two fields without `spec`.
    spec_field(&spec, "volumeMode").immutable(read::get(before, "volumeMode"), errors);
    let affinity = read::get(before, "nodeAffinity");
    if !affinity.is_null() && !same_affinity(read::get(spec.value, "nodeAffinity"), affinity) {
        let affinity = spec_field(&spec, "nodeAffinity");
        affinity.invalid_shown("VolumeNodeAffinity", IMMUTABLE_AFFINITY, errors);
    }
    let class = spec.child("volumeAttributesClassName");
    if !class.is_set() && read::has(before, "volumeAttributesClassName") {
        class.forbidden("update from non-nil value to nil is forbidden", errors);
    }
}

/// A field of the spec that errors name as if it stood at the top.
pub(crate) fn spec_field<'a>(spec: &Field<'a>, name: &'a str) -> Field<'a> {
    Field::top_level(read::get(spec.value, name), name)
}

fn same_affinity(new: &Value, old: &Value) -> bool {
    fn renamed(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(renamed).collect(),
            Value::Object(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(name, value)| match value {
                        Value::String(key) if name == "key" => (name.clone(), final_label(key).into()),
                        _ => (name.clone(), renamed(value)),
                    })
                    .collect(),
            ),
            other => other.clone(),
        }
    }
    same(new, old) || same(&renamed(new), &renamed(old))
}

fn final_label(label: &str) -> &str {
    RENAMED_LABELS
        .iter()
        .find(|(beta, _)| *beta == label)
        .map_or(label, |(_, name)| name)
}

fn warnings(volume: &Value) -> Vec<String> {
    let annotations = read::at(volume, &["metadata", "annotations"]);
    let spec = read::get(volume, "spec");
    let mut warnings: Vec<String> = DEPRECATED_ANNOTATIONS
        .iter()
        .filter(|(key, _)| read::has(annotations, key))
        .map(|(key, message)| format!("metadata.annotations[{key}]: {message}"))
        .collect();
    if read::text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
        warnings.push("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.".to_owned());
    }
    let root = Field::root(volume);
    for term in root.child("spec.nodeAffinity.required.nodeSelectorTerms").items() {
        warnings.extend(deprecated_labels::warnings(&term.child("matchExpressions")));
    }
    warnings.extend(sources::warnings(spec));
    warnings
}
