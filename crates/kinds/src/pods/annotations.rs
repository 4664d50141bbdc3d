//! Annotations that mean something for pods, most of them older than the fields that replaced them.

use manifests::field::{FieldError, Path, quoted};
use serde_json::{Value, json};

use super::{all_containers, tolerations, visit_containers, volumes::paths};
use crate::{
    checks::Errors,
    read::{get, has, text},
};

pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";
pub(super) const APP_ARMOR_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
pub(super) const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
pub(super) const SECCOMP_CONTAINER_PREFIX: &str = "container.seccomp.security.alpha.kubernetes.io/";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const LOCALHOST: &str = "localhost/";

/// Checks the annotations of a pod or template; `path` is that of the annotations.
pub(super) fn validate(
    annotations: &Value,
    spec: &Value,
    allow_invalid_deletion_cost: bool,
    path: &Path,
    errors: &mut Errors,
) {
    if has(annotations, MIRROR) && text(spec, "nodeName").is_empty() {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(FieldError::invalid(
            &path.key(MIRROR),
            get(annotations, MIRROR),
            detail,
        ));
    }
    validate_tolerations(annotations, path, errors);
    if !allow_invalid_deletion_cost && !has_valid_deletion_cost(annotations) {
        let cost = get(annotations, DELETION_COST);
        errors.push(FieldError::invalid(
            &path.key(DELETION_COST),
            cost,
            "must be a 32bit integer",
        ));
    }
    validate_seccomp(annotations, path, errors);
    validate_app_armor(annotations, spec, path, errors);
}

fn validate_tolerations(annotations: &Value, path: &Path, errors: &mut Errors) {
    let written = text(annotations, TOLERATIONS);
    if written.is_empty() {
        return;
    }
    match serde_json::from_str::<Vec<Value>>(written) {
        Ok(list) => tolerations::validate(&list, &path.child(TOLERATIONS), errors),
        Err(error) => errors.push(FieldError::invalid(path, &json!(TOLERATIONS), error.to_string())),
    }
}

/// Whether the cost of deleting a pod is a number, if it is given.
pub(super) fn has_valid_deletion_cost(annotations: &Value) -> bool {
    let Some(cost) = get(annotations, DELETION_COST).as_str() else {
        return true;
    };
    let plain = cost == "0" || cost.starts_with(['-', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    plain && cost.parse::<i32>().is_ok()
}

fn validate_seccomp(annotations: &Value, path: &Path, errors: &mut Errors) {
    if let Some(profile) = get(annotations, SECCOMP_POD).as_str() {
        validate_seccomp_profile(profile, &path.child(SECCOMP_POD), errors);
    }
    for (key, profile) in annotations.as_object().into_iter().flatten() {
        if key.starts_with(SECCOMP_CONTAINER_PREFIX) {
            validate_seccomp_profile(profile.as_str().unwrap_or_default(), &path.child(key), errors);
        }
    }
}

fn validate_seccomp_profile(profile: &str, path: &Path, errors: &mut Errors) {
    if ["runtime/default", "docker/default", "unconfined"].contains(&profile) {
        return;
    }
    match profile.strip_prefix(LOCALHOST) {
        Some(file) => paths::validate_descending(file, path, errors),
        None => {
            errors.push(FieldError::invalid(
                path,
                &json!(profile),
                "must be a valid seccomp profile",
            ));
        }
    }
}

fn validate_app_armor(annotations: &Value, spec: &Value, path: &Path, errors: &mut Errors) {
    for (key, profile) in annotations.as_object().into_iter().flatten() {
        let Some(name) = key.strip_prefix(APP_ARMOR_PREFIX) else {
            continue;
        };
        if !all_containers(spec).any(|container| text(container, "name") == name) {
            errors.push(FieldError::invalid(
                &path.key(key),
                &json!(name),
                "container not found",
            ));
        }
        let profile = profile.as_str().unwrap_or_default();
        if !["", "runtime/default", "unconfined"].contains(&profile) && !profile.starts_with(LOCALHOST) {
            let detail = format!("invalid AppArmor profile name: {}", quoted(profile));
            errors.push(FieldError::invalid(&path.key(key), &json!(profile), detail));
        }
    }
}

/// Annotations and fields that say the same thing must agree; `path` is that of the spec.
pub(super) fn validate_agreement(meta: &Value, spec: &Value, path: &Path, errors: &mut Errors) {
    let annotations = get(meta, "annotations");
    if annotations.as_object().is_none_or(serde_json::Map::is_empty) {
        return;
    }
    let of_pod = get(get(spec, "securityContext"), "seccompProfile");
    if let Some(annotation) = get(annotations, SECCOMP_POD).as_str() {
        let path = path.child("securityContext").child("seccompProfile");
        compare("seccomp", annotation, of_pod, &path, errors);
    }
    visit_containers(spec, path, |container, path| {
        let key = format!("{SECCOMP_CONTAINER_PREFIX}{}", text(container, "name"));
        if let Some(annotation) = get(annotations, &key).as_str() {
            let profile = get(get(container, "securityContext"), "seccompProfile");
            let path = path().child("securityContext").child("seccompProfile");
            compare("seccomp", annotation, profile, &path, errors);
        }
    });
    if text(get(spec, "os"), "name") == "windows" {
        return;
    }
    let of_pod = get(get(spec, "securityContext"), "appArmorProfile");
    visit_containers(spec, path, |container, path| {
        let key = format!("{APP_ARMOR_PREFIX}{}", text(container, "name"));
        if let Some(annotation) = get(annotations, &key).as_str() {
            let own = get(get(container, "securityContext"), "appArmorProfile");
            let path = path().child("securityContext").child("appArmorProfile");
            compare(
                "apparmor",
                annotation,
                if own.is_null() { of_pod } else { own },
                &path,
                errors,
            );
        }
    });
}

fn compare(what: &str, annotation: &str, profile: &Value, path: &Path, errors: &mut Errors) {
    let type_agrees = match text(profile, "type") {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => {
            annotation == "runtime/default" || (what == "seccomp" && annotation == "docker/default")
        }
        "Localhost" => match annotation.strip_prefix(LOCALHOST) {
            Some(file) => {
                if get(profile, "localhostProfile").as_str() != Some(file) {
                    let detail = format!("{what} profile in annotation and field must match");
                    errors.push(FieldError::forbidden(&path.child("localhostProfile"), detail));
                }
                true
            }
            None => false,
        },
        _ => true,
    };
    if !type_agrees {
        let detail = format!("{what} type in annotation and field must match");
        errors.push(FieldError::forbidden(&path.child("type"), detail));
    }
}

/// Some annotations of a pod cannot change once it exists; `path` is that of the annotations.
pub(super) fn validate_update(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    let mut forbid = |key: &str, verb: &str| {
        if key.starts_with(APP_ARMOR_PREFIX) {
            let detail = format!("may not {verb} AppArmor annotations");
            errors.push(FieldError::forbidden(&path.key(key), detail));
        }
        if key == MIRROR {
            let detail = format!("may not {verb} mirror pod annotation");
            errors.push(FieldError::forbidden(&path.key(key), detail));
        }
    };
    for (key, value) in old.as_object().into_iter().flatten() {
        if new.get(key) != Some(value) {
            forbid(key, "remove or update");
        }
    }
    for (key, _) in new.as_object().into_iter().flatten() {
        if old.get(key).is_none() {
            forbid(key, "add");
        }
    }
}

/// The AppArmor field that an annotation means, if it means any.
pub(super) fn app_armor_field(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        _ => annotation
            .strip_prefix(LOCALHOST)
            .filter(|file| !file.is_empty())
            .map(|file| json!({"type": "Localhost", "localhostProfile": file})),
    }
}
