//! Validation of a changed definition: names of kinds that are served do not change, and what was
//! wrong already is not held against the change.

use manifests::field::{FieldError, Path};
use serde_json::Value;

use super::{
    conversion, names, openapi_schema,
    props::{any, at, list, text},
    structure,
    validate::{self, Options, schemas},
};
use crate::structural::Structural;

pub fn validate_update(crd: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let (spec, old_spec) = (at(crd, &["spec"]), at(old, &["spec"]));
    validate::validate_spec(spec, &tolerance(old), errors);
    let path = Path::new("spec");
    let mut immutable = |fields: &[&str]| {
        let (new, old) = (at(spec, fields), at(old_spec, fields));
        if new != old {
            let path = fields.iter().fold(path.clone(), |path, field| path.child(field));
            errors.push(FieldError::invalid(&path, new, "field is immutable"));
        }
    };
    if is_established(old) {
        immutable(&["scope"]);
        immutable(&["names", "kind"]);
    }
    immutable(&["group"]);
    immutable(&["names", "plural"]);
    validate::validate_status(crd, errors);
    names::validate_approval(crd, Some(old), errors);
    if at(old_spec, &["preserveUnknownFields"]) != &Value::Bool(true) {
        validate::validate_preserve(crd, errors);
    }
}

/// Validates a change of the status alone.
pub fn validate_status_update(crd: &Value, errors: &mut Vec<FieldError>) {
    let accepted = at(crd, &["status", "acceptedNames"]);
    names::validate(accepted, &Path::new("status").child("acceptedNames"), errors);
}

fn is_established(crd: &Value) -> bool {
    list(at(crd, &["status"]), "conditions")
        .iter()
        .any(|condition| text(condition, "type") == "Established" && text(condition, "status") == "True")
}

/// What the old definition already broke.
fn tolerance(old: &Value) -> Options<'_> {
    let spec = at(old, &["spec"]);
    let complete = list(spec, "versions")
        .iter()
        .all(|v| at(v, &["schema", "openAPIV3Schema"]).is_object());
    let none =
        |predicate: &dyn Fn(&Value) -> bool| !schemas(old).any(|schema| any(schema, &|s| predicate(s)));
    Options {
        review_versions: conversion::speaks(at(spec, &["conversion"])),
        schema_required: complete,
        valid_types: none(&openapi_schema::has_unknown_type),
        pruned_defaults: !schemas(old).any(has_unpruned_default),
        atomic_sets: none(&openapi_schema::has_granular_set),
        map_keys: none(&|schema| !openapi_schema::map_key_errors(schema, &Path::root()).is_empty()),
        structural: !schemas(old).any(|schema| !structure::validate(schema, &Path::root()).is_empty()),
        old: Some(old),
    }
}

fn has_unpruned_default(schema: &Value) -> bool {
    any(schema, &|schema| {
        super::props::default(schema).is_some_and(|default| {
            let structural = Structural::without_rules(schema);
            let mut pruned = default.clone();
            crate::prune::prune_part(&mut pruned, &structural, structural.embedded_resource);
            pruned != *default
        })
    })
}
