//! What may change on a pod that exists: little, because its containers already run.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Options, affinity, annotations, containers, tolerations, validate_pod};
use crate::{
    checks::{Errors, range_error, same},
    internal_form, object_meta,
    read::{entries, get, has, int, list, text},
    unified_diff::unified_diff,
};

const MUTABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks a changed pod against what it was.
pub(super) fn validate(new: &Value, old: &Value, errors: &mut Errors) {
    let (new_spec, old_spec) = (get(new, "spec"), get(old, "spec"));
    validate_meta(new, old, Options::after_pod(old), errors);
    let path = Path::new("spec");
    for key in ["containers", "initContainers"] {
        if !validate_containers(new_spec, old_spec, key, &path, errors) {
            return;
        }
    }
    if !validate_deadline(new_spec, old_spec, &path, errors) {
        return;
    }
    let tolerations_path = path.child("tolerations");
    tolerations::validate_additions(
        list(new_spec, "tolerations"),
        list(old_spec, "tolerations"),
        &tolerations_path,
        errors,
    );
    validate_gates(new_spec, old_spec, &path, errors);
    if new_spec != old_spec {
        validate_rest(new_spec, old_spec, &path, errors);
    }
}

/// Checks the metadata of a changed pod, and the whole new pod for itself.
pub(super) fn validate_meta(new: &Value, old: &Value, options: Options, errors: &mut Errors) {
    let path = Path::new("metadata");
    object_meta::validate_update(get(new, "metadata"), get(old, "metadata"), &path, errors);
    validate_pod(new, options, errors);
    validate_annotations(new, old, options, errors);
}

/// Checks the annotations of a changed pod.
pub(super) fn validate_annotations(new: &Value, old: &Value, options: Options, errors: &mut Errors) {
    let path = Path::new("metadata").child("annotations");
    let of = |pod| get(get(pod, "metadata"), "annotations");
    annotations::validate_update(of(new), of(old), &path, errors);
    annotations::validate(
        of(new),
        get(new, "spec"),
        options.allow_invalid_deletion_cost,
        &path,
        errors,
    );
}

/// Whether the rest is worth looking at: containers neither come nor go.
fn validate_containers(new: &Value, old: &Value, key: &str, path: &Path, errors: &mut Errors) -> bool {
    let new = list(new, key);
    if new.len() != list(old, key).len() {
        let detail = "pod updates may not add or remove containers";
        errors.push(FieldError::forbidden(&path.child(key), detail));
        return false;
    }
    for (i, container) in new.iter().enumerate() {
        let path = path.child(key).index(i);
        if text(container, "image").is_empty() {
            errors.push(FieldError::required(&path.child("image"), ""));
        }
        containers::validate_image_padding(container, &path, errors);
    }
    true
}

/// Whether the rest is worth looking at: a deadline only comes nearer.
fn validate_deadline(new: &Value, old: &Value, path: &Path, errors: &mut Errors) -> bool {
    const KEY: &str = "activeDeadlineSeconds";
    let longest = i64::from(i32::MAX);
    let before = int(old, KEY);
    let detail = match int(new, KEY) {
        None => {
            if before.is_some() {
                let detail = "must not update from a positive integer to nil value";
                errors.push(FieldError::invalid(&path.child(KEY), &Value::Null, detail));
            }
            return true;
        }
        Some(now) if !(0..=longest).contains(&now) => range_error(0, longest),
        Some(now) if before.is_some_and(|before| before < now) => {
            "must be less than or equal to previous value".to_owned()
        }
        Some(_) => return true,
    };
    errors.push(FieldError::invalid(&path.child(KEY), get(new, KEY), detail));
    false
}

/// Gates are only opened, never added.
fn validate_gates(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    let names = |spec| {
        list(spec, "schedulingGates")
            .iter()
            .map(|gate| text(gate, "name"))
    };
    for (i, gate) in names(new).enumerate() {
        let comes_again = names(new).skip(i + 1).any(|later| later == gate);
        if !comes_again && !names(old).any(|old| old == gate) {
            let path = path.child("schedulingGates").index(i).child("name");
            let detail = format!("only deletion is allowed, but found new scheduling gate '{gate}'");
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
}

/// Everything that may change is set back; what then still differs may not.
fn validate_rest(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    let mut rest = new.clone();
    for key in ["containers", "initContainers"] {
        let images = list(old, key).iter().map(|container| get(container, "image"));
        for (container, image) in crate::read::list_mut(&mut rest, key).iter_mut().zip(images) {
            container["image"] = image.clone();
        }
    }
    for key in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        set_back(&mut rest, old, key);
    }
    let grace_period = |spec| int(spec, "terminationGracePeriodSeconds");
    if grace_period(old).is_some_and(|seconds| seconds < 0) && grace_period(new) == Some(1) {
        set_back(&mut rest, old, "terminationGracePeriodSeconds");
    }
    if !list(old, "schedulingGates").is_empty() {
        validate_gated(&mut rest, old, path, errors);
    }
    if !internal_form::same(old, &rest, "PodSpec") {
        let difference = unified_diff(
            &internal_form::pretty(old, "PodSpec"),
            &internal_form::pretty(&rest, "PodSpec"),
        );
        let detail = format!("pod updates may not change fields other than {MUTABLE}\n{difference}");
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn set_back(spec: &mut Value, old: &Value, key: &str) {
    if let Value::Object(fields) = spec {
        match old.get(key) {
            Some(value) => fields.insert(key.to_owned(), value.clone()),
            None => fields.remove(key),
        };
    }
}

/// A pod behind gates has no node yet, so it may still get pickier about nodes.
fn validate_gated(rest: &mut Value, old: &Value, path: &Path, errors: &mut Errors) {
    let (now, before) = (get(rest, "nodeSelector"), get(old, "nodeSelector"));
    if !same(now, before) {
        if entries(old, "nodeSelector").any(|(key, value)| now.get(key) != Some(value)) {
            let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            let shown = if now.is_null() { &json!(null) } else { now };
            errors.push(FieldError::invalid(&path.child("nodeSelector"), shown, detail));
        }
        set_back(rest, old, "nodeSelector");
    }
    let of_nodes = |spec| get(get(spec, "affinity"), "nodeAffinity");
    let (now, before) = (of_nodes(rest), of_nodes(old));
    if now == before {
        return;
    }
    let node_path = path.child("affinity").child("nodeAffinity");
    affinity::validate_tightening(now, before, &node_path, errors);
    let affinity = get(rest, "affinity");
    let only_nodes = !has(affinity, "podAffinity") && !has(affinity, "podAntiAffinity");
    if !has(old, "affinity") && only_nodes {
        set_back(rest, old, "affinity");
    } else if affinity.is_null() {
        rest["affinity"] = json!({"nodeAffinity": before});
    } else if before.is_null() {
        if let Some(Value::Object(affinity)) = rest.get_mut("affinity") {
            affinity.remove("nodeAffinity");
        }
    } else {
        rest["affinity"]["nodeAffinity"] = before.clone();
    }
}
