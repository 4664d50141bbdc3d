//! The labels by which a job finds its pods.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    checks::Errors,
    label_selector,
    read::{flag, get, has, object_mut, text},
};

const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";
const OLD_CONTROLLER_UID: &str = "controller-uid";
const OLD_JOB_NAME: &str = "job-name";

/// Jobs find their pods by their own uid, so that two jobs of one name never share pods.
pub(super) fn generate(job: &mut Value) {
    let meta = get(job, "metadata");
    let (name, uid) = (text(meta, "name").to_owned(), text(meta, "uid").to_owned());
    let generated = [
        (OLD_JOB_NAME, &name),
        (JOB_NAME, &name),
        (OLD_CONTROLLER_UID, &uid),
        (CONTROLLER_UID, &uid),
    ];
    let template_labels = get(get(get(get(job, "spec"), "template"), "metadata"), "labels");
    // Labels taken over from the template stay the template's: they get what it gets.
    let shared = !template_labels.is_null() && template_labels == get(meta, "labels");
    let pod_template = &mut job["spec"]["template"];
    object_mut(pod_template, "metadata");
    add_labels(&mut pod_template["metadata"], &generated);
    if shared {
        add_labels(&mut job["metadata"], &generated);
    }
    object_mut(&mut job["spec"], "selector");
    let selected = object_mut(&mut job["spec"]["selector"], "matchLabels");
    selected.entry(CONTROLLER_UID).or_insert_with(|| json!(uid));
}

fn add_labels(meta: &mut Value, labels: &[(&str, &String)]) {
    let existing = object_mut(meta, "labels");
    for (key, value) in labels {
        existing.entry(*key).or_insert_with(|| json!(value));
    }
}

/// Checks that labels and selector are the generated ones, unless the user chose to make their own.
pub(super) fn validate(job: &Value, new_labels: bool, errors: &mut Errors) {
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

/// Whether a job was made after the labels got their prefix.
pub(super) fn has_new_labels(job: &Value) -> bool {
    let labels = get(get(get(get(job, "spec"), "template"), "metadata"), "labels");
    has(labels, JOB_NAME) && has(labels, CONTROLLER_UID)
}
