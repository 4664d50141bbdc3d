//! Roles and bindings: rules name resources or URLs, bindings never change the role they give.

use serde_json::Value;

use super::field::{Errors, Field};
use crate::{checks::same, label_selector, names, read, strategy::Strategy};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(crate) static ROLE: Strategy = Strategy {
    validate: |role, errors| validate_rules(role, Scope::Namespace, errors),
    validate_update: |role, _, errors| validate_rules(role, Scope::Namespace, errors),
    name_syntax: names::path_segment,
    ..Strategy::NONE
};

pub(crate) static CLUSTER_ROLE: Strategy = Strategy {
    validate: validate_cluster_role,
    validate_update: |role, _, errors| validate_cluster_role(role, errors),
    name_syntax: names::path_segment,
    ..Strategy::NONE
};

pub(crate) static ROLE_BINDING: Strategy = Strategy {
    default: default_binding,
    validate: |binding, errors| validate_binding(binding, Scope::Namespace, errors),
    validate_update: |binding, old, errors| validate_binding_update(binding, old, Scope::Namespace, errors),
    name_syntax: names::path_segment,
    ..Strategy::NONE
};

pub(crate) static CLUSTER_ROLE_BINDING: Strategy = Strategy {
    default: default_binding,
    validate: |binding, errors| validate_binding(binding, Scope::Cluster, errors),
    validate_update: |binding, old, errors| validate_binding_update(binding, old, Scope::Cluster, errors),
    name_syntax: names::path_segment,
    ..Strategy::NONE
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Namespace,
    Cluster,
}

fn default_binding(binding: &mut Value) {
    let role = read::object_mut(binding, "roleRef");
    if role.get("apiGroup").is_none_or(|group| group == "") {
        role.insert("apiGroup".to_owned(), GROUP.into());
    }
    for subject in read::list_mut(binding, "subjects") {
        if read::text(subject, "apiGroup").is_empty()
            && matches!(read::text(subject, "kind"), "User" | "Group")
        {
            subject["apiGroup"] = GROUP.into();
        }
    }
}

fn validate_rules(role: &Value, scope: Scope, errors: &mut Errors) {
    for rule in Field::root(role).child("rules").items() {
        validate_rule(&rule, scope, errors);
    }
}

fn validate_rule(rule: &Field<'_>, scope: Scope, errors: &mut Errors) {
    let verbs = rule.child("verbs");
    if verbs.is_empty() {
        verbs.required_because("verbs must contain at least one value", errors);
    }
    let (groups, resources, urls) = (
        rule.child("apiGroups"),
        rule.child("resources"),
        rule.child("nonResourceURLs"),
    );
    if !urls.is_empty() {
        if scope == Scope::Namespace {
            urls.invalid("namespaced rules cannot apply to non-resource URLs", errors);
        }
        if !groups.is_empty() || !resources.is_empty() || !rule.child("resourceNames").is_empty() {
            urls.invalid(
                "rules cannot apply to both regular resources and non-resource URLs",
                errors,
            );
        }
        return;
    }
    if groups.is_empty() {
        groups.required_because("resource rules must supply at least one api group", errors);
    }
    if resources.is_empty() {
        resources.required_because("resource rules must supply at least one resource", errors);
    }
}

fn validate_cluster_role(role: &Value, errors: &mut Errors) {
    validate_rules(role, Scope::Cluster, errors);
    let root = Field::root(role);
    if !root.child("aggregationRule").is_set() {
        return;
    }
    let selectors = root.child("aggregationRule.clusterRoleSelectors");
    if selectors.is_empty() {
        selectors.required_because(
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
            errors,
        );
    }
    for selector in selectors.items() {
        let before = errors.len();
        label_selector::validate(selector.value, &selector.path(), errors);
        if errors.len() > before {
            selector.invalid_as(Value::Null, "invalid label selector.", errors);
        }
    }
}

fn validate_binding(binding: &Value, scope: Scope, errors: &mut Errors) {
    let root = Field::root(binding);
    let roles: &[&str] = if scope == Scope::Namespace {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    root.child("roleRef.apiGroup").one_of(&[GROUP], errors);
    root.child("roleRef.kind").one_of(roles, errors);
    root.child("roleRef.name")
        .require_syntax(names::path_segment, errors);
    for subject in root.child("subjects").items() {
        validate_subject(&subject, scope, errors);
    }
}

fn validate_subject(subject: &Field<'_>, scope: Scope, errors: &mut Errors) {
    let (kind, name, group) = (
        subject.child("kind"),
        subject.child("name"),
        subject.child("apiGroup"),
    );
    name.require(errors);
    match kind.text() {
        "ServiceAccount" => {
            name.optional_syntax(names::dns_subdomain, errors);
            group.one_of(&[""], errors);
            if scope == Scope::Cluster {
                subject.child("namespace").require(errors);
            }
        }
        "User" | "Group" => {
            group.one_of(&[GROUP], errors);
        }
        _ => kind.not_supported(&["ServiceAccount", "User", "Group"], errors),
    }
}

fn validate_binding_update(binding: &Value, old: &Value, scope: Scope, errors: &mut Errors) {
    validate_binding(binding, scope, errors);
    let root = Field::root(binding);
    let role = root.child("roleRef");
    if !same(role.value, read::get(old, "roleRef")) {
        role.invalid_shown("RoleRef", "cannot change roleRef", errors);
    }
}
