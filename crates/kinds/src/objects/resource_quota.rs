//! ResourceQuota: limits on what a namespace holds, possibly for a scope of pods only.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    field::{Errors, Field, IMMUTABLE},
    resource_names,
};
use crate::{internal_form, read, strategy::Strategy};

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];
const OPPOSITES: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

const POD_COMPUTE: [&str; 6] = [
    "cpu",
    "memory",
    "limits.cpu",
    "limits.memory",
    "requests.cpu",
    "requests.memory",
];

pub(crate) static STRATEGY: Strategy = Strategy {
    prepare_for_create: |quota| quota["status"] = json!({}),
    prepare_for_update: super::keep_status,
    validate: |quota, errors| {
        validate_spec(quota, errors);
        validate_status(quota, errors);
    },
    validate_update,
    prepare_for_status_update: super::keep_spec,
    validate_status_update: |quota, _, errors| validate_status(quota, errors),
    ..Strategy::NONE
};

fn validate_spec(quota: &Value, errors: &mut Errors) {
    let root = Field::root(quota);
    let spec = root.child("spec");
    validate_amounts(&spec.child("hard"), errors);
    validate_scopes(&spec, errors);
    let selector = spec.child("scopeSelector");
    if selector.is_set() {
        validate_selector(&spec, &selector.child("matchExpressions"), errors);
    }
}

fn validate_amounts(amounts: &Field<'_>, errors: &mut Errors) {
    for (name, entry) in amounts.entries() {
        entry.named(name, resource_names::of_quotas, errors);
        resource_names::validate_amount(name, &entry, errors);
    }
}

fn validate_status(quota: &Value, errors: &mut Errors) {
    let root = Field::root(quota);
    validate_amounts(&root.child("status.hard"), errors);
    validate_amounts(&root.child("status.used"), errors);
}

fn validate_scopes(spec: &Field<'_>, errors: &mut Errors) {
    let scopes = spec.child("scopes");
    let mut seen = BTreeSet::new();
    for scope in scopes.list().iter().filter_map(Value::as_str) {
        if !SCOPES.contains(&scope) {
            scopes.invalid("unsupported scope", errors);
        }
        for _ in unfit_resources(spec, scope) {
            scopes.invalid("unsupported scope applied to resource", errors);
        }
        seen.insert(scope);
    }
    validate_opposites(&seen, &scopes, scopes.value, errors);
}

fn validate_selector(spec: &Field<'_>, terms: &Field<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    // Complaints about a term name the list, not the term.
    for term in terms.items() {
        let (scope, operator) = (term.child("scopeName"), term.child("operator"));
        let values = term.child("values");
        if !SCOPES.contains(&scope.text()) {
            terms
                .renamed("scopeName")
                .invalid_as(scope.text(), "unsupported scope", errors);
        }
        for _ in unfit_resources(spec, scope.text()) {
            let detail = "unsupported scope applied to resource";
            let selector = read::get(spec.value, "scopeSelector");
            errors.push(internal_form::invalid(
                &terms.path(),
                selector,
                "ScopeSelector",
                detail,
            ));
        }
        if !["PriorityClass", "VolumeAttributesClass"].contains(&scope.text())
            && SCOPES.contains(&scope.text())
            && operator.text() != "Exists"
        {
            terms.renamed("operator").invalid_as(
                operator.text(),
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
                errors,
            );
        }
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => terms.renamed("values").required_because(
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
                errors,
            ),
            "Exists" | "DoesNotExist" if !values.is_empty() => terms.renamed("values").invalid_as(
                values.value.clone(),
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
                errors,
            ),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            text => terms
                .renamed("operator")
                .invalid_as(text, "not a valid selector operator", errors),
        }
        seen.insert(read::text(term.value, "scopeName"));
    }
    validate_opposites(&seen, terms, read::get(spec.value, "scopes"), errors);
}

fn validate_opposites(seen: &BTreeSet<&str>, place: &Field<'_>, shown: &Value, errors: &mut Errors) {
    for pair in OPPOSITES {
        if pair.iter().all(|scope| seen.contains(scope)) {
            place.invalid_as(shown.clone(), "conflicting scopes", errors);
        }
    }
}

/// The limited resources that a scope says nothing about.
fn unfit_resources<'a>(spec: &'a Field<'_>, scope: &'a str) -> impl Iterator<Item = &'a String> {
    read::entries(spec.value, "hard")
        .map(|(name, _)| name)
        .filter(move |name| resource_names::is_quota_name(name) && !fits(scope, name))
}

fn fits(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => ["persistentvolumeclaims", "requests.storage"].contains(&resource),
        _ if SCOPES.contains(&scope) => resource == "pods" || POD_COMPUTE.contains(&resource),
        _ => true,
    }
}

fn validate_update(quota: &Value, old: &Value, errors: &mut Errors) {
    validate_spec(quota, errors);
    let root = Field::root(quota);
    let scopes = root.child("spec.scopes");
    let set = |scopes: &[Value]| scopes.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    if set(scopes.list()) != set(read::list(read::get(old, "spec"), "scopes")) {
        scopes.invalid(IMMUTABLE, errors);
    }
}
