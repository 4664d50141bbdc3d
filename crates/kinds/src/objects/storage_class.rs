//! StorageClass and VolumeAttributesClass: how volumes are made. Their parameters never change.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    deprecated_labels,
    field::{Errors, Field},
};
use crate::{checks::same, names, read, strategy::Strategy};

const MAX_PARAMETERS: usize = 512;
const MAX_PARAMETERS_SIZE: usize = 256 * 1024;

pub(crate) static STORAGE_CLASS: Strategy = Strategy {
    default: |class| {
        read::default(class, "reclaimPolicy", "Delete");
        read::default(class, "volumeBindingMode", "Immediate");
    },
    validate,
    validate_update: |class, old, errors| {
        validate(class, errors);
        forbid_changes(
            class,
            old,
            &["parameters", "provisioner", "reclaimPolicy"],
            errors,
        );
        Field::root(class)
            .child("volumeBindingMode")
            .immutable(read::get(old, "volumeBindingMode"), errors);
    },
    warnings_on_create: warnings,
    warnings_on_update: |class, _| warnings(class),
    ..Strategy::NONE
};

pub(crate) static VOLUME_ATTRIBUTES_CLASS: Strategy = Strategy {
    validate: validate_attributes,
    validate_update: |class, old, errors| {
        validate_attributes(class, errors);
        forbid_changes(class, old, &["driverName", "parameters"], errors);
    },
    ..Strategy::NONE
};

fn validate(class: &Value, errors: &mut Errors) {
    let root = Field::root(class);
    validate_provisioner(&root.child("provisioner"), errors);
    validate_parameters(&root.child("parameters"), errors);
    let policy = root.child("reclaimPolicy");
    if !policy.is_empty() {
        policy.one_of(&["Delete", "Retain"], errors);
    }
    let mode = root.child("volumeBindingMode");
    if mode.is_set() {
        mode.one_of(&["Immediate", "WaitForFirstConsumer"], errors);
    } else {
        mode.required(errors);
    }
    validate_topologies(&root.child("allowedTopologies"), errors);
}

fn validate_attributes(class: &Value, errors: &mut Errors) {
    let root = Field::root(class);
    validate_provisioner(&root.child("driverName"), errors);
    let parameters = root.child("parameters");
    validate_parameters(&parameters, errors);
    if parameters.is_empty() {
        parameters.required_because("must contain at least one key/value pair", errors);
    }
}

fn validate_provisioner(name: &Field<'_>, errors: &mut Errors) {
    if !name.require(errors) {
        return;
    }
    let lower = name.text().to_lowercase();
    for complaint in names::qualified_name(&lower) {
        name.invalid_as(lower.as_str(), complaint, errors);
    }
}

fn validate_parameters(parameters: &Field<'_>, errors: &mut Errors) {
    if parameters.entries().count() > MAX_PARAMETERS {
        parameters.too_long(MAX_PARAMETERS, errors);
        return;
    }
    let mut size = 0;
    for (key, value) in parameters.entries() {
        if key.is_empty() {
            parameters.invalid_as(key, "field can not be empty.", errors);
        }
        size += key.len() + value.text().len();
    }
    if size > MAX_PARAMETERS_SIZE {
        parameters.too_long(MAX_PARAMETERS_SIZE, errors);
    }
}

fn validate_topologies(topologies: &Field<'_>, errors: &mut Errors) {
    let mut seen = Vec::new();
    for topology in topologies.items() {
        let requirements = topology.child("matchLabelExpressions");
        for requirement in requirements.items() {
            let values = requirement.child("values");
            values.require(errors);
            values.unique_items(errors);
            requirement.child("key").syntax(names::qualified_name, errors);
        }
        requirements.unique_by("key", errors);
        let values = values_by_key(topology.value);
        if seen.contains(&values) {
            requirements.duplicate_as("", errors);
        }
        seen.push(values);
    }
}

/// What a topology says, whatever order it says it in.
fn values_by_key(topology: &Value) -> BTreeMap<&str, BTreeSet<&str>> {
    let requirements = read::list(topology, "matchLabelExpressions").iter();
    requirements
        .map(|requirement| {
            let values = read::list(requirement, "values").iter().filter_map(Value::as_str);
            (read::text(requirement, "key"), values.collect())
        })
        .collect()
}

fn forbid_changes(class: &Value, old: &Value, fields: &[&str], errors: &mut Errors) {
    for field in fields {
        if !same(read::get(class, field), read::get(old, field)) {
            Field::root(class)
                .child(field)
                .forbidden(&format!("updates to {field} are forbidden."), errors);
        }
    }
}

fn warnings(class: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    for topology in Field::root(class).child("allowedTopologies").items() {
        for requirement in topology.child("matchLabelExpressions").items() {
            if let Some(message) = deprecated_labels::message(read::text(requirement.value, "key")) {
                warnings.push(format!("{}: {message}", requirement.path().child("key")));
            }
        }
    }
    warnings
}
