//! `apps/v1` Deployment.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{
    default_template, drop_terminating_count, options_after, prepare_for_create, prepare_for_status_update,
    prepare_for_update, replica_set, template_warnings, validate_collision_count, validate_counts,
    validate_meta, validate_meta_update, validate_parts, validate_selector_unchanged, warnings_on_create,
};
use crate::{
    checks::{Errors, not_negative},
    int_or_percent, internal_form, names,
    pods::{Options, defaults::default_text},
    read::{default, get, int, text},
    strategy::Strategy,
};

pub static DEPLOYMENT: Strategy = Strategy {
    default: set_defaults,
    prepare_for_create,
    prepare_for_update,
    validate,
    validate_update,
    prepare_for_status_update: |new, old| {
        prepare_for_status_update(new, old);
        keep_labels(new, old);
        drop_terminating_count(new, old);
    },
    validate_status_update,
    warnings_on_create,
    warnings_on_update,
    name_syntax: names::dns_subdomain,
    ..Strategy::NONE
};

fn set_defaults(deployment: &mut Value) {
    default_template(deployment);
    let Some(spec) = deployment.get_mut("spec") else {
        return;
    };
    default(spec, "replicas", 1);
    default(spec, "strategy", json!({}));
    if let Some(strategy) = spec.get_mut("strategy") {
        default_text(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate" {
            default(strategy, "rollingUpdate", json!({}));
            let rolling_update = &mut strategy["rollingUpdate"];
            default(rolling_update, "maxUnavailable", "25%");
            default(rolling_update, "maxSurge", "25%");
        }
    }
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
}

/// Labels of a Deployment are not the status's business.
fn keep_labels(new: &mut Value, old: &Value) {
    if let Some(Value::Object(meta)) = new.get_mut("metadata") {
        match get(old, "metadata").get("labels") {
            Some(labels) => meta.insert("labels".to_owned(), labels.clone()),
            None => meta.remove("labels"),
        };
    }
}

fn validate(deployment: &Value, errors: &mut Errors) {
    validate_meta(deployment, errors);
    validate_spec(get(deployment, "spec"), Options::NEW, errors);
}

fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_meta_update(new, old, errors);
    validate_spec(get(new, "spec"), options_after(old), errors);
    validate_selector_unchanged(new, old, errors);
}

fn validate_spec(spec: &Value, options: Options, errors: &mut Errors) {
    let path = Path::new("spec");
    not_negative(spec, "replicas", &path, errors);
    replica_set::validate_selected_template(spec, options, &path, errors);
    validate_strategy(get(spec, "strategy"), &path.child("strategy"), errors);
    not_negative(spec, "minReadySeconds", &path, errors);
    not_negative(spec, "revisionHistoryLimit", &path, errors);
    not_negative(spec, "progressDeadlineSeconds", &path, errors);
    let deadline = int(spec, "progressDeadlineSeconds");
    if deadline.is_some_and(|deadline| deadline <= int(spec, "minReadySeconds").unwrap_or_default()) {
        let path = path.child("progressDeadlineSeconds");
        let detail = "must be greater than minReadySeconds";
        errors.push(FieldError::invalid(
            &path,
            get(spec, "progressDeadlineSeconds"),
            detail,
        ));
    }
}

fn validate_strategy(strategy: &Value, path: &Path, errors: &mut Errors) {
    let rolling_update = get(strategy, "rollingUpdate");
    match text(strategy, "type") {
        "Recreate" => {
            if !rolling_update.is_null() {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                errors.push(FieldError::forbidden(&path.child("rollingUpdate"), detail));
            }
        }
        "RollingUpdate" => validate_rolling_update(rolling_update, &path.child("rollingUpdate"), errors),
        _ => {
            let choices = ["Recreate", "RollingUpdate"];
            errors.push(internal_form::not_supported(
                path,
                strategy,
                "DeploymentStrategy",
                &choices,
            ));
        }
    }
}

fn validate_rolling_update(rolling_update: &Value, path: &Path, errors: &mut Errors) {
    if rolling_update.is_null() {
        errors.push(FieldError::required(
            path,
            "this should be defaulted and never be nil",
        ));
        return;
    }
    let (unavailable, surge) = (
        get(rolling_update, "maxUnavailable"),
        get(rolling_update, "maxSurge"),
    );
    let unavailable_path = path.child("maxUnavailable");
    int_or_percent::validate(unavailable, &unavailable_path, errors);
    int_or_percent::validate(surge, &path.child("maxSurge"), errors);
    if int_or_percent::number(unavailable) == 0 && int_or_percent::number(surge) == 0 {
        let detail = "may not be 0 when `maxSurge` is 0";
        errors.push(FieldError::invalid(
            &unavailable_path,
            &int_or_percent::shown(unavailable),
            detail,
        ));
    }
    int_or_percent::validate_share(unavailable, &unavailable_path, errors);
}

fn validate_status_update(new: &Value, old: &Value, errors: &mut Errors) {
    const OF_REPLICAS: &str = "cannot be greater than status.replicas";
    validate_meta_update(new, old, errors);
    let (status, path) = (get(new, "status"), Path::new("status"));
    let counts = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    validate_counts(status, &counts, &path, errors);
    let parts = [
        ("updatedReplicas", "replicas", OF_REPLICAS),
        ("readyReplicas", "replicas", OF_REPLICAS),
        ("availableReplicas", "replicas", OF_REPLICAS),
        (
            "availableReplicas",
            "readyReplicas",
            "cannot be greater than readyReplicas",
        ),
    ];
    validate_parts(status, &parts, &path, errors);
    validate_collision_count(status, get(old, "status"), &path, errors);
}

/// Annotations count as well: they make a new generation of a Deployment.
fn warnings_on_update(new: &Value, old: &Value) -> Vec<String> {
    let annotations = |object| get(get(object, "metadata"), "annotations");
    if get(new, "spec") == get(old, "spec") && annotations(new) == annotations(old) {
        return Vec::new();
    }
    template_warnings(new)
}
