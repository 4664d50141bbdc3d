//! The objects by which the service runs in a cluster, and the roles its users are given there.

use resources::tasks;
use serde_json::{Value, json};

use crate::roles::{self, Role};

const NAME: &str = "trainyard-service";
const PORT: u16 = 8080;
const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// What may differ between clusters.
#[derive(Clone, Debug)]
pub struct Deployment {
    pub namespace: String,
    pub image: String,
    /// Further arguments of the service.
    pub arguments: Vec<String>,
}

/// All of them, in the order in which they can be applied.
pub fn manifests(deployment: &Deployment) -> Vec<Value> {
    let mut objects = vec![json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": deployment.namespace, "labels": labels()},
    })];
    objects.extend(tasks::ALL.into_iter().map(resources::tasks::TaskKind::definition));
    objects.extend(tasks::admission::policies());
    objects.push(object(deployment, "v1", "ServiceAccount", json!({})));
    objects.push(cluster_role(NAME, rules()));
    objects.push(json!({
        "apiVersion": RBAC,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME, "labels": labels()},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": deployment.namespace}],
    }));
    // Roles of users: who is bound to one in a namespace may there what a token with the role may.
    for role in Role::ALL {
        let rules = roles::rules(role)
            .into_iter()
            .map(|(resource, verbs)| rule(tasks::GROUP, &[&resource], &verbs));
        objects.push(cluster_role(
            &format!("trainyard-{}", role.name()),
            rules.collect(),
        ));
    }
    objects.push(object(
        deployment,
        "v1",
        "Service",
        json!({"spec": {"selector": labels(), "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}}),
    ));
    objects.push(workload(deployment));
    objects
}

/// What the service may do itself.
fn rules() -> Vec<Value> {
    let read = ["get", "list", "watch"];
    vec![
        rule(
            tasks::GROUP,
            &["*"],
            &["get", "list", "watch", "create", "update", "patch", "delete"],
        ),
        // It asks itself who may.
        rule(tasks::GROUP, &[tasks::TASK_TEMPLATE.plural], &["trust"]),
        // Notes of Idempotency-Keys and the audit log; headers and keys of callbacks, tokens.
        rule(
            "",
            &["configmaps", "secrets"],
            &["get", "list", "create", "patch", "delete"],
        ),
        // Streams of those whose token is revoked end.
        rule("", &["secrets"], &["watch"]),
        rule("", &["namespaces"], &["get", "create"]),
        rule("", &["pods", "pods/log"], &read),
        rule("authentication.k8s.io", &["tokenreviews"], &["create"]),
        rule("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
    ]
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn labels() -> Value {
    json!({"app.kubernetes.io/name": NAME})
}

fn cluster_role(name: &str, rules: Vec<Value>) -> Value {
    json!({
        "apiVersion": RBAC,
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels()},
        "rules": rules,
    })
}

fn object(deployment: &Deployment, api_version: &str, kind: &str, mut content: Value) -> Value {
    content["apiVersion"] = json!(api_version);
    content["kind"] = json!(kind);
    content["metadata"] = json!({"name": NAME, "namespace": deployment.namespace, "labels": labels()});
    content
}

fn workload(deployment: &Deployment) -> Value {
    let mut arguments = vec![
        "service".to_owned(),
        format!("--listen=0.0.0.0:{PORT}"),
        format!("--system-namespace={}", deployment.namespace),
    ];
    arguments.extend(deployment.arguments.iter().cloned());
    let probe = |path: &str, seconds: u32| json!({"httpGet": {"path": path, "port": "http"}, "periodSeconds": seconds});
    let container = json!({
        "name": "service",
        "image": deployment.image,
        "args": arguments,
        "ports": [{"name": "http", "containerPort": PORT}],
        "livenessProbe": probe("/healthz", 20),
        "readinessProbe": probe("/readyz", 5),
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        },
    });
    let spec = json!({
        // They share nothing but the API, so any of them answers.
        "replicas": 2,
        "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "selector": {"matchLabels": labels()},
        "template": {
            "metadata": {"labels": labels()},
            "spec": {
                "serviceAccountName": NAME,
                "terminationGracePeriodSeconds": 30,
                "securityContext": {
                    "runAsNonRoot": true,
                    "runAsUser": 65532,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [container],
            },
        },
    });
    object(deployment, "apps/v1", "Deployment", json!({"spec": spec}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_gets_kinds_rights_roles_and_two_services() {
        let objects = manifests(&Deployment {
            namespace: "trainyard-system".to_owned(),
            image: "registry/trainyard:1".to_owned(),
            arguments: vec!["--audit-days=30".to_owned()],
        });
        let names: Vec<String> = objects
            .iter()
            .map(|object| {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
            })
            .collect();
        for name in [
            "Namespace trainyard-system",
            "CustomResourceDefinition tasks.trainyard.dev",
            "ClusterRole trainyard-submitter",
            "Service trainyard-service",
            "Deployment trainyard-service",
        ] {
            assert!(names.contains(&name.to_owned()), "{name}: {names:?}");
        }
        let workload = &objects.last().unwrap()["spec"];
        assert_eq!(workload["replicas"], 2);
        let arguments = &workload["template"]["spec"]["containers"][0]["args"];
        assert_eq!(arguments[3], "--audit-days=30");
    }
}
