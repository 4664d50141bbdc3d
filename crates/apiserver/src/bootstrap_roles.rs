//! The roles every cluster has: the administrator's, those every client needs to find its way, those of
//! people who share a namespace, of the cluster's own parts and of what charts commonly add to it.

mod add_ons;
mod components;
mod people;

pub(crate) use add_ons::AUTHENTICATION;
pub use components::OWN_NODES;

use serde_json::{Value, json};

use crate::authentication::{AUTHENTICATED, UNAUTHENTICATED};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

pub(crate) fn objects() -> Vec<(&'static str, Value)> {
    let mut all = everyone();
    all.extend(people::objects());
    all.extend(components::objects());
    all.extend(add_ons::objects());
    all
}

/// What each client may do, whoever it is, and the one who may do everything.
fn everyone() -> Vec<(&'static str, Value)> {
    let issuer = [
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/",
        "/openid/v1/jwks",
        "/openid/v1/jwks/",
    ];
    let discovery = [
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/healthz",
        "/livez",
        "/openapi",
        "/openapi/*",
        "/readyz",
        "/version",
        "/version/",
    ];
    let health = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    let reviews = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"];
    let roles = [
        (
            "cluster-admin",
            vec![rule(&["*"], &["*"], &["*"]), paths(&["*"], "*")],
            &["system:masters"][..],
        ),
        (
            "system:discovery",
            vec![paths(&discovery, "get")],
            &[AUTHENTICATED],
        ),
        (
            "system:basic-user",
            vec![
                rule(&["authorization.k8s.io"], &reviews, &["create"]),
                rule(&["authentication.k8s.io"], &["selfsubjectreviews"], &["create"]),
            ],
            &[AUTHENTICATED],
        ),
        (
            "system:public-info-viewer",
            vec![paths(&health, "get")],
            &[AUTHENTICATED, UNAUTHENTICATED],
        ),
        (
            "system:service-account-issuer-discovery",
            vec![paths(&issuer, "get")],
            &["system:serviceaccounts"],
        ),
    ];
    roles
        .into_iter()
        .flat_map(|(name, rules, groups)| {
            let subjects = groups.iter().map(|name| group(name)).collect();
            [(ROLES, role(name, rules)), (BINDINGS, binding(name, subjects))]
        })
        .collect()
}

fn metadata(name: &str) -> Value {
    json!({ "name": name, "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" } })
}

fn role(name: &str, rules: Vec<Value>) -> Value {
    json!({ "metadata": metadata(name), "rules": rules })
}

/// Binds a cluster's role under the role's own name.
fn binding(role: &str, subjects: Vec<Value>) -> Value {
    json!({
        "metadata": metadata(role),
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": subjects,
    })
}

fn group(name: &str) -> Value {
    json!({ "kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": name })
}

fn user(name: &str) -> Value {
    json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name })
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": groups, "resources": resources, "verbs": verbs })
}

/// A rule for objects of certain names alone.
fn named(group: &str, resource: &str, names: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": [resource], "resourceNames": names, "verbs": verbs })
}

fn paths(paths: &[&str], verb: &str) -> Value {
    json!({ "nonResourceURLs": paths, "verbs": [verb] })
}

fn events() -> Value {
    rule(
        &["", "events.k8s.io"],
        &["events"],
        &["create", "patch", "update"],
    )
}
