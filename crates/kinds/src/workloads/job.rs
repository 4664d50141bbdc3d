//! `batch/v1` Job.

mod failure_policy;
mod indexes;
mod status;
mod success_policy;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{
    NAME_USE, default_template, immutable_struct, options_after, prepare_for_status_update,
    prepare_for_update, validate_labels_match, validate_meta_update, validate_selector_unchanged,
};
use crate::{
    checks::{Errors, IMMUTABLE, not_negative, same},
    internal_form, label_selector, names, object_meta,
    pods::{Options, template, warnings::hostname_warning},
    read::{default, entries, flag, get, has, int, list, list_mut, object_mut, text},
    strategy::Strategy,
};

const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";
const OLD_CONTROLLER_UID: &str = "controller-uid";
const OLD_JOB_NAME: &str = "job-name";

const MANY_INDEXES: i64 = 100_000;
const FEW_INDEXES: i64 = 10_000;
const MANAGER_LIMIT: usize = 63;

pub static JOB: Strategy = Strategy {
    default: set_defaults,
    prepare_for_create: |job| {
        if !flag(get(job, "spec"), "manualSelector") {
            generate_selector(job);
        }
        super::prepare_for_create(job);
    },
    prepare_for_update,
    validate: |job, errors| validate_job(job, Options::default(), true, errors),
    validate_update,
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

/// Jobs find their pods by their own uid, so that two jobs of one name never share pods.
fn generate_selector(job: &mut Value) {
    let meta = get(job, "metadata");
    let (name, uid) = (text(meta, "name").to_owned(), text(meta, "uid").to_owned());
    let pod_template = &mut job["spec"]["template"];
    object_mut(pod_template, "metadata");
    let labels = object_mut(&mut pod_template["metadata"], "labels");
    for key in [OLD_JOB_NAME, JOB_NAME] {
        labels.entry(key).or_insert_with(|| json!(name));
    }
    for key in [OLD_CONTROLLER_UID, CONTROLLER_UID] {
        labels.entry(key).or_insert_with(|| json!(uid));
    }
    object_mut(&mut job["spec"], "selector");
    let selected = object_mut(&mut job["spec"]["selector"], "matchLabels");
    selected.entry(CONTROLLER_UID).or_insert_with(|| json!(uid));
}

fn validate_job(job: &Value, options: Options, new_labels: bool, errors: &mut Errors) {
    let (meta, spec) = (get(job, "metadata"), get(job, "spec"));
    object_meta::validate(meta, true, names::dns_subdomain, &Path::new("metadata"), errors);
    validate_generated_selector(job, new_labels, errors);
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

fn validate_generated_selector(job: &Value, new_labels: bool, errors: &mut Errors) {
    let (meta, spec) = (get(job, "metadata"), get(job, "spec"));
    let selector = get(spec, "selector");
    if flag(spec, "manualSelector") || selector.is_null() {
        return;
    }
    let (name, uid) = (text(meta, "name"), text(meta, "uid"));
    if uid.is_empty() {
        errors.push(FieldError::required(&Path::new("metadata").child("uid"), ""));
    }
    let mut expected = vec![(OLD_CONTROLLER_UID, uid), (OLD_JOB_NAME, name)];
    if new_labels {
        expected.extend([(CONTROLLER_UID, uid), (JOB_NAME, name)]);
    }
    let labels = get(get(get(spec, "template"), "metadata"), "labels");
    for (key, value) in &expected {
        let path = || {
            Path::new("spec")
                .child("template")
                .child("metadata")
                .child("labels")
                .key(key)
        };
        let detail = || format!("must be '{value}'");
        match labels.get(key) {
            None => errors.push(FieldError::required(&path(), detail())),
            Some(label) if label == value => {}
            Some(_) => errors.push(FieldError::invalid(&path(), labels, detail())),
        }
    }
    let expected: Value = expected
        .into_iter()
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect();
    if label_selector::is_usable(selector) && !label_selector::matches(selector, &expected) {
        let path = Path::new("spec").child("selector");
        errors.push(label_selector::invalid(
            &path,
            selector,
            "`selector` not auto-generated",
        ));
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

fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, old_spec) = (get(new, "spec"), get(old, "spec"));
    let mut options = options_after(old);
    options.allow_invalid_selector_values |= label_selector::has_invalid_value(get(old_spec, "selector"));
    let old_labels = get(get(get(old_spec, "template"), "metadata"), "labels");
    let new_labels = has(old_labels, JOB_NAME) && has(old_labels, CONTROLLER_UID);
    validate_job(new, options, new_labels, errors);
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
