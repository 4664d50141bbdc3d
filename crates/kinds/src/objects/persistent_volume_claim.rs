//! PersistentVolumeClaim: storage that is wanted. Once it is bound only its size and the class of its
//! attributes change, and it never shrinks below what it has.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{
    access_modes,
    field::{Errors, Field, IMMUTABLE},
    persistent_volume::spec_field,
    resource_names,
};
use crate::{
    checks::same, internal_form, label_selector, names, read, resource_list::amount_of, strategy::Strategy,
    unified_diff::unified_diff,
};

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const RESIZE_STATES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    prepare_for_create: |claim| {
        claim["status"] = json!({"phase": "Pending"});
        settle_data_source(claim, &Value::Null);
    },
    prepare_for_update: |claim, old| {
        super::keep_status(claim, old);
        settle_data_source(claim, old);
    },
    validate: |claim, errors| validate_spec(&Field::root(claim).child("spec"), false, errors),
    validate_update,
    prepare_for_status_update: super::keep_spec,
    validate_status_update: |claim, _, errors| validate_status(claim, errors),
    warnings_on_create: warnings,
    warnings_on_update: |claim, _| warnings(claim),
    ..Strategy::NONE
};

fn default(claim: &mut Value) {
    if read::text(read::get(claim, "status"), "phase").is_empty() {
        read::object_mut(claim, "status").insert("phase".to_owned(), "Pending".into());
    }
    default_spec(super::spec_mut(claim));
}

/// The defaults of a claim's spec, also where it stands in a template.
pub fn default_spec(spec: &mut Value) {
    if spec.is_null() {
        *spec = json!({});
    }
    read::default(spec, "volumeMode", "Filesystem");
}

/// `dataSource` takes only claims and snapshots and drops everything else; `dataSourceRef` takes
/// all. Where one is set the other follows.
fn settle_data_source(claim: &mut Value, old: &Value) {
    let before = read::get(old, "spec");
    let had_source = read::has(before, "dataSource") || read::has(before, "dataSourceRef");
    let Some(Value::Object(spec)) = claim.get_mut("spec") else {
        return;
    };
    // References to other namespaces are not enabled.
    if spec
        .get("dataSourceRef")
        .is_some_and(|source| !read::text(source, "namespace").is_empty())
        && !read::has(before, "dataSourceRef")
    {
        spec.remove("dataSourceRef");
    }
    if !had_source
        && !spec.contains_key("dataSourceRef")
        && spec
            .get("dataSource")
            .is_some_and(|source| !is_claim_or_snapshot(source))
    {
        spec.remove("dataSource");
    }
    match (
        spec.get("dataSource").cloned(),
        spec.get("dataSourceRef").cloned(),
    ) {
        (Some(source), None) => spec.insert("dataSourceRef".to_owned(), source),
        (None, Some(source)) if read::text(&source, "namespace").is_empty() => {
            spec.insert("dataSource".to_owned(), source)
        }
        _ => None,
    };
}

fn is_claim_or_snapshot(source: &Value) -> bool {
    matches!(
        (read::text(source, "apiGroup"), read::text(source, "kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    )
}

/// Checks a claim's spec where it stands in a template.
pub fn validate_template_spec(spec: &Value, path: &Path, errors: &mut Errors) {
    validate_spec(&Field::at(spec, path), false, errors);
}

/// A group once accepted as the source of data stays accepted.
fn validate_spec(spec: &Field<'_>, accept_any_group: bool, errors: &mut Errors) {
    let modes = spec.child("accessModes");
    if modes.is_empty() {
        modes.required_because("at least 1 access mode is required", errors);
    }
    let selector = spec.child("selector");
    label_selector::validate(selector.value, &selector.path(), errors);
    access_modes::validate(&modes, errors);
    validate_storage(spec, errors);
    spec.child("storageClassName")
        .optional_syntax(names::dns_subdomain, errors);
    spec.child("volumeMode")
        .optional_one_of(&access_modes::VOLUME_MODES, errors);
    validate_data_sources(spec, accept_any_group, errors);
    spec.child("volumeAttributesClassName")
        .optional_syntax(names::dns_subdomain, errors);
}

fn validate_storage(spec: &Field<'_>, errors: &mut Errors) {
    let requested = spec.child("resources.requests").value.get("storage");
    // Errors name the request without `requests`.
    let path = spec.path().child("resources").key("storage");
    let amount = Field::at(requested.unwrap_or(&Value::Null), &path);
    if requested.is_none() {
        amount.required(errors);
    } else {
        resource_names::validate_positive(&amount, errors);
    }
}

fn validate_data_sources(spec: &Field<'_>, accept_any_group: bool, errors: &mut Errors) {
    let (source, reference) = (spec.child("dataSource"), spec.child("dataSourceRef"));
    for source in [source, reference] {
        if source.is_set() {
            validate_data_source(&source, accept_any_group, errors);
        }
    }
    let namespace = reference.child("namespace");
    namespace.optional_syntax(names::dns_label, errors);
    if !source.is_set() || !reference.is_set() {
        return;
    }
    let differs = || {
        ["apiGroup", "kind", "name"]
            .iter()
            .any(|field| source.child(field).value != reference.child(field).value)
    };
    // The shown value is that of an object without public fields.
    if !namespace.is_empty() {
        spec.invalid_as(
            json!({}),
            "may not be specified when dataSourceRef.namespace is specified",
            errors,
        );
    } else if differs() {
        spec.invalid_as(json!({}), "must match dataSourceRef", errors);
    }
}

fn validate_data_source(source: &Field<'_>, accept_any_group: bool, errors: &mut Errors) {
    source.child("name").require(errors);
    let (kind, group) = (source.child("kind"), source.child("apiGroup"));
    kind.require(errors);
    if group.is_empty() && kind.text() != "PersistentVolumeClaim" {
        source.invalid_as(
            kind.text(),
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
            errors,
        );
    }
    if !accept_any_group {
        group.optional_syntax(names::dns_subdomain, errors);
    }
}

fn validate_update(claim: &Value, old: &Value, errors: &mut Errors) {
    let root = Field::root(claim);
    let spec = root.child("spec");
    let before = read::get(old, "spec");
    let had_group = ["dataSource", "dataSourceRef"]
        .iter()
        .any(|source| !read::at(before, &[source, "apiGroup"]).is_null());
    validate_spec(&spec, had_group, errors);
    validate_unchanged(claim, old, errors);
    validate_size(&spec, old, errors);
    spec_field(&spec, "volumeMode").immutable(read::get(before, "volumeMode"), errors);
    validate_attributes_class(&spec, old, errors);
}

fn validate_unchanged(claim: &Value, old: &Value, errors: &mut Errors) {
    let (spec, before) = (read::get(claim, "spec"), read::get(old, "spec"));
    let annotation = |object| read::at(object, &["metadata", "annotations", BETA_CLASS]);
    let (new_annotation, old_annotation) = (annotation(claim), annotation(old));
    let (class, old_class) = (
        read::get(spec, "storageClassName"),
        read::get(before, "storageClassName"),
    );
    let gains_class = old_class.is_null() && !class.is_null();
    let from_annotation = gains_class
        && class == old_annotation
        && (new_annotation.is_null() || new_annotation == old_annotation);
    if !from_annotation && new_annotation != old_annotation {
        let path = Path::new("metadata").child("annotations").child(BETA_CLASS);
        let shown = new_annotation.as_str().unwrap_or_default();
        errors.push(FieldError::invalid(&path, &shown.into(), IMMUTABLE));
    }
    let may_gain_class = gains_class && (old_annotation.is_null() || class == old_annotation);
    let same_class = class == old_class || may_gain_class;
    if same(spec, before) && same_class {
        return;
    }
    let (mut spec, mut before) = (spec.clone(), before.clone());
    if read::text(&before, "volumeName").is_empty() {
        copy(&spec.clone(), &mut before, "volumeName");
    }
    if may_gain_class {
        copy(&before, &mut spec, "storageClassName");
    }
    if read::at(claim, &["status", "phase"]) == "Bound" {
        copy(&before, &mut spec, "volumeAttributesClassName");
        let stored = read::at(&before, &["resources", "requests", "storage"]).clone();
        if let Some(requests) = spec.pointer_mut("/resources/requests") {
            requests["storage"] = stored;
        }
    }
    if !same(&spec, &before) || !same_class {
        let shown = |spec| internal_form::pretty(spec, "PersistentVolumeClaimSpec");
        let changes = unified_diff(&shown(&before), &shown(&spec));
        let detail = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n{changes}"
        );
        errors.push(FieldError::forbidden(&Path::new("spec"), detail));
    }
}

fn copy(from: &Value, to: &mut Value, field: &str) {
    let Value::Object(to) = to else { return };
    match from.get(field) {
        Some(value) => to.insert(field.to_owned(), value.clone()),
        None => to.remove(field),
    };
}

/// A claim may be made smaller again while the volume has not grown that far.
fn validate_size(spec: &Field<'_>, old: &Value, errors: &mut Errors) {
    let requested = spec.child("resources.requests.storage");
    let (new, old_size) = (
        amount_of(requested.value),
        amount_of(read::at(old, &["spec", "resources", "requests", "storage"])),
    );
    let held = amount_of(read::at(old, &["status", "capacity", "storage"]));
    if new < old_size && new <= held {
        requested.forbidden("field can not be less than status.capacity", errors);
    }
}

fn validate_attributes_class(spec: &Field<'_>, old: &Value, errors: &mut Errors) {
    let class = spec.child("volumeAttributesClassName");
    let unchanged = class.value == read::at(old, &["spec", "volumeAttributesClassName"]);
    if unchanged || read::at(old, &["status", "currentVolumeAttributesClassName"]).is_null() {
        return;
    }
    if !class.is_set() {
        class.forbidden(
            "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil",
            errors,
        );
    } else if class.is_empty() {
        class.forbidden(
            "update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil",
            errors,
        );
    }
}

fn validate_status(claim: &Value, errors: &mut Errors) {
    let root = Field::root(claim);
    for (_, amount) in root.child("status.capacity").entries() {
        validate_basic(&amount, errors);
    }
    let states = root.child("status.allocatedResourceStatuses");
    for (name, state) in states.entries() {
        validate_allocated_name(name, &states, errors);
        if !RESIZE_STATES.contains(&state.text()) {
            let mut sorted = RESIZE_STATES;
            sorted.sort_unstable();
            errors.push(FieldError::not_supported(&states.path(), &name.into(), &sorted));
        }
    }
    let allocated = root.child("status.allocatedResources");
    for (name, amount) in allocated.entries() {
        if validate_allocated_name(name, &allocated, errors) && validate_basic(&amount, errors) {
            resource_names::validate_amount("storage", &amount, errors);
        }
    }
}

fn validate_basic(amount: &Field<'_>, errors: &mut Errors) -> bool {
    let value = amount_of(amount.value).value();
    if value < 0 {
        amount.invalid_as(value, "must be a valid resource quantity", errors);
    }
    value >= 0
}

fn validate_allocated_name(name: &str, place: &Field<'_>, errors: &mut Errors) -> bool {
    let fine = place.named(name, names::qualified_name, errors);
    if fine && resource_names::is_native(name) && name != "storage" {
        errors.push(FieldError::not_supported(
            &place.path(),
            &name.into(),
            &["storage"],
        ));
        return false;
    }
    fine
}

fn warnings(claim: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if !read::at(claim, &["metadata", "annotations", BETA_CLASS]).is_null() {
        warnings.push(format!(
            "metadata.annotations[{BETA_CLASS}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
        ));
    }
    warnings.extend(storage_warnings(read::get(claim, "spec"), &Path::new("spec")));
    warnings
}

/// Warnings about parts of bytes, which no disk has.
pub(crate) fn storage_warnings(spec: &Value, path: &Path) -> Vec<String> {
    ["requests", "limits"]
        .into_iter()
        .map(|list| (list, amount_of(read::at(spec, &["resources", list, "storage"]))))
        .filter(|(_, storage)| !resource_names::is_whole(storage))
        .map(|(list, storage)| {
            let path = path.child("resources").child(list).key("storage");
            format!("{path}: fractional byte value \"{storage}\" is invalid, must be an integer")
        })
        .collect()
}
