//! `v1` ReplicationController.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{
    options_after, prepare_for_create, prepare_for_status_update, prepare_for_update, refuse_labels,
    replica_set::PARTS, template_warnings_on_update, validate_counts, validate_keeps_running, validate_meta,
    validate_meta_update, validate_parts, warnings_on_create,
};
use crate::{
    checks::{Errors, not_negative},
    names,
    pods::{Options, template},
    read::{default, entries, get, has},
    strategy::Strategy,
};

pub static REPLICATION_CONTROLLER: Strategy = Strategy {
    default: set_defaults,
    prepare_for_create,
    prepare_for_update,
    validate,
    validate_update,
    prepare_for_status_update,
    validate_status_update,
    warnings_on_create,
    warnings_on_update: template_warnings_on_update,
    name_syntax: names::dns_subdomain,
    ..Strategy::NONE
};

fn set_defaults(controller: &mut Value) {
    default(controller, "status", json!({"replicas": 0}));
    default(controller, "spec", json!({}));
    let labels = get(
        get(get(get(controller, "spec"), "template"), "metadata"),
        "labels",
    )
    .clone();
    let spec = &mut controller["spec"];
    default(spec, "replicas", 1);
    if let Some(pod_template) = spec.get_mut("template") {
        template::default(pod_template);
    }
    if labels.is_null() {
        return;
    }
    if entries(spec, "selector").next().is_none() {
        spec["selector"] = labels.clone();
    }
    default(controller, "metadata", json!({}));
    if entries(get(controller, "metadata"), "labels").next().is_none() {
        controller["metadata"]["labels"] = labels;
    }
}

fn validate(controller: &Value, errors: &mut Errors) {
    validate_meta(controller, errors);
    validate_spec(get(controller, "spec"), Options::NEW, errors);
}

fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_meta(new, errors);
    validate_spec(get(new, "spec"), options_after(old), errors);
    // The real server looks at the spec twice; the message says it once.
    validate_meta_update(new, old, errors);
    validate_spec(get(new, "spec"), options_after(old), errors);
}

fn validate_spec(spec: &Value, options: Options, errors: &mut Errors) {
    let path = Path::new("spec");
    not_negative(spec, "minReadySeconds", &path, errors);
    let is_empty = entries(spec, "selector").next().is_none();
    if is_empty {
        errors.push(FieldError::required(&path.child("selector"), ""));
    }
    if has(spec, "replicas") {
        not_negative(spec, "replicas", &path, errors);
    } else {
        errors.push(FieldError::required(&path.child("replicas"), ""));
    }
    let pod_template = get(spec, "template");
    let path = path.child("template");
    if pod_template.is_null() {
        errors.push(FieldError::required(&path, ""));
        return;
    }
    let labels = get(get(pod_template, "metadata"), "labels");
    if !is_empty && entries(spec, "selector").any(|(key, value)| labels.get(key) != Some(value)) {
        refuse_labels(labels, &path, errors);
    }
    template::validate(pod_template, options, &path, errors);
    validate_keeps_running(pod_template, "ReplicationController", &path, errors);
}

fn validate_status_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_meta_update(new, old, errors);
    let (status, path) = (get(new, "status"), Path::new("status"));
    let counts = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
    ];
    validate_counts(status, &counts, &path, errors);
    validate_parts(status, &PARTS, &path, errors);
}
