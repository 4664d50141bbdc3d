//! Kinds that run pods from templates, and what they have in common.

pub mod controller_revision;
pub mod cron_job;
pub mod daemon_set;
pub mod deployment;
pub mod job;
pub mod pod_template;
pub mod replica_set;
pub mod replication_controller;
pub mod schedule;
pub mod stateful_set;
pub mod timetable;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    checks::{Errors, IMMUTABLE, not_negative},
    internal_form, label_selector, names, object_meta,
    pods::{Options, template},
    read::{get, has, int, text},
};

/// Where names of workloads end up.
const NAME_USE: &str = "Pod names and hostnames";

/// Takes the status of a new object away and drops disabled fields of its template.
fn prepare_for_create(object: &mut Value) {
    object["status"] = json!({});
    drop_disabled(object, &Value::Null);
}

/// Keeps the status of a changed object and drops disabled fields of its template.
fn prepare_for_update(new: &mut Value, old: &Value) {
    keep(new, old, "status");
    drop_disabled(new, old);
}

/// Keeps the spec of an object whose status changes.
fn prepare_for_status_update(new: &mut Value, old: &Value) {
    keep(new, old, "spec");
}

fn keep(new: &mut Value, old: &Value, key: &str) {
    new[key] = match get(old, key) {
        Value::Null => json!({}),
        value => value.clone(),
    };
}

fn drop_disabled(object: &mut Value, old: &Value) {
    if let Some(template) = object.get_mut("spec").and_then(|spec| spec.get_mut("template")) {
        template::drop_disabled(template, get(get(old, "spec"), "template"));
    }
}

fn options_after(old: &Value) -> Options {
    Options::after_template(get(get(old, "spec"), "template"))
}

/// Fills in the template of an object, which must have a spec.
fn default_template(object: &mut Value) {
    crate::read::default(object, "status", json!({}));
    crate::read::default(object, "spec", json!({}));
    let Some(spec) = object.get_mut("spec") else {
        return;
    };
    crate::read::default(spec, "template", json!({}));
    if let Some(pod_template) = spec.get_mut("template") {
        template::default(pod_template);
    }
}

/// Checks a selector that must be there and say something. Whether the template is worth comparing.
fn validate_selector(spec: &Value, kind: &str, path: &Path, errors: &mut Errors) -> bool {
    let selector = get(spec, "selector");
    let path = path.child("selector");
    if selector.is_null() {
        errors.push(FieldError::required(&path, ""));
        return true;
    }
    let before = errors.len();
    label_selector::validate(selector, &path, errors);
    let usable = errors.len() == before;
    if label_selector::is_empty(selector) {
        let detail = format!("empty selector is invalid for {kind}");
        errors.push(label_selector::invalid(&path, selector, &detail));
    }
    usable
}

/// Objects that would not recognise their own pods are refused; `path` is that of the template.
fn validate_labels_match(selector: &Value, template: &Value, path: &Path, errors: &mut Errors) {
    let labels = get(get(template, "metadata"), "labels");
    if !label_selector::matches(selector, labels) {
        refuse_labels(labels, path, errors);
    }
}

fn refuse_labels(labels: &Value, path: &Path, errors: &mut Errors) {
    let detail = "`selector` does not match template `labels`";
    errors.push(FieldError::invalid(
        &path.child("metadata").child("labels"),
        labels,
        detail,
    ));
}

/// Pods that are kept running always restart and have no deadline; `path` is that of the template.
fn validate_keeps_running(template: &Value, kind: &str, path: &Path, errors: &mut Errors) {
    let spec = get(template, "spec");
    let policy = text(spec, "restartPolicy");
    let path = path.child("spec");
    if policy != "Always" {
        errors.push(FieldError::not_supported(
            &path.child("restartPolicy"),
            &json!(policy),
            &["Always"],
        ));
    }
    if has(spec, "activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.push(FieldError::forbidden(
            &path.child("activeDeadlineSeconds"),
            detail,
        ));
    }
}

fn validate_meta(object: &Value, errors: &mut Errors) {
    let (meta, path) = (get(object, "metadata"), Path::new("metadata"));
    object_meta::validate(meta, true, names::dns_subdomain, &path, errors);
}

fn validate_meta_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("metadata");
    object_meta::validate_update(get(new, "metadata"), get(old, "metadata"), &path, errors);
}

fn validate_selector_unchanged(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    immutable_struct(
        get(new, "spec"),
        get(old, "spec"),
        "selector",
        "*LabelSelector",
        &path,
        errors,
    );
}

/// Complains if a structured field differs from what it was.
fn immutable_struct(new: &Value, old: &Value, key: &str, kind: &str, path: &Path, errors: &mut Errors) {
    if !internal_form::same(get(new, key), get(old, key), kind) {
        errors.push(internal_form::invalid(
            &path.child(key),
            get(new, key),
            kind,
            IMMUTABLE,
        ));
    }
}

/// No count of a status is negative; `path` is that of the status.
fn validate_counts(status: &Value, keys: &[&str], path: &Path, errors: &mut Errors) {
    for key in keys {
        not_negative(status, key, path, errors);
    }
}

/// Some counts of a status are parts of others: `(part, whole, message)`.
fn validate_parts(status: &Value, parts: &[(&str, &str, &str)], path: &Path, errors: &mut Errors) {
    for (part, whole, detail) in parts {
        let count = int(status, part).unwrap_or_default();
        if count > int(status, whole).unwrap_or_default() {
            errors.push(FieldError::invalid(&path.child(part), &json!(count), *detail));
        }
    }
}

/// The number that keeps names of revisions apart only grows.
fn validate_collision_count(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    const KEY: &str = "collisionCount";
    if let Some(before) = int(old, KEY) {
        let now = int(new, KEY);
        if now.is_none_or(|now| now < before) {
            let shown = json!(now.unwrap_or_default());
            errors.push(FieldError::invalid(
                &path.child(KEY),
                &shown,
                "cannot be decremented",
            ));
        }
    }
}

/// Counts of terminating pods are not switched on in this version.
fn drop_terminating_count(new: &mut Value, old: &Value) {
    if !has(get(old, "status"), "terminatingReplicas")
        && let Some(Value::Object(status)) = new.get_mut("status")
    {
        status.remove("terminatingReplicas");
    }
}

/// A change that makes new pods is worth the warnings of the template once more.
fn template_warnings_on_update(new: &Value, old: &Value) -> Vec<String> {
    if get(new, "spec") == get(old, "spec") {
        return Vec::new();
    }
    template_warnings(new)
}

fn template_warnings(object: &Value) -> Vec<String> {
    template::warnings(
        get(get(object, "spec"), "template"),
        &Path::new("spec").child("template"),
    )
}

/// Warnings of the name and the template.
fn warnings_on_create(object: &Value) -> Vec<String> {
    let name = text(get(object, "metadata"), "name");
    let mut warnings: Vec<String> = crate::pods::warnings::hostname_warning(name, NAME_USE)
        .into_iter()
        .collect();
    warnings.extend(template_warnings(object));
    warnings
}
