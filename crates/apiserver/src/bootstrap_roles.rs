//! The roles every cluster has: the administrator's, the three for people who share a namespace, and
//! those every authenticated client needs to find its way.

mod components;

use serde_json::{Value, json};

use crate::authentication::{AUTHENTICATED, UNAUTHENTICATED};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

pub(crate) fn objects() -> Vec<(&'static str, Value)> {
    let mut all = vec![
        (
            ROLES,
            role(
                "cluster-admin",
                json!([
                    { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
                    { "nonResourceURLs": ["*"], "verbs": ["*"] },
                ]),
            ),
        ),
        (
            ROLES,
            role(
                "system:discovery",
                json!([{
                    "nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"],
                    "verbs": ["get"],
                }]),
            ),
        ),
        (
            ROLES,
            role(
                "system:public-info-viewer",
                json!([{
                    "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"], "verbs": ["get"],
                }]),
            ),
        ),
        (
            ROLES,
            role(
                "system:basic-user",
                json!([
                    { "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], "verbs": ["create"] },
                    { "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"] },
                ]),
            ),
        ),
        (
            ROLES,
            role(
                "system:auth-delegator",
                json!([
                    { "apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"] },
                    { "apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"] },
                ]),
            ),
        ),
        (
            ROLES,
            role(
                "system:service-account-issuer-discovery",
                json!([{
                    "nonResourceURLs": ["/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks", "/openid/v1/jwks/"],
                    "verbs": ["get"],
                }]),
            ),
        ),
    ];
    all.extend(people());
    all.extend(components::objects());
    for (name, groups) in [
        ("cluster-admin", &["system:masters"][..]),
        ("system:discovery", &[AUTHENTICATED]),
        ("system:basic-user", &[AUTHENTICATED]),
        ("system:public-info-viewer", &[AUTHENTICATED, UNAUTHENTICATED]),
        (
            "system:service-account-issuer-discovery",
            &["system:serviceaccounts"],
        ),
    ] {
        all.push((BINDINGS, binding(name, groups)));
    }
    all
}

fn labels() -> Value {
    json!({ "kubernetes.io/bootstrapping": "rbac-defaults" })
}

fn role(name: &str, rules: Value) -> Value {
    json!({ "metadata": { "name": name, "labels": labels() }, "rules": rules })
}

/// Binds a role to groups, under the role's own name.
fn binding(role: &str, groups: &[&str]) -> Value {
    binding_of(role, groups.iter().map(|name| group(name)).collect())
}

fn binding_of(role: &str, subjects: Vec<Value>) -> Value {
    json!({
        "metadata": { "name": role, "labels": labels() },
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

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

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
            "pods/eviction",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "secrets",
            "serviceaccounts",
            "serviceaccounts/token",
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
    ("coordination.k8s.io", &["leases"]),
    ("networking.k8s.io", &["ingresses", "networkpolicies"]),
    ("policy", &["poddisruptionbudgets"]),
    ("resource.k8s.io", &["resourceclaims", "resourceclaimtemplates"]),
];

/// `view`, `edit` and `admin`, each aggregating what carries its label.
fn people() -> Vec<(&'static str, Value)> {
    let rules = |table: &[(&str, &[&str])], verbs: &[&str]| -> Vec<Value> {
        table
            .iter()
            .map(|(group, resources)| json!({ "apiGroups": [group], "resources": resources, "verbs": verbs }))
            .collect()
    };
    let view = rules(VIEWED, &READ);
    let mut edit = rules(EDITED, &WRITE);
    edit.push(json!({ "apiGroups": [""], "resources": ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"], "verbs": READ }));
    edit.push(json!({ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": READ }));
    edit.push(json!({ "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"] }));
    let all_verbs = [READ.as_slice(), &WRITE].concat();
    let admin = vec![
        json!({ "apiGroups": ["authorization.k8s.io"], "resources": ["localsubjectaccessreviews"], "verbs": ["create"] }),
        json!({ "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["rolebindings", "roles"], "verbs": all_verbs }),
    ];
    let mut all = Vec::new();
    for (name, into, rules) in [
        ("system:aggregate-to-view", "view", view),
        ("system:aggregate-to-edit", "edit", edit),
        ("system:aggregate-to-admin", "admin", admin),
    ] {
        let mut object = role(name, rules.into());
        object["metadata"]["labels"][format!("rbac.authorization.k8s.io/aggregate-to-{into}")] =
            "true".into();
        all.push((ROLES, object));
    }
    for (name, aggregated) in [("view", "view"), ("edit", "edit"), ("admin", "admin")] {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{aggregated}");
        let mut object = role(name, json!([]));
        object["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": { label: "true" } }] });
        // Each role holds the one below it.
        match name {
            "view" => {
                object["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] = "true".into();
            }
            "edit" => {
                object["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-admin"] = "true".into();
            }
            _ => {}
        }
        all.push((ROLES, object));
    }
    all
}
