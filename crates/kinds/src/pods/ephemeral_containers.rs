//! The `ephemeralcontainers` subresource: containers added to a running pod to look inside it.

use manifests::field::{FieldError, Path, quoted};
use serde_json::Value;

use super::{Options, annotations, disabled, update};
use crate::{
    checks::Errors,
    internal_form,
    read::{get, has, list, text},
    unified_diff::unified_diff,
};

/// Only `spec.ephemeralContainers` changes through this endpoint.
pub fn prepare_for_update(new: &mut Value, old: &Value) {
    let added = get(get(new, "spec"), "ephemeralContainers").clone();
    super::keep_old(new, old);
    if added.is_null() {
        if let Some(Value::Object(spec)) = new.get_mut("spec") {
            spec.remove("ephemeralContainers");
        }
    } else {
        new["spec"]["ephemeralContainers"] = added;
    }
    if let Some(spec) = new.get_mut("spec") {
        disabled::drop(spec, get(old, "spec"));
    }
}

/// Ephemeral containers are added; they do not change and they do not go.
pub fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    if has(get(get(old, "metadata"), "annotations"), annotations::MIRROR) {
        let detail = "static pods do not support ephemeral containers";
        errors.push(FieldError::forbidden(&super::whole(), detail));
        return;
    }
    update::validate_meta(new, old, Options::after_pod(old), errors);
    let path = Path::new("spec").child("ephemeralContainers");
    let now = list(get(new, "spec"), "ephemeralContainers");
    for before in list(get(old, "spec"), "ephemeralContainers") {
        let name = text(before, "name");
        let shown = quoted(name);
        match now.iter().rfind(|container| text(container, "name") == name) {
            None => {
                let detail = format!("existing ephemeral containers {shown} may not be removed\n");
                errors.push(FieldError::forbidden(&path, detail));
            }
            Some(now) if !internal_form::same(before, now, "EphemeralContainer") => {
                let pretty = |container| internal_form::pretty(container, "EphemeralContainer");
                let difference = unified_diff(&pretty(before), &pretty(now));
                let detail =
                    format!("existing ephemeral containers {shown} may not be changed\n{difference}");
                errors.push(FieldError::forbidden(&path, detail));
            }
            Some(_) => {}
        }
    }
}
