//! The roles of people who share a namespace: who looks, who works, who gives rights to others.

use serde_json::{Value, json};

use super::{READ, ROLES, WRITE, role, rule};

/// Resources of the shared roles, group by group: what a viewer may read.
const VIEWED: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "configmaps",
            "endpoints",
            "events",
            "limitranges",
            "namespaces",
            "namespaces/status",
            "persistentvolumeclaims",
            "persistentvolumeclaims/status",
            "pods",
            "pods/log",
            "pods/status",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "replicationcontrollers/status",
            "resourcequotas",
            "resourcequotas/status",
            "serviceaccounts",
            "services",
            "services/status",
            "bindings",
        ],
    ),
    (
        "apps",
        &[
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "statefulsets",
            "statefulsets/scale",
            "statefulsets/status",
        ],
    ),
    (
        "autoscaling",
        &["horizontalpodautoscalers", "horizontalpodautoscalers/status"],
    ),
    ("batch", &["cronjobs", "cronjobs/status", "jobs", "jobs/status"]),
    ("discovery.k8s.io", &["endpointslices"]),
    ("events.k8s.io", &["events"]),
    (
        "networking.k8s.io",
        &["ingresses", "ingresses/status", "networkpolicies"],
    ),
    ("policy", &["poddisruptionbudgets", "poddisruptionbudgets/status"]),
    (
        "resource.k8s.io",
        &[
            "resourceclaims",
            "resourceclaims/status",
            "resourceclaimtemplates",
        ],
    ),
];

/// What an editor may change on top.
const EDITED: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "configmaps",
            "events",
            "persistentvolumeclaims",
            "pods",
            "pods/attach",
            "pods/exec",
            "pods/portforward",
            "pods/proxy",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "secrets",
            "serviceaccounts",
            "services",
            "services/proxy",
        ],
    ),
    (
        "apps",
        &[
            "daemonsets",
            "deployments",
            "deployments/rollback",
            "deployments/scale",
            "replicasets",
            "replicasets/scale",
            "statefulsets",
            "statefulsets/scale",
        ],
    ),
    ("autoscaling", &["horizontalpodautoscalers"]),
    ("batch", &["cronjobs", "jobs"]),
    ("networking.k8s.io", &["ingresses", "networkpolicies"]),
    ("policy", &["poddisruptionbudgets"]),
    ("resource.k8s.io", &["resourceclaims", "resourceclaimtemplates"]),
];

/// `view`, `edit` and `admin`, each aggregating what carries its label.
pub(super) fn objects() -> Vec<(&'static str, Value)> {
    let mut all: Vec<_> = [
        ("system:aggregate-to-view", "view", viewer()),
        ("system:aggregate-to-edit", "edit", editor()),
        ("system:aggregate-to-admin", "admin", administrator()),
    ]
    .into_iter()
    .map(|(name, into, rules)| (ROLES, labelled(role(name, rules), into)))
    .collect();
    // Each role holds the one before it.
    let (view, edit) = (aggregated("view"), aggregated("edit"));
    all.push((ROLES, labelled(view, "edit")));
    all.push((ROLES, labelled(edit, "admin")));
    all.push((ROLES, aggregated("admin")));
    all
}

fn viewer() -> Vec<Value> {
    rules(VIEWED, &READ)
}

fn editor() -> Vec<Value> {
    let into_pods = [
        "pods/attach",
        "pods/exec",
        "pods/portforward",
        "pods/proxy",
        "secrets",
        "services/proxy",
    ];
    let mut rules = rules(EDITED, &WRITE);
    rules.extend([
        rule(&[""], &into_pods, &READ),
        rule(&[""], &["pods/eviction"], &["create"]),
        rule(&[""], &["serviceaccounts"], &["impersonate"]),
        rule(&[""], &["serviceaccounts/token"], &["create"]),
        rule(&["coordination.k8s.io"], &["leases"], &everything()),
    ]);
    rules
}

fn administrator() -> Vec<Value> {
    vec![
        rule(
            &["authorization.k8s.io"],
            &["localsubjectaccessreviews"],
            &["create"],
        ),
        rule(
            &["rbac.authorization.k8s.io"],
            &["rolebindings", "roles"],
            &everything(),
        ),
    ]
}

fn everything() -> Vec<&'static str> {
    [READ.as_slice(), &WRITE].concat()
}

fn rules(table: &[(&str, &[&str])], verbs: &[&str]) -> Vec<Value> {
    table
        .iter()
        .map(|(group, resources)| rule(&[group], resources, verbs))
        .collect()
}

fn label(into: &str) -> String {
    format!("rbac.authorization.k8s.io/aggregate-to-{into}")
}

/// The role becomes a part of another.
fn labelled(mut role: Value, into: &str) -> Value {
    role["metadata"]["labels"][label(into)] = "true".into();
    role
}

/// A role that is made of those with its label.
fn aggregated(name: &str) -> Value {
    let mut role = role(name, Vec::new());
    role["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": { label(name): "true" } }] });
    role
}
