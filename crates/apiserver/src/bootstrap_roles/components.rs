//! The roles of a cluster's own parts, and the users that have them.
//!
//! There is no authorizer that knows which pod is on which node, so nobody is a node by name or group
//! alone: the role is bound to the node that is part of this program. Controllers act as one user, who
//! therefore holds together what each controller alone would.

use serde_json::Value;

use super::{BINDINGS, READ, ROLES, WRITE, binding, events, group, named, role, rule, user};

/// Who is in this group is a node that this program started itself.
pub const OWN_NODES: &str = "trainyard:nodes";

pub(super) fn objects() -> Vec<(&'static str, Value)> {
    let parts = [
        ("system:node", node(), group(OWN_NODES)),
        ("system:node-proxier", node_proxier(), user("system:kube-proxy")),
        (
            "system:kube-scheduler",
            scheduler(),
            user("system:kube-scheduler"),
        ),
        (
            "system:kube-controller-manager",
            controllers(),
            user("system:kube-controller-manager"),
        ),
        (
            "system:trainyard-operator",
            operator(),
            user("system:trainyard-operator"),
        ),
        ("system:trainyard-tasks", tasks(), user("system:trainyard-tasks")),
        (
            "system:trainyard-pipelines",
            pipelines(),
            user("system:trainyard-pipelines"),
        ),
        (
            "system:trainyard-service",
            task_service(),
            user("system:trainyard-service"),
        ),
    ];
    parts
        .into_iter()
        .flat_map(|(name, rules, subject)| {
            [
                (ROLES, role(name, rules)),
                (BINDINGS, binding(name, vec![subject])),
            ]
        })
        .collect()
}

fn reviews() -> [Value; 2] {
    [
        rule(&["authentication.k8s.io"], &["tokenreviews"], &["create"]),
        rule(
            &["authorization.k8s.io"],
            &["localsubjectaccessreviews", "subjectaccessreviews"],
            &["create"],
        ),
    ]
}

fn node() -> Vec<Value> {
    let mut rules = vec![
        events(),
        rule(&[""], &["services", "configmaps", "secrets"], &READ),
        rule(
            &[""],
            &["nodes"],
            &["create", "get", "list", "watch", "patch", "update"],
        ),
        rule(&[""], &["nodes/status", "pods/status"], &["patch", "update"]),
        rule(&[""], &["pods"], &["create", "delete", "get", "list", "watch"]),
        rule(&[""], &["pods/eviction"], &["create"]),
        rule(
            &[""],
            &[
                "endpoints",
                "persistentvolumeclaims",
                "persistentvolumes",
                "serviceaccounts",
            ],
            &["get"],
        ),
        rule(
            &[""],
            &["persistentvolumeclaims/status"],
            &["get", "patch", "update"],
        ),
        rule(&[""], &["serviceaccounts/token"], &["create"]),
        rule(
            &["coordination.k8s.io"],
            &["leases"],
            &["create", "delete", "get", "patch", "update"],
        ),
        rule(
            &["certificates.k8s.io"],
            &["certificatesigningrequests"],
            &["create", "get", "list", "watch"],
        ),
        rule(&["node.k8s.io"], &["runtimeclasses"], &READ),
        rule(&["storage.k8s.io"], &["csidrivers"], &READ),
        rule(&["storage.k8s.io"], &["volumeattachments"], &["get"]),
        rule(
            &["storage.k8s.io"],
            &["csinodes"],
            &["create", "delete", "get", "patch", "update"],
        ),
        rule(&["resource.k8s.io"], &["resourceclaims"], &["get"]),
        rule(&["resource.k8s.io"], &["resourceslices"], &["deletecollection"]),
    ];
    rules.extend(reviews());
    rules
}

fn node_proxier() -> Vec<Value> {
    vec![
        events(),
        rule(&[""], &["endpoints", "services"], &["list", "watch"]),
        rule(&[""], &["nodes"], &READ),
        rule(&["discovery.k8s.io"], &["endpointslices"], &["list", "watch"]),
        rule(&["networking.k8s.io"], &["servicecidrs"], &["list", "watch"]),
    ]
}

fn scheduler() -> Vec<Value> {
    let mut rules = vec![
        events(),
        rule(&["coordination.k8s.io"], &["leases"], &["create"]),
        named(
            "coordination.k8s.io",
            "leases",
            &["kube-scheduler"],
            &["get", "list", "update", "watch"],
        ),
        rule(&[""], &["pods"], &["delete", "get", "list", "watch"]),
        rule(&[""], &["bindings", "pods/binding"], &["create"]),
        rule(&[""], &["pods/status"], &["patch", "update"]),
        rule(&[""], &["pods/finalizers"], &["update"]),
        rule(
            &[""],
            &["namespaces", "nodes", "replicationcontrollers", "services"],
            &READ,
        ),
        // A claim that waited for its first pod is told where that pod goes.
        rule(
            &[""],
            &["persistentvolumeclaims", "persistentvolumes"],
            &["get", "list", "patch", "update", "watch"],
        ),
        rule(&["apps"], &["replicasets", "statefulsets"], &READ),
        rule(&["policy"], &["poddisruptionbudgets"], &READ),
        // Gangs of pods as others describe them.
        rule(
            &["scheduling.volcano.sh", "scheduling.x-k8s.io"],
            &["podgroups"],
            &READ,
        ),
        rule(
            &["storage.k8s.io"],
            &[
                "csidrivers",
                "csinodes",
                "csistoragecapacities",
                "storageclasses",
                "volumeattachments",
            ],
            &READ,
        ),
        rule(&["resource.k8s.io"], &["deviceclasses", "resourceslices"], &READ),
        rule(
            &["resource.k8s.io"],
            &["resourceclaims", "resourceclaims/status"],
            &["get", "list", "patch", "update", "watch"],
        ),
    ];
    rules.extend(reviews());
    rules
}

/// The groups whose objects controllers make and change.
const CONTROLLED: [&str; 10] = [
    "",
    "apps",
    "autoscaling",
    "batch",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "networking.k8s.io",
    "policy",
    "storage.k8s.io",
];

fn controllers() -> Vec<Value> {
    let mut rules = vec![rule(&["*"], &["*"], &READ), rule(&CONTROLLED, &["*"], &WRITE)];
    rules.extend(reviews());
    rules
}

/// Tasks, what their templates may make, and what is known of pods and nodes.
fn tasks() -> Vec<Value> {
    const CHANGE: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];
    vec![
        events(),
        rule(&["storage.k8s.io"], &["storageclasses"], &["list"]),
        rule(&[""], &["persistentvolumes"], &["list"]),
        rule(&[""], &["events"], &READ),
        rule(
            &["apiextensions.k8s.io"],
            &["customresourcedefinitions"],
            &["create", "get", "list", "patch", "update", "watch"],
        ),
        rule(
            &["admissionregistration.k8s.io"],
            &["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
            &["create", "get", "patch"],
        ),
        rule(&["trainyard.dev"], &["*"], &CHANGE),
        rule(
            &["argoproj.io", "kubeflow.org", "mlkube.io", "mxnet.mlkube.io"],
            &["*"],
            &CHANGE,
        ),
        rule(
            &[""],
            &[
                "configmaps",
                "persistentvolumeclaims",
                "pods",
                "secrets",
                "services",
            ],
            &CHANGE,
        ),
        rule(&[""], &["nodes", "pods/log"], &READ),
        rule(
            &["apps"],
            &["controllerrevisions", "deployments", "statefulsets"],
            &CHANGE,
        ),
        rule(&["batch"], &["jobs"], &CHANGE),
    ]
}

/// Workflows, their pods, claims and remembered results, and the definitions of their kinds.
fn pipelines() -> Vec<Value> {
    const CHANGE: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];
    vec![
        events(),
        rule(
            &["apiextensions.k8s.io"],
            &["customresourcedefinitions"],
            &["create", "get", "list", "patch", "update", "watch"],
        ),
        rule(&["argoproj.io"], &["*"], &CHANGE),
        rule(&[""], &["configmaps", "persistentvolumeclaims", "pods"], &CHANGE),
    ]
}

/// Templates, definitions and tasks; tokens, keys and the audit log; who users of the cluster are and what they may.
fn task_service() -> Vec<Value> {
    const CHANGE: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];
    let mut rules = vec![
        rule(&["trainyard.dev"], &["*"], &CHANGE),
        // It asks itself who may.
        rule(&["trainyard.dev"], &["tasktemplates"], &["trust"]),
        rule(&[""], &["configmaps", "secrets"], &CHANGE),
        rule(&[""], &["namespaces"], &["create", "get"]),
        rule(&[""], &["pods", "pods/log"], &READ),
    ];
    rules.extend(reviews());
    rules
}

/// Training jobs, what they are made of, and the definitions of their kinds. Launchers are given rights of
/// their own, which only somebody may do who has them.
fn operator() -> Vec<Value> {
    const CHANGE: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];
    vec![
        events(),
        rule(
            &["apiextensions.k8s.io"],
            &["customresourcedefinitions"],
            &["create", "get", "list", "patch", "update", "watch"],
        ),
        rule(&["kubeflow.org", "mlkube.io", "mxnet.mlkube.io"], &["*"], &CHANGE),
        rule(
            &[""],
            &["configmaps", "pods", "secrets", "serviceaccounts", "services"],
            &CHANGE,
        ),
        rule(&[""], &["pods/exec"], &["create", "get"]),
        rule(&[""], &["pods/status"], &["patch"]),
        rule(&["batch"], &["jobs"], &CHANGE),
        rule(&["autoscaling"], &["horizontalpodautoscalers"], &CHANGE),
        rule(
            &["rbac.authorization.k8s.io"],
            &["rolebindings", "roles"],
            &CHANGE,
        ),
        rule(
            &["scheduling.volcano.sh", "scheduling.x-k8s.io"],
            &["podgroups"],
            &CHANGE,
        ),
    ]
}
