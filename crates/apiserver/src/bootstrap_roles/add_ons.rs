//! Roles that charts and manifests take for granted: of those who watch a cluster's health, sign
//! certificates, make volumes, or serve a part of the API themselves.

use serde_json::{Value, json};

use super::{BINDINGS, READ, ROLES, binding, events, group, metadata, named, paths, role, rule, user};

const SYSTEM_ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles";
const SYSTEM_BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings";
const AUTHENTICATION_READER: &str = "extension-apiserver-authentication-reader";

/// Where servers of a part of the API find out whom to believe.
pub(crate) const AUTHENTICATION: &str = "extension-apiserver-authentication";

pub(super) fn objects() -> Vec<(&'static str, Value)> {
    let mut all: Vec<_> = health()
        .into_iter()
        .chain(storage())
        .chain(certificates())
        .map(|(name, rules)| (ROLES, role(name, rules)))
        .collect();
    all.push((
        BINDINGS,
        binding("system:monitoring", vec![group("system:monitoring")]),
    ));
    all.push((
        BINDINGS,
        binding("system:volume-scheduler", vec![user("system:kube-scheduler")]),
    ));
    let reader = named("", "configmaps", &[AUTHENTICATION], &READ);
    all.push((SYSTEM_ROLES, role(AUTHENTICATION_READER, vec![reader])));
    all.push((SYSTEM_BINDINGS, authentication_readers()));
    all
}

fn health() -> [(&'static str, Vec<Value>); 4] {
    let health = [
        "/healthz",
        "/healthz/*",
        "/livez",
        "/livez/*",
        "/metrics",
        "/metrics/slis",
        "/readyz",
        "/readyz/*",
    ];
    let of_nodes = ["nodes/log", "nodes/metrics", "nodes/proxy", "nodes/stats"];
    [
        (
            "system:monitoring",
            vec![paths(&health, "get"), rule(&[""], &["nodes/metrics"], &["get"])],
        ),
        (
            "system:node-problem-detector",
            vec![
                rule(&[""], &["nodes"], &["get"]),
                rule(&[""], &["nodes/status"], &["patch"]),
                events(),
            ],
        ),
        (
            "system:kubelet-api-admin",
            vec![
                rule(&[""], &["nodes"], &READ),
                rule(&[""], &["nodes"], &["proxy"]),
                rule(&[""], &of_nodes, &["*"]),
                rule(&[""], &["nodes/configz", "nodes/healthz", "nodes/pods"], &["*"]),
            ],
        ),
        (
            "system:auth-delegator",
            vec![
                rule(&["authentication.k8s.io"], &["tokenreviews"], &["create"]),
                rule(&["authorization.k8s.io"], &["subjectaccessreviews"], &["create"]),
            ],
        ),
    ]
}

fn storage() -> [(&'static str, Vec<Value>); 3] {
    let classes = rule(&["storage.k8s.io"], &["storageclasses"], &READ);
    let change = ["get", "list", "patch", "update", "watch"];
    [
        (
            "system:persistent-volume-provisioner",
            vec![
                rule(
                    &[""],
                    &["persistentvolumes"],
                    &["create", "delete", "get", "list", "watch"],
                ),
                rule(
                    &[""],
                    &["persistentvolumeclaims"],
                    &["get", "list", "update", "watch"],
                ),
                classes.clone(),
                rule(&[""], &["events"], &["watch"]),
                events(),
            ],
        ),
        (
            "system:volume-scheduler",
            vec![
                rule(&[""], &["persistentvolumes"], &change),
                classes,
                rule(&[""], &["persistentvolumeclaims"], &change),
            ],
        ),
        (
            "system:kube-dns",
            vec![rule(&[""], &["endpoints", "services"], &["list", "watch"])],
        ),
    ]
}

fn certificates() -> Vec<(&'static str, Vec<Value>)> {
    let ask = |subresource: &str| {
        let resource = format!("certificatesigningrequests/{subresource}");
        vec![rule(&["certificates.k8s.io"], &[&resource], &["create"])]
    };
    let approve = |signer: &str| vec![named("certificates.k8s.io", "signers", &[signer], &["approve"])];
    vec![
        (
            "system:node-bootstrapper",
            vec![rule(
                &["certificates.k8s.io"],
                &["certificatesigningrequests"],
                &["create", "get", "list", "watch"],
            )],
        ),
        (
            "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
            ask("nodeclient"),
        ),
        (
            "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
            ask("selfnodeclient"),
        ),
        (
            "system:certificates.k8s.io:kube-apiserver-client-approver",
            approve("kubernetes.io/kube-apiserver-client"),
        ),
        (
            "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
            approve("kubernetes.io/kube-apiserver-client-kubelet"),
        ),
        (
            "system:certificates.k8s.io:kubelet-serving-approver",
            approve("kubernetes.io/kubelet-serving"),
        ),
        (
            "system:certificates.k8s.io:legacy-unknown-approver",
            approve("kubernetes.io/legacy-unknown"),
        ),
    ]
}

fn authentication_readers() -> Value {
    let parts = ["system:kube-controller-manager", "system:kube-scheduler"];
    json!({
        "metadata": metadata(&format!("system::{AUTHENTICATION_READER}")),
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": AUTHENTICATION_READER },
        "subjects": parts.map(user),
    })
}
