//! `apps/v1` DaemonSet.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{
    default_template, options_after, prepare_for_create, prepare_for_status_update, prepare_for_update,
    template_warnings, validate_collision_count, validate_counts, validate_keeps_running,
    validate_labels_match, validate_meta, validate_meta_update, validate_selector_unchanged,
};
use crate::{
    checks::{Errors, not_negative},
    int_or_percent, internal_form, label_selector, names,
    pods::{Options, defaults::default_text, template},
    read::{default, get, object_mut, text},
    strategy::Strategy,
};

/// Counts the versions of the template, for clients from before there were ControllerRevisions.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub static DAEMON_SET: Strategy = Strategy {
    default: set_defaults,
    prepare_for_create: |daemon_set| {
        prepare_for_create(daemon_set);
        let generation = template_generation(daemon_set).max(1);
        set_template_generation(daemon_set, generation);
    },
    prepare_for_update: |new, old| {
        prepare_for_update(new, old);
        let changed = template_of(new) != template_of(old);
        set_template_generation(new, template_generation(old) + i64::from(changed));
    },
    validate,
    validate_update,
    prepare_for_status_update,
    validate_status_update,
    warnings_on_create: template_warnings,
    warnings_on_update: |new, old| {
        if template_of(new) == template_of(old) {
            Vec::new()
        } else {
            template_warnings(new)
        }
    },
    name_syntax: names::dns_subdomain,
    ..Strategy::NONE
};

fn set_defaults(daemon_set: &mut Value) {
    default_template(daemon_set);
    let spec = &mut daemon_set["spec"];
    default(spec, "updateStrategy", json!({}));
    let strategy = &mut spec["updateStrategy"];
    default_text(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        default(strategy, "rollingUpdate", json!({}));
        default(&mut strategy["rollingUpdate"], "maxUnavailable", 1);
        default(&mut strategy["rollingUpdate"], "maxSurge", 0);
    }
    default(spec, "revisionHistoryLimit", 10);
}

fn template_of(daemon_set: &Value) -> &Value {
    get(get(daemon_set, "spec"), "template")
}

fn template_generation(daemon_set: &Value) -> i64 {
    let annotations = get(get(daemon_set, "metadata"), "annotations");
    text(annotations, TEMPLATE_GENERATION).parse().unwrap_or_default()
}

fn set_template_generation(daemon_set: &mut Value, generation: i64) {
    if let Some(meta) = daemon_set.get_mut("metadata") {
        let annotations = object_mut(meta, "annotations");
        annotations.insert(TEMPLATE_GENERATION.to_owned(), json!(generation.to_string()));
    }
}

fn validate(daemon_set: &Value, errors: &mut Errors) {
    validate_meta(daemon_set, errors);
    validate_spec(daemon_set, Options::NEW, errors);
}

fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_meta_update(new, old, errors);
    validate_selector_unchanged(new, old, errors);
    let mut options = options_after(old);
    options.allow_invalid_selector_values |=
        label_selector::has_invalid_value(get(get(old, "spec"), "selector"));
    validate_spec(new, options, errors);
}

fn validate_spec(daemon_set: &Value, options: Options, errors: &mut Errors) {
    let (spec, path) = (get(daemon_set, "spec"), Path::new("spec"));
    let (selector, pod_template) = (get(spec, "selector"), get(spec, "template"));
    let selector_path = path.child("selector");
    label_selector::validate_with(
        selector,
        options.allow_invalid_selector_values,
        &selector_path,
        errors,
    );
    let template_path = path.child("template");
    if label_selector::is_usable(selector) {
        validate_labels_match(selector, pod_template, &template_path, errors);
    }
    if !selector.is_null() && label_selector::is_empty(selector) {
        let detail = "empty selector is invalid for daemonset";
        errors.push(label_selector::invalid(&selector_path, selector, detail));
    }
    template::validate(pod_template, options, &template_path, errors);
    validate_keeps_running(pod_template, "DaemonSet", &template_path, errors);
    not_negative(spec, "minReadySeconds", &path, errors);
    let generation = template_generation(daemon_set);
    if generation < 0 {
        let path = path.child("templateGeneration");
        errors.push(FieldError::invalid(
            &path,
            &json!(generation),
            crate::checks::NOT_NEGATIVE,
        ));
    }
    validate_strategy(get(spec, "updateStrategy"), &path.child("updateStrategy"), errors);
    not_negative(spec, "revisionHistoryLimit", &path, errors);
}

fn validate_strategy(strategy: &Value, path: &Path, errors: &mut Errors) {
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            validate_rolling_update(
                get(strategy, "rollingUpdate"),
                &path.child("rollingUpdate"),
                errors,
            );
        }
        _ => {
            let choices = ["RollingUpdate", "OnDelete"];
            errors.push(internal_form::not_supported(
                path,
                strategy,
                "DaemonSetUpdateStrategy",
                &choices,
            ));
        }
    }
}

fn validate_rolling_update(rolling_update: &Value, path: &Path, errors: &mut Errors) {
    if rolling_update.is_null() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let fields = ["maxUnavailable", "maxSurge"];
    for check in [int_or_percent::validate, int_or_percent::validate_share] {
        for key in fields {
            check(get(rolling_update, key), &path.child(key), errors);
        }
    }
    match fields.map(|key| int_or_percent::number(get(rolling_update, key)) != 0) {
        [true, true] => {
            let detail = "may not be set when maxUnavailable is non-zero";
            let surge = get(rolling_update, "maxSurge");
            errors.push(FieldError::invalid(&path.child("maxSurge"), surge, detail));
        }
        [false, false] => {
            let detail = "cannot be 0 when maxSurge is 0";
            errors.push(FieldError::required(&path.child("maxUnavailable"), detail));
        }
        _ => {}
    }
}

fn validate_status_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_meta_update(new, old, errors);
    let (status, path) = (get(new, "status"), Path::new("status"));
    let counts = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    validate_counts(status, &counts, &path, errors);
    validate_collision_count(status, get(old, "status"), &path, errors);
}
