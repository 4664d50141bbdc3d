//! Which requests a webhook or an admission policy looks at: rules over groups, versions, resources
//! and operations, and conditions in CEL.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::field::{Errors, Field};
use crate::{label_selector, names, read};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MAX_CONDITIONS: usize = 64;

pub(crate) fn default_rule(rule: &mut Value) {
    read::default(rule, "scope", "*");
}

/// A policy or a selector that is left out takes everything.
pub(crate) fn default_match(resources: &mut Value) {
    read::default(resources, "matchPolicy", "Equivalent");
    read::default(resources, "namespaceSelector", json!({}));
    read::default(resources, "objectSelector", json!({}));
}

/// A star stands alone.
fn validate_star(list: &Field<'_>, what: &str, errors: &mut Errors) {
    if list.list().len() > 1 && list.list().iter().any(|item| item == "*") {
        list.invalid(
            format!("if '*' is present, must not specify other {what}"),
            errors,
        );
    }
}

pub(crate) fn validate_rule(rule: &Field<'_>, errors: &mut Errors) {
    let operations = rule.child("operations");
    operations.require(errors);
    validate_star(&operations, "operations", errors);
    for operation in operations.items() {
        operation.one_of(&OPERATIONS, errors);
    }
    let (groups, versions) = (rule.child("apiGroups"), rule.child("apiVersions"));
    groups.require(errors);
    validate_star(&groups, "API groups", errors);
    versions.require(errors);
    validate_star(&versions, "API versions", errors);
    for version in versions.items() {
        version.require(errors);
    }
    validate_resources(&rule.child("resources"), errors);
    rule.child("scope")
        .optional_one_of(&["*", "Cluster", "Namespaced"], errors);
}

/// `pods`, `pods/status`, `pods/*`, `*/scale`, `*` and `*/*`, none covered by another.
fn validate_resources(resources: &Field<'_>, errors: &mut Errors) {
    resources.require(errors);
    let (mut all_of, mut all_with) = (BTreeSet::new(), BTreeSet::new());
    let mut last_plain_is_named = false;
    for item in resources.items() {
        let text = item.value.as_str().unwrap_or_default();
        if !item.require(errors) {
            continue;
        }
        let Some((resource, subresource)) = text.split_once('/') else {
            last_plain_is_named = text != "*";
            continue;
        };
        if all_of.contains(resource) {
            item.invalid(
                format!("if '{resource}/*' is present, must not specify {text}"),
                errors,
            );
        }
        if all_with.contains(subresource) {
            item.invalid(
                format!("if '*/{subresource}' is present, must not specify {text}"),
                errors,
            );
        }
        if subresource == "*" {
            all_of.insert(resource);
        }
        if resource == "*" {
            all_with.insert(subresource);
        }
    }
    let has = |wanted: &str| resources.list().iter().any(|item| item == wanted);
    if resources.list().len() > 1 && has("*/*") {
        resources.invalid("if '*/*' is present, must not specify other resources", errors);
    }
    if has("*") && last_plain_is_named {
        resources.invalid(
            "if '*' is present, must not specify other resources without subresources",
            errors,
        );
    }
}

/// `matchConstraints` of a policy and `matchResources` of its binding.
pub(crate) fn validate_match(resources: &Field<'_>, errors: &mut Errors) {
    let policy = resources.child("matchPolicy");
    if policy.is_set() {
        policy.one_of(&["Equivalent", "Exact"], errors);
    } else {
        policy.required(errors);
    }
    for selector in ["namespaceSelector", "objectSelector"] {
        let selector = resources.child(selector);
        if !selector.is_set() {
            selector.required(errors);
        }
        label_selector::validate(selector.value, &selector.path(), errors);
    }
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in resources.child(rules).items() {
            let names = rule.child("resourceNames");
            for name in names.items() {
                name.syntax(names::path_segment, errors);
            }
            names.unique_items(errors);
            validate_rule(&rule, errors);
        }
    }
}

/// Whether the expressions compile is for the caller to find out.
pub(crate) fn validate_conditions(conditions: &Field<'_>, errors: &mut Errors) {
    conditions.at_most(MAX_CONDITIONS, errors);
    let mut seen = BTreeSet::new();
    for condition in conditions.items() {
        let (name, expression) = (condition.child("name"), condition.child("expression"));
        if expression.text().trim().is_empty() {
            expression.required(errors);
        }
        if name.require_syntax(names::qualified_name, errors) | !name.is_empty()
            && !seen.insert(read::text(condition.value, "name"))
        {
            name.duplicate(errors);
        }
    }
}
