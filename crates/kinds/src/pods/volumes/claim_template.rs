//! Claims made from templates: for ephemeral volumes of a pod and for members of a StatefulSet.

use manifests::field::{FieldError, Path, quoted};
use serde_json::{Value, json};

use super::super::Options;
use crate::{
    checks::{Errors, one_of_if_set, require, syntax},
    label_selector, names, object_meta,
    pods::resources::{amount, validate_amount},
    read::{at, get, has, list, text},
};

const ACCESS_MODES: &[&str] = &[
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

pub(super) fn validate_ephemeral(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    let template = get(source, "volumeClaimTemplate");
    let path = path.child("volumeClaimTemplate");
    if template.is_null() {
        errors.push(FieldError::required(&path, ""));
        return;
    }
    object_meta::validate_template(get(template, "metadata"), &path.child("metadata"), errors);
    validate_claim_spec(get(template, "spec"), &path.child("spec"), errors);
}

/// The claim is named after the pod and the volume.
pub(super) fn validate_claim_name(volume: &str, pod_name: &str, path: &Path, errors: &mut Errors) {
    if pod_name.is_empty() || volume.is_empty() {
        return;
    }
    let claim = format!("{pod_name}-{volume}");
    for message in names::dns_subdomain(&claim) {
        let detail = format!("PVC name {}: {message}", quoted(&claim));
        errors.push(FieldError::invalid(&path.child("name"), &json!(volume), detail));
    }
}

/// Checks what a claim asks for.
pub(crate) fn validate_claim_spec(spec: &Value, path: &Path, errors: &mut Errors) {
    validate_access_modes(spec, path, errors);
    validate_storage(spec, path, errors);
    if !text(spec, "storageClassName").is_empty() {
        syntax(spec, "storageClassName", names::dns_subdomain, path, errors);
    }
    one_of_if_set(spec, "volumeMode", &["Block", "Filesystem"], path, errors);
    validate_data_sources(spec, path, errors);
    if !text(spec, "volumeAttributesClassName").is_empty() {
        syntax(
            spec,
            "volumeAttributesClassName",
            names::dns_subdomain,
            path,
            errors,
        );
    }
}

fn validate_access_modes(spec: &Value, path: &Path, errors: &mut Errors) {
    let modes = list(spec, "accessModes");
    let modes_path = path.child("accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(
            &modes_path,
            "at least 1 access mode is required",
        ));
    }
    label_selector::validate(get(spec, "selector"), &path.child("selector"), errors);
    let known = |mode: &&Value| mode.as_str().is_some_and(|mode| ACCESS_MODES.contains(&mode));
    for mode in modes.iter().filter(|mode| !known(mode)) {
        errors.push(FieldError::not_supported(&modes_path, mode, ACCESS_MODES));
    }
    let alone = |mode: &&Value| **mode == "ReadWriteOncePod";
    if modes.iter().any(|mode| alone(&mode)) && modes.iter().filter(known).any(|mode| !alone(&mode)) {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(&modes_path, detail));
    }
}

fn validate_storage(spec: &Value, path: &Path, errors: &mut Errors) {
    let storage = at(spec, &["resources", "requests", "storage"]);
    let path = path.child("resources").key("storage");
    if storage.is_null() {
        errors.push(FieldError::required(&path, ""));
        return;
    }
    let storage = amount(storage);
    if storage.is_negative() || storage.is_zero() {
        let detail = "must be greater than zero";
        errors.push(FieldError::invalid(&path, &json!(storage.to_string()), detail));
    } else {
        validate_amount("storage", storage, &path, errors);
    }
}

fn validate_data_sources(spec: &Value, path: &Path, errors: &mut Errors) {
    let (source, reference) = (get(spec, "dataSource"), get(spec, "dataSourceRef"));
    for key in ["dataSource", "dataSourceRef"]
        .into_iter()
        .filter(|key| has(spec, key))
    {
        validate_data_source(get(spec, key), &path.child(key), errors);
    }
    if source.is_null() || reference.is_null() {
        return;
    }
    let elsewhere = !text(reference, "namespace").is_empty();
    let same = ["apiGroup", "kind", "name"]
        .iter()
        .all(|key| get(source, key) == get(reference, key));
    let detail = if elsewhere {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if !same {
        "must match dataSourceRef"
    } else {
        return;
    };
    // The real server shows an empty struct here: the path it meant to name.
    errors.push(FieldError::invalid(path, &json!({}), detail));
}

fn validate_data_source(source: &Value, path: &Path, errors: &mut Errors) {
    require(source, "name", path, errors);
    require(source, "kind", path, errors);
    let (group, kind) = (text(source, "apiGroup"), text(source, "kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(FieldError::invalid(path, &json!(kind), detail));
    }
    if !group.is_empty() {
        syntax(source, "apiGroup", names::dns_subdomain, path, errors);
    }
    if !text(source, "namespace").is_empty() {
        syntax(source, "namespace", names::dns_label, path, errors);
    }
}

/// Warnings about parts of bytes, which no disk has.
pub(crate) fn storage_warnings(spec: &Value, path: &Path) -> Vec<String> {
    let resources = get(spec, "resources");
    ["requests", "limits"]
        .into_iter()
        .map(|list| (list, amount(at(resources, &[list, "storage"]))))
        .filter(|(_, storage)| storage.milli_value() % 1000 != 0)
        .map(|(list, storage)| {
            format!(
                "{}: fractional byte value {} is invalid, must be an integer",
                path.child("resources").child(list).key("storage"),
                quoted(&storage.to_string())
            )
        })
        .collect()
}
