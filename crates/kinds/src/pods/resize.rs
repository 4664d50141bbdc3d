//! The `resize` subresource: more or less cpu and memory for containers that keep running.

use manifests::field::{FieldError, Path};
use serde_json::{Map, Value, json};

use super::{Options, annotations, disabled, is_sidecar, qos_class, validate_pod};
use crate::{
    checks::Errors,
    internal_form, object_meta,
    read::{entries, get, has, list, list_mut, text},
};

const LISTS: [&str; 2] = ["containers", "initContainers"];

/// Only resources and resize policies of containers change through this endpoint.
pub fn prepare_for_update(new: &mut Value, old: &Value) {
    let (new_spec, old_spec) = (get(new, "spec"), get(old, "spec"));
    // Where containers come or go, all is left for validation to refuse.
    if LISTS
        .iter()
        .all(|key| list(new_spec, key).len() == list(old_spec, key).len())
    {
        let merged = LISTS.map(|key| merged(list(new_spec, key), list(old_spec, key)));
        super::keep_old(new, old);
        for (key, containers) in LISTS.into_iter().zip(merged) {
            if !containers.is_empty() {
                new["spec"][key] = Value::Array(containers);
            }
        }
    }
    if let Some(spec) = new.get_mut("spec") {
        disabled::drop(spec, get(old, "spec"));
    }
}

fn merged(new: &[Value], old: &[Value]) -> Vec<Value> {
    if new
        .iter()
        .zip(old)
        .any(|(new, old)| text(new, "name") != text(old, "name"))
    {
        return new.to_vec();
    }
    new.iter()
        .zip(old)
        .map(|(new, old)| with_resources_of(new, old))
        .collect()
}

fn with_resources_of(new: &Value, old: &Value) -> Value {
    let mut container = old.clone();
    if let Value::Object(fields) = &mut container {
        for key in ["resources", "resizePolicy"] {
            match new.get(key) {
                Some(value) => fields.insert(key.to_owned(), value.clone()),
                None => fields.remove(key),
            };
        }
    }
    container
}

/// Checks a resized pod against what it was.
pub fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, old_spec) = (get(new, "spec"), get(old, "spec"));
    if let Some(detail) = refusal(new, old) {
        errors.push(FieldError::forbidden(&super::whole(), detail));
        return;
    }
    let before = errors.len();
    let meta_path = Path::new("metadata");
    object_meta::validate_update(get(new, "metadata"), get(old, "metadata"), &meta_path, errors);
    validate_pod(new, Options::after_pod(old), errors);
    let path = Path::new("spec");
    let class = match text(get(old, "status"), "qosClass") {
        "" => qos_class(old_spec),
        class => class,
    };
    if class != qos_class(spec) {
        let detail = "Pod QOS Class may not change as a result of resizing";
        let shown = json!(text(get(new, "status"), "qosClass"));
        errors.push(FieldError::invalid(&path, &shown, detail));
    }
    if !node_can_resize(get(old, "status")) {
        errors.push(FieldError::forbidden(
            &path,
            "Pod running on node without support for resize",
        ));
    }
    if !validate_order(spec, old_spec, &path, errors) {
        return;
    }
    validate_nothing_removed(spec, old_spec, &path, errors);
    validate_only_compute(spec, old_spec, before, &path, errors);
}

fn refusal(new: &Value, old: &Value) -> Option<&'static str> {
    let (spec, old_spec) = (get(new, "spec"), get(old, "spec"));
    let has_own = |spec| {
        let resources = get(spec, "resources");
        ["requests", "limits"]
            .iter()
            .any(|list| entries(resources, list).next().is_some())
    };
    if has_own(spec) || has_own(old_spec) {
        Some("pods with pod-level resources cannot be resized")
    } else if has(get(get(old, "metadata"), "annotations"), annotations::MIRROR) {
        Some("static pods cannot be resized")
    } else if text(get(old_spec, "os"), "name") == "windows" {
        Some("windows pods cannot be resized")
    } else {
        None
    }
}

/// A node that can resize reports the resources of what runs on it.
fn node_can_resize(status: &Value) -> bool {
    list(status, "containerStatuses")
        .iter()
        .find(|container| has(get(container, "state"), "running"))
        .is_none_or(|container| has(container, "resources"))
}

fn validate_order(new: &Value, old: &Value, path: &Path, errors: &mut Errors) -> bool {
    let before = errors.len();
    for key in LISTS {
        let (new, old) = (list(new, key), list(old, key));
        if new.len() != old.len() {
            let detail = format!("{key} may not be added or removed on resize");
            errors.push(FieldError::forbidden(&path.child(key), detail));
            continue;
        }
        for (i, _) in new
            .iter()
            .zip(old)
            .enumerate()
            .filter(|(_, (a, b))| text(a, "name") != text(b, "name"))
        {
            let detail = format!("{key} may not be renamed or reordered on resize");
            errors.push(FieldError::forbidden(
                &path.child(key).index(i).child("name"),
                detail,
            ));
        }
    }
    errors.len() == before
}

fn validate_nothing_removed(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    for key in ["initContainers", "containers"] {
        for (i, (new, old)) in list(new, key).iter().zip(list(old, key)).enumerate() {
            if key == "initContainers" && !is_sidecar(old) {
                continue;
            }
            for list in ["requests", "limits"] {
                let kept = get(get(new, "resources"), list);
                if entries(get(old, "resources"), list).any(|(name, _)| kept.get(name).is_none()) {
                    let path = path.child(key).index(i).child("resources").child(list);
                    errors.push(FieldError::forbidden(
                        &path,
                        format!("resource {list} cannot be removed"),
                    ));
                }
            }
        }
    }
}

fn validate_only_compute(new: &Value, old: &Value, before: usize, path: &Path, errors: &mut Errors) {
    let mut rest = new.clone();
    for key in LISTS {
        for (container, old) in list_mut(&mut rest, key).iter_mut().zip(list(old, key)) {
            let detail = if key == "containers" {
                "only cpu and memory resources are mutable"
            } else if is_sidecar(container) {
                "only cpu and memory resources for sidecar containers are mutable"
            } else {
                "resources for non-sidecar init containers are immutable"
            };
            if key == "containers" || is_sidecar(container) {
                set_back_compute(container, old);
            }
            if !internal_form::same(container, old, "Container") {
                errors.push(FieldError::forbidden(path, detail));
            }
        }
    }
    if errors.len() == before && !internal_form::same(&rest, old, "PodSpec") {
        errors.push(FieldError::forbidden(
            path,
            "only cpu and memory resources are mutable",
        ));
    }
}

/// Sets cpu and memory back to what they were, and forgets claims on devices.
fn set_back_compute(container: &mut Value, old: &Value) {
    let mut resources = Map::new();
    for list in ["limits", "requests"] {
        let Value::Object(before) = get(get(old, "resources"), list) else {
            continue;
        };
        let mut now = get(get(container, "resources"), list)
            .as_object()
            .cloned()
            .unwrap_or_default();
        for name in ["cpu", "memory"] {
            match before.get(name) {
                Some(amount) => now.insert(name.to_owned(), amount.clone()),
                None => now.remove(name),
            };
        }
        resources.insert(list.to_owned(), Value::Object(now));
    }
    container["resources"] = Value::Object(resources);
}
