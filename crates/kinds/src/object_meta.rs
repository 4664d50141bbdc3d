//! What all objects share: names, labels, annotations, owners, finalizers. Whether a resourceVersion is
//! needed, and what the server sets itself, is the caller's business.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    checks::{Errors, NOT_NEGATIVE, immutable, syntax, syntax_of},
    internal_form,
    label_selector::validate_labels,
    names::{self, Syntax},
    read::{flag, get, has, int, list, text},
};

const ANNOTATIONS_LIMIT: usize = 256 * 1024;
const MANAGER_LIMIT: usize = 128;
const SUBRESOURCE_LIMIT: usize = 256;
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Checks the metadata of a new object of a built-in kind.
pub fn validate(meta: &Value, namespaced: bool, name_syntax: Syntax, path: &Path, errors: &mut Errors) {
    validate_any(meta, namespaced, name_syntax, path, errors);
    validate_finalizer_prefixes(meta, path, errors);
}

/// Checks the metadata of a changed object of a built-in kind against what it was.
pub fn validate_update(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    validate_any_update(new, old, path, errors);
    validate_finalizer_prefixes(new, path, errors);
}

/// Checks the metadata of any object, built-in or custom.
pub fn validate_any(meta: &Value, namespaced: bool, name_syntax: Syntax, path: &Path, errors: &mut Errors) {
    validate_names(meta, name_syntax, path, errors);
    validate_namespace(meta, namespaced, path, errors);
    if let Some(generation) = int(meta, "generation").filter(|generation| *generation < 0) {
        errors.push(FieldError::invalid(
            &path.child("generation"),
            &json!(generation),
            NOT_NEGATIVE,
        ));
    }
    validate_labels(get(meta, "labels"), &path.child("labels"), errors);
    validate_annotations(get(meta, "annotations"), &path.child("annotations"), errors);
    validate_owners(meta, path, errors);
    validate_finalizers(meta, path, errors);
    validate_managed_fields(meta, path, errors);
}

/// Checks the metadata of any changed object against what it was.
pub fn validate_any_update(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    if has(old, "deletionTimestamp") {
        validate_no_new_finalizers(new, old, path, errors);
    }
    if text(new, "resourceVersion").is_empty() {
        let detail = "must be specified for an update";
        errors.push(FieldError::invalid(
            &path.child("resourceVersion"),
            &json!(""),
            detail,
        ));
    }
    let generation = int(new, "generation").unwrap_or_default();
    if generation < int(old, "generation").unwrap_or_default() {
        let detail = "must not be decremented";
        errors.push(FieldError::invalid(
            &path.child("generation"),
            &json!(generation),
            detail,
        ));
    }
    for key in ["name", "namespace", "uid"] {
        if text(new, key) != text(old, key) {
            let detail = crate::checks::IMMUTABLE;
            errors.push(FieldError::invalid(
                &path.child(key),
                &json!(text(new, key)),
                detail,
            ));
        }
    }
    for key in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        immutable(new, old, key, path, errors);
    }
    validate_labels(get(new, "labels"), &path.child("labels"), errors);
    validate_annotations(get(new, "annotations"), &path.child("annotations"), errors);
    validate_owners(new, path, errors);
    validate_managed_fields(new, path, errors);
}

/// Checks the keys of annotations and their total size.
pub fn validate_annotations(annotations: &Value, path: &Path, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        for message in names::qualified_name(&key.to_lowercase()) {
            errors.push(FieldError::invalid(path, &json!(key), message));
        }
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::too_long(path, ANNOTATIONS_LIMIT));
    }
}

/// Checks the name, and what one is to be generated from.
pub fn validate_names(meta: &Value, name_syntax: Syntax, path: &Path, errors: &mut Errors) {
    let prefix = text(meta, "generateName");
    if !prefix.is_empty() {
        for message in name_syntax(&completed(prefix)) {
            errors.push(FieldError::invalid(
                &path.child("generateName"),
                &json!(prefix),
                message,
            ));
        }
    }
    if text(meta, "name").is_empty() {
        errors.push(FieldError::required(
            &path.child("name"),
            "name or generateName is required",
        ));
    } else {
        syntax(meta, "name", name_syntax, path, errors);
    }
}

/// A name's prefix may end in a dash, because something follows it.
pub fn completed(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let kept = rest.char_indices().next_back().map_or(0, |(end, _)| end);
            format!("{}a", &rest[..kept])
        }
        _ => prefix.to_owned(),
    }
}

fn validate_namespace(meta: &Value, namespaced: bool, path: &Path, errors: &mut Errors) {
    match (namespaced, text(meta, "namespace")) {
        (true, "") => errors.push(FieldError::required(&path.child("namespace"), "")),
        (true, _) => syntax(meta, "namespace", names::dns_label, path, errors),
        (false, "") => {}
        (false, _) => {
            errors.push(FieldError::forbidden(
                &path.child("namespace"),
                "not allowed on this type",
            ));
        }
    }
}

fn validate_owners(meta: &Value, path: &Path, errors: &mut Errors) {
    let owners = list(meta, "ownerReferences");
    if owners.is_empty() {
        return;
    }
    let path = path.child("ownerReferences");
    let mut controller: Option<String> = None;
    for owner in owners {
        validate_owner(owner, &path, errors);
        if !flag(owner, "controller") {
            continue;
        }
        let name = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
        if let Some(first) = &controller {
            let detail = format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
            );
            let owners = get(meta, "ownerReferences");
            errors.push(internal_form::invalid(&path, owners, "[]OwnerReference", detail));
        } else {
            controller = Some(name);
        }
    }
}

fn validate_owner(owner: &Value, path: &Path, errors: &mut Errors) {
    let version = text(owner, "apiVersion");
    let (group, number) = match version.split('/').collect::<Vec<_>>()[..] {
        [number] => ("", number),
        [group, number] => (group, number),
        _ => ("", ""),
    };
    let mut refuse = |key: &str, detail: &str| {
        errors.push(FieldError::invalid(
            &path.child(key),
            &json!(text(owner, key)),
            detail,
        ));
    };
    if number.is_empty() {
        refuse("apiVersion", "version must not be empty");
    }
    for key in ["kind", "name", "uid"] {
        if text(owner, key).is_empty() {
            refuse(key, "must not be empty");
        }
    }
    if (group, number, text(owner, "kind")) == ("", "v1", "Event") {
        let detail = "/v1, Kind=Event is disallowed from being an owner";
        errors.push(internal_form::invalid(path, owner, "OwnerReference", detail));
    }
}

fn validate_finalizers(meta: &Value, path: &Path, errors: &mut Errors) {
    let finalizers = list(meta, "finalizers");
    if finalizers.is_empty() {
        return;
    }
    let path = path.child("finalizers");
    for finalizer in finalizers {
        syntax_of(
            finalizer.as_str().unwrap_or_default(),
            names::qualified_name,
            &path,
            errors,
        );
    }
    let includes = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    if includes(ORPHAN) && includes(FOREGROUND) {
        let detail = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        errors.push(FieldError::invalid(&path, get(meta, "finalizers"), detail));
    }
}

/// Finalizers without a prefix are the cluster's own; the prefix is what keeps others apart.
fn validate_finalizer_prefixes(meta: &Value, path: &Path, errors: &mut Errors) {
    for (i, finalizer) in list(meta, "finalizers").iter().enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        if !name.contains('/') && !["kubernetes", ORPHAN, FOREGROUND].contains(&name) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(
                &path.child("finalizers").index(i),
                finalizer,
                detail,
            ));
        }
    }
}

fn validate_no_new_finalizers(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    let known = list(old, "finalizers");
    let mut added: Vec<&str> = list(new, "finalizers")
        .iter()
        .filter(|name| !known.contains(name))
        .filter_map(Value::as_str)
        .collect();
    added.sort_unstable();
    added.dedup();
    if !added.is_empty() {
        let names = added
            .iter()
            .map(|name| format!("{name:?}"))
            .collect::<Vec<_>>()
            .join(", ");
        errors.push(FieldError::forbidden(
            &path.child("finalizers"),
            format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{names}}}"
            ),
        ));
    }
}

fn validate_managed_fields(meta: &Value, path: &Path, errors: &mut Errors) {
    for (i, entry) in list(meta, "managedFields").iter().enumerate() {
        let path = || path.child("managedFields").index(i);
        let mut refuse = |key: &str, detail: &str| {
            errors.push(FieldError::invalid(
                &path().child(key),
                &json!(text(entry, key)),
                detail,
            ));
        };
        if !["Apply", "Update"].contains(&text(entry, "operation")) {
            refuse("operation", "must be `Apply` or `Update`");
        }
        if !["", "FieldsV1"].contains(&text(entry, "fieldsType")) {
            refuse("fieldsType", "must be `FieldsV1`");
        }
        validate_field_manager(text(entry, "manager"), || path().child("manager"), errors);
        if text(entry, "subresource").len() > SUBRESOURCE_LIMIT {
            errors.push(FieldError::too_long(
                &path().child("subresource"),
                SUBRESOURCE_LIMIT,
            ));
        }
    }
}

/// Checks the name of a field manager, as given with a request or found in managed fields.
pub fn validate_field_manager(manager: &str, path: impl Fn() -> Path, errors: &mut Errors) {
    if manager.len() > MANAGER_LIMIT {
        errors.push(FieldError::too_long(&path(), MANAGER_LIMIT));
    }
    for (position, c) in manager.char_indices().filter(|(_, c)| c.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {position})", c as u32);
        errors.push(FieldError::invalid(&path(), &json!(manager), detail));
    }
}

/// Checks the metadata a template may carry: labels and annotations, nothing else.
pub fn validate_template(meta: &Value, path: &Path, errors: &mut Errors) {
    validate_annotations(get(meta, "annotations"), &path.child("annotations"), errors);
    validate_labels(get(meta, "labels"), &path.child("labels"), errors);
    for key in [
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "ownerReferences",
        "finalizers",
        "managedFields",
    ] {
        if !crate::checks::same(get(meta, key), &Value::Null) {
            errors.push(FieldError::forbidden(&path.child(key), "cannot be set"));
        }
    }
}
