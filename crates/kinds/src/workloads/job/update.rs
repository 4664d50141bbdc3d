//! What may change on a job that exists: how fast it goes, not what it does.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{is_indexed, selector, validate_job, validate_spec_and_selector};
use crate::{
    checks::{Errors, IMMUTABLE, same},
    internal_form, label_selector,
    read::{flag, get, has, object_mut},
    workloads::{immutable_struct, options_after, validate_meta_update, validate_selector_unchanged},
};

/// Checks a changed job against what it was.
pub(super) fn validate(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, old_spec) = (get(new, "spec"), get(old, "spec"));
    let mut options = options_after(old);
    options.allow_invalid_selector_values |= label_selector::has_invalid_value(get(old_spec, "selector"));
    validate_job(new, options, selector::has_new_labels(old), errors);
    validate_meta_update(new, old, errors);
    // The real server looks at the spec twice; the message says it once.
    validate_spec_and_selector(spec, options, errors);
    let path = Path::new("spec");
    validate_completions_unchanged(spec, old_spec, &path, errors);
    validate_selector_unchanged(new, old, errors);
    validate_template_unchanged(new, old, &path, errors);
    immutable_struct(spec, old_spec, "completionMode", "*s", &path, errors);
    immutable_struct(
        spec,
        old_spec,
        "podFailurePolicy",
        "*PodFailurePolicy",
        &path,
        errors,
    );
    immutable_struct(spec, old_spec, "backoffLimitPerIndex", "*i", &path, errors);
    immutable_struct(spec, old_spec, "managedBy", "*s", &path, errors);
    immutable_struct(spec, old_spec, "successPolicy", "*SuccessPolicy", &path, errors);
}

/// Indexed jobs can grow and shrink, if all their indexes run at once.
fn validate_completions_unchanged(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    const KEY: &str = "completions";
    let (now, before) = (get(new, KEY), get(old, KEY));
    if now == before {
        return;
    }
    let detail = if !is_indexed(new) {
        IMMUTABLE
    } else if !now.is_null() && now != get(new, "parallelism") {
        "can only be modified in tandem with spec.parallelism"
    } else {
        return;
    };
    errors.push(FieldError::invalid(&path.child(KEY), now, detail));
}

/// A job that waits to start for the first time may still be told where to run.
fn validate_template_unchanged(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    let (now, before) = (
        get(get(new, "spec"), "template"),
        get(get(old, "spec"), "template"),
    );
    let waits = flag(get(old, "spec"), "suspend") && !has(get(old, "status"), "startTime");
    let allowed = if waits {
        &with_placement_of(now, before)
    } else {
        before
    };
    if !internal_form::same(now, allowed, "PodTemplateSpec") {
        errors.push(internal_form::invalid(
            &path.child("template"),
            now,
            "PodTemplateSpec",
            IMMUTABLE,
        ));
    }
}

fn with_placement_of(now: &Value, before: &Value) -> Value {
    let mut allowed = before.clone();
    let mut take = |part: &str, key: &str| {
        let fields = object_mut(&mut allowed, part);
        match get(now, part).get(key) {
            Some(value) => fields.insert(key.to_owned(), value.clone()),
            None => fields.remove(key),
        };
    };
    for key in ["nodeSelector", "tolerations", "schedulingGates"] {
        take("spec", key);
    }
    for key in ["annotations", "labels"] {
        take("metadata", key);
    }
    let nodes = get(get(get(now, "spec"), "affinity"), "nodeAffinity");
    let spec = &mut allowed["spec"];
    if !nodes.is_null() {
        object_mut(spec, "affinity").insert("nodeAffinity".to_owned(), nodes.clone());
    } else if let Some(Value::Object(affinity)) = spec.get_mut("affinity") {
        affinity.remove("nodeAffinity");
        if affinity.is_empty() && !has(get(now, "spec"), "affinity") {
            object_mut(&mut allowed, "spec").remove("affinity");
        }
    } else if same(get(get(now, "spec"), "affinity"), &json!({})) && has(get(now, "spec"), "affinity") {
        spec["affinity"] = json!({});
    }
    allowed
}
