//! Namespace: active from its creation until its deletion, and kept until the `kubernetes`
//! finalizer in its spec is taken away through the `finalize` subresource.

use serde_json::{Value, json};

use super::field::{Errors, Field};
use crate::{names, read, strategy::Strategy};

const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const FINALIZER: &str = "kubernetes";

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    prepare_for_create,
    prepare_for_update,
    validate,
    validate_update: |namespace, _, errors| validate(namespace, errors),
    prepare_for_status_update: super::keep_spec,
    validate_status_update,
    name_syntax: names::dns_label,
    ..Strategy::NONE
};

fn default(namespace: &mut Value) {
    label_with_name(namespace);
    if read::text(read::get(namespace, "status"), "phase").is_empty() {
        read::object_mut(namespace, "status").insert("phase".to_owned(), "Active".into());
    }
}

/// Every namespace can be selected by its name. Call again once `generateName` made the name.
pub fn label_with_name(namespace: &mut Value) {
    let name = read::text(read::get(namespace, "metadata"), "name").to_owned();
    if !name.is_empty() {
        let labels = read::object_mut(&mut namespace["metadata"], "labels");
        labels.insert(NAME_LABEL.to_owned(), name.into());
    }
}

fn prepare_for_create(namespace: &mut Value) {
    namespace["status"] = json!({"phase": "Active"});
    let spec = read::object_mut(namespace, "spec");
    match spec.entry("finalizers").or_insert_with(|| json!([])) {
        Value::Array(finalizers) if !finalizers.iter().any(|name| name == FINALIZER) => {
            finalizers.push(FINALIZER.into());
        }
        _ => {}
    }
}

fn prepare_for_update(namespace: &mut Value, old: &Value) {
    super::keep_status(namespace, old);
    super::carry(old, namespace, &["spec", "finalizers"]);
}

/// Through `finalize`, only the finalizers change.
pub fn prepare_for_finalize(namespace: &mut Value, old: &Value) {
    super::keep_status(namespace, old);
}

fn validate(namespace: &Value, errors: &mut Errors) {
    let root = Field::root(namespace);
    let finalizers = root.child("spec.finalizers");
    for finalizer in finalizers.items() {
        // The whole list is named, not the item, for historical reasons.
        validate_finalizer(finalizer.text(), &finalizers, errors);
    }
}

fn validate_status_update(namespace: &Value, _old: &Value, errors: &mut Errors) {
    let deleting = !read::at(namespace, &["metadata", "deletionTimestamp"]).is_null();
    let root = Field::root(namespace);
    let phase = root.child("status.phase");
    let reported = root.child("status");
    let complain = |detail: &str, errors: &mut Errors| {
        reported.renamed("Phase").invalid_as(phase.text(), detail, errors);
    };
    match (deleting, phase.text()) {
        (false, "Active") | (true, "Terminating") => {}
        (false, _) => complain("may only be 'Active' if `deletionTimestamp` is empty", errors),
        (true, _) => complain(
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
            errors,
        ),
    }
}

/// What a write to the `finalize` subresource must fulfil.
pub fn validate_finalize(namespace: &Value, errors: &mut Errors) {
    for finalizer in Field::root(namespace).child("spec.finalizers").items() {
        validate_finalizer(finalizer.text(), &finalizer, errors);
    }
}

fn validate_finalizer(name: &str, place: &Field<'_>, errors: &mut Errors) {
    for complaint in names::qualified_name(name) {
        place.invalid_as(name, complaint, errors);
    }
    if !name.contains('/') && ![FINALIZER, "orphan", "foregroundDeletion"].contains(&name) {
        place.invalid_as(
            name,
            "name is neither a standard finalizer name nor is it fully qualified",
            errors,
        );
    }
}
