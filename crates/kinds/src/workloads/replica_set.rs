//! `apps/v1` ReplicaSet.

use manifests::field::Path;
use serde_json::Value;

use super::{
    default_template, drop_terminating_count, options_after, prepare_for_create, prepare_for_status_update,
    prepare_for_update, template_warnings_on_update, validate_counts, validate_keeps_running,
    validate_labels_match, validate_meta, validate_meta_update, validate_parts, validate_selector,
    validate_selector_unchanged, warnings_on_create,
};
use crate::{
    checks::{Errors, not_negative},
    label_selector, names,
    pods::{Options, template},
    read::{default, get},
    strategy::Strategy,
};

pub static REPLICA_SET: Strategy = Strategy {
    default: |replica_set| {
        default_template(replica_set);
        default(&mut replica_set["spec"], "replicas", 1);
    },
    prepare_for_create,
    prepare_for_update,
    validate,
    validate_update,
    prepare_for_status_update: |new, old| {
        prepare_for_status_update(new, old);
        drop_terminating_count(new, old);
    },
    validate_status_update,
    warnings_on_create,
    warnings_on_update: template_warnings_on_update,
    name_syntax: names::dns_subdomain,
    ..Strategy::NONE
};

fn validate(replica_set: &Value, errors: &mut Errors) {
    validate_meta(replica_set, errors);
    validate_spec(get(replica_set, "spec"), Options::NEW, errors);
}

fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_meta_update(new, old, errors);
    validate_spec(get(new, "spec"), options_after(old), errors);
    validate_selector_unchanged(new, old, errors);
}

fn validate_spec(spec: &Value, options: Options, errors: &mut Errors) {
    let path = Path::new("spec");
    not_negative(spec, "replicas", &path, errors);
    not_negative(spec, "minReadySeconds", &path, errors);
    validate_selected_template(spec, options, &path, errors);
}

/// Checks the selector, and the template against it and for itself. The real server calls both kinds
/// that have these deployments.
pub(super) fn validate_selected_template(spec: &Value, options: Options, path: &Path, errors: &mut Errors) {
    if !validate_selector(spec, "deployment", path, errors) {
        errors.push(label_selector::invalid(
            &path.child("selector"),
            get(spec, "selector"),
            "invalid label selector",
        ));
        return;
    }
    let pod_template = get(spec, "template");
    let path = path.child("template");
    validate_labels_match(get(spec, "selector"), pod_template, &path, errors);
    template::validate(pod_template, options, &path, errors);
    validate_keeps_running(pod_template, "ReplicaSet", &path, errors);
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
        "terminatingReplicas",
    ];
    validate_counts(status, &counts, &path, errors);
    validate_parts(status, &PARTS, &path, errors);
}

/// Also true of replication controllers.
pub(super) const PARTS: [(&str, &str, &str); 4] = [
    (
        "fullyLabeledReplicas",
        "replicas",
        "cannot be greater than status.replicas",
    ),
    (
        "readyReplicas",
        "replicas",
        "cannot be greater than status.replicas",
    ),
    (
        "availableReplicas",
        "replicas",
        "cannot be greater than status.replicas",
    ),
    (
        "availableReplicas",
        "readyReplicas",
        "cannot be greater than readyReplicas",
    ),
];
