//! `batch/v1` Job.

mod failure_policy;
mod indexes;
mod selector;
mod status;
mod success_policy;
mod update;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{
    NAME_USE, default_template, prepare_for_status_update, prepare_for_update, validate_labels_match,
    validate_meta_update,
};
use crate::{
    checks::{Errors, not_negative},
    label_selector, names, object_meta,
    pods::{Options, template, warnings::hostname_warning},
    read::{default, entries, flag, get, has, int, list, list_mut, text},
    strategy::Strategy,
};

const MANY_INDEXES: i64 = 100_000;
const FEW_INDEXES: i64 = 10_000;
const MANAGER_LIMIT: usize = 63;

pub static JOB: Strategy = Strategy {
    default: set_defaults,
    prepare_for_create: |job| {
        if !flag(get(job, "spec"), "manualSelector") {
            selector::generate(job);
        }
        super::prepare_for_create(job);
    },
    prepare_for_update,
    validate: |job, errors| validate_job(job, Options::NEW, true, errors),
    validate_update: update::validate,
    prepare_for_status_update,
    validate_status_update: |new, old, errors| {
        validate_meta_update(new, old, errors);
        status::validate(new, old, errors);
    },
    warnings_on_create: |job| {
        let name = text(get(job, "metadata"), "name");
        let mut warnings: Vec<String> = hostname_warning(name, NAME_USE).into_iter().collect();
        warnings.extend(spec_warnings(get(job, "spec"), &Path::new("spec")));
        warnings
    },
    warnings_on_update: |new, old| {
        if get(new, "spec") == get(old, "spec") {
            return Vec::new();
        }
        spec_warnings(get(new, "spec"), &Path::new("spec"))
    },
    name_syntax: names::dns_subdomain,
    ..Strategy::NONE
};

fn set_defaults(job: &mut Value) {
    let labels = get(get(get(get(job, "spec"), "template"), "metadata"), "labels").clone();
    default_template(job);
    default_conditions(&mut job["spec"]);
    let spec = &mut job["spec"];
    if !has(spec, "parallelism") {
        default(spec, "completions", 1);
    }
    default(spec, "parallelism", 1);
    let limit = if has(spec, "backoffLimitPerIndex") {
        i32::MAX
    } else {
        6
    };
    default(spec, "backoffLimit", limit);
    default(spec, "completionMode", "NonIndexed");
    default(spec, "suspend", false);
    let replacement = if has(spec, "podFailurePolicy") {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    default(spec, "podReplacementPolicy", replacement);
    default(spec, "manualSelector", false);
    default(job, "metadata", json!({}));
    if !labels.is_null() && entries(get(job, "metadata"), "labels").next().is_none() {
        job["metadata"]["labels"] = labels;
    }
}

/// A condition that is named is meant to be true.
pub(super) fn default_conditions(spec: &mut Value) {
    let Some(policy) = spec.get_mut("podFailurePolicy") else {
        return;
    };
    for rule in list_mut(policy, "rules") {
        for pattern in list_mut(rule, "onPodConditions") {
            crate::pods::defaults::default_text(pattern, "status", "True");
        }
    }
}

fn validate_job(job: &Value, options: Options, new_labels: bool, errors: &mut Errors) {
    let (meta, spec) = (get(job, "metadata"), get(job, "spec"));
    object_meta::validate(meta, true, names::dns_subdomain, &Path::new("metadata"), errors);
    selector::validate(job, new_labels, errors);
    validate_spec_and_selector(spec, options, errors);
    let completions = int(spec, "completions").unwrap_or_default();
    if is_indexed(spec) && completions > 0 {
        let hostname = format!("{}-{}", text(meta, "name"), completions - 1);
        if !names::dns_label(&hostname).is_empty() {
            let path = Path::new("metadata").child("name");
            let detail = format!("will not able to create pod with invalid DNS label: {hostname}");
            errors.push(FieldError::invalid(&path, &json!(text(meta, "name")), detail));
        }
    }
}

fn validate_spec_and_selector(spec: &Value, options: Options, errors: &mut Errors) {
    let path = Path::new("spec");
    validate_spec(spec, options, &path, errors);
    let selector = get(spec, "selector");
    let selector_path = path.child("selector");
    if selector.is_null() {
        errors.push(FieldError::required(&selector_path, ""));
    }
    label_selector::validate_with(
        selector,
        options.allow_invalid_selector_values,
        &selector_path,
        errors,
    );
    if label_selector::is_usable(selector) {
        validate_labels_match(selector, get(spec, "template"), &path.child("template"), errors);
    }
}

fn is_indexed(spec: &Value) -> bool {
    text(spec, "completionMode") == "Indexed"
}

/// Checks all of a spec but its selector; also the specs that CronJobs make jobs from.
pub(super) fn validate_spec(spec: &Value, options: Options, path: &Path, errors: &mut Errors) {
    for key in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        not_negative(spec, key, path, errors);
    }
    if has(spec, "maxFailedIndexes") && !has(spec, "backoffLimitPerIndex") {
        let path = path.child("backoffLimitPerIndex");
        errors.push(FieldError::required(&path, "when maxFailedIndexes is specified"));
    }
    validate_manager(spec, path, errors);
    validate_completion_mode(spec, path, errors);
    failure_policy::validate(spec, path, errors);
    success_policy::validate(spec, path, errors);
    validate_replacement_policy(spec, path, errors);
    template::validate(get(spec, "template"), options, &path.child("template"), errors);
    validate_restart_policy(spec, path, errors);
}

fn validate_manager(spec: &Value, path: &Path, errors: &mut Errors) {
    let Some(manager) = get(spec, "managedBy").as_str() else {
        return;
    };
    let path = path.child("managedBy");
    match manager.split_once('/') {
        _ if manager.is_empty() => errors.push(FieldError::required(&path, "")),
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            crate::checks::syntax_of(host, names::dns_subdomain, &path, errors);
            let allowed = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
            if !rest.chars().all(allowed) {
                let rule = names::regex_error("Invalid path", r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", &[]);
                errors.push(FieldError::invalid(&path, &json!(rest), rule));
            }
        }
        _ => {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            errors.push(FieldError::invalid(&path, &json!(manager), detail));
        }
    }
    if manager.len() > MANAGER_LIMIT {
        errors.push(FieldError::too_long(&path, MANAGER_LIMIT));
    }
}

fn validate_completion_mode(spec: &Value, path: &Path, errors: &mut Errors) {
    let modes = ["NonIndexed", "Indexed"];
    let mode = get(spec, "completionMode");
    match mode.as_str() {
        Some("Indexed") => validate_indexed(spec, path, errors),
        None | Some("NonIndexed") => {
            for key in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if has(spec, key) {
                    let detail = "requires indexed completion mode";
                    errors.push(FieldError::invalid(&path.child(key), get(spec, key), detail));
                }
            }
        }
        Some(_) => errors.push(FieldError::not_supported(
            &path.child("completionMode"),
            mode,
            &modes,
        )),
    }
}

fn validate_indexed(spec: &Value, path: &Path, errors: &mut Errors) {
    let (completions, most_failed) = (int(spec, "completions"), int(spec, "maxFailedIndexes"));
    if completions.is_none() {
        errors.push(FieldError::required(
            &path.child("completions"),
            "when completion mode is Indexed",
        ));
    }
    no_more(
        spec,
        "parallelism",
        MANY_INDEXES,
        " when completion mode is Indexed",
        path,
        errors,
    );
    if completions.is_some_and(|completions| most_failed.is_some_and(|failed| failed > completions)) {
        let detail = "must be less than or equal to completions";
        errors.push(FieldError::invalid(
            &path.child("maxFailedIndexes"),
            &json!(most_failed),
            detail,
        ));
    }
    validate_many_indexes(spec, path, errors);
}

fn no_more(spec: &Value, key: &str, limit: i64, when: &str, path: &Path, errors: &mut Errors) {
    if let Some(value) = int(spec, key).filter(|value| *value > limit) {
        let detail = format!("must be less than or equal to {limit}{when}");
        errors.push(FieldError::invalid(&path.child(key), &json!(value), detail));
    }
}

fn validate_many_indexes(spec: &Value, path: &Path, errors: &mut Errors) {
    no_more(spec, "maxFailedIndexes", MANY_INDEXES, "", path, errors);
    let many = int(spec, "completions").is_some_and(|completions| completions > MANY_INDEXES);
    if !many || !has(spec, "backoffLimitPerIndex") {
        return;
    }
    if !has(spec, "maxFailedIndexes") {
        let detail = format!("must be specified when completions is above {MANY_INDEXES}");
        errors.push(FieldError::required(&path.child("maxFailedIndexes"), detail));
    }
    let when = format!(" when completions are above {MANY_INDEXES} and used with backoff limit per index");
    no_more(spec, "parallelism", FEW_INDEXES, &when, path, errors);
    no_more(spec, "maxFailedIndexes", FEW_INDEXES, &when, path, errors);
}

fn validate_replacement_policy(spec: &Value, path: &Path, errors: &mut Errors) {
    // Pods that may still fail in a way that matters are not replaced before they did.
    let choices: &[&str] = if has(spec, "podFailurePolicy") {
        &["Failed"]
    } else {
        &["Failed", "TerminatingOrFailed"]
    };
    crate::checks::one_of_if_set(spec, "podReplacementPolicy", choices, path, errors);
}

fn validate_restart_policy(spec: &Value, path: &Path, errors: &mut Errors) {
    let policy = text(get(get(spec, "template"), "spec"), "restartPolicy");
    let path = || path.child("template").child("spec").child("restartPolicy");
    match policy {
        "" | "Always" => {
            errors.push(FieldError::required(
                &path(),
                "valid values: \"OnFailure\", \"Never\"",
            ));
        }
        "OnFailure" if has(spec, "podFailurePolicy") => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push(FieldError::invalid(&path(), &json!(policy), detail));
        }
        "OnFailure" | "Never" => {}
        _ => errors.push(FieldError::not_supported(
            &path(),
            &json!(policy),
            &["OnFailure", "Never"],
        )),
    }
}

/// What to tell about the spec of a job; `path` is that of the spec.
pub(super) fn spec_warnings(spec: &Value, path: &Path) -> Vec<String> {
    let above = |key: &str, limit: i64| int(spec, key).unwrap_or_default() > limit;
    let mut warnings = Vec::new();
    if is_indexed(spec) && above("completions", MANY_INDEXES) && above("parallelism", FEW_INDEXES) {
        warnings.push(format!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        ));
    }
    warnings.extend(template::warnings(get(spec, "template"), &path.child("template")));
    warnings
}

fn container_names(spec: &Value) -> impl Iterator<Item = &str> {
    let pod_spec = get(get(spec, "template"), "spec");
    list(pod_spec, "containers")
        .iter()
        .chain(list(pod_spec, "initContainers"))
        .map(|container| text(container, "name"))
}
