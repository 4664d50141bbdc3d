//! Policies in expressions: what they see, and what becomes of what they find.

use serde_json::{Value, json};

use crate::cluster::Cluster;

const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn deployment(name: &str, replicas: i64) -> Value {
    let labels = json!({ "app": "nginx" });
    json!({
        "metadata": { "name": name, "labels": labels },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "nginx", "image": "nginx:latest" }] },
            },
        },
    })
}

/// A policy on deployments with these further fields in its spec.
fn policy(name: &str, spec: &Value) -> Value {
    let rule = json!({
        "operations": ["CREATE", "UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"],
    });
    let mut policy = json!({ "metadata": { "name": name }, "spec": spec });
    policy["spec"]["matchConstraints"] = json!({ "resourceRules": [rule] });
    policy
}

async fn install(cluster: &Cluster, policy: &Value, binding: Value) {
    let name = policy["metadata"]["name"].as_str().unwrap();
    cluster
        .post(&format!("{REGISTRATION}/validatingadmissionpolicies"), policy)
        .await
        .ok();
    let mut spec = binding;
    spec["policyName"] = name.into();
    if spec["validationActions"].is_null() {
        spec["validationActions"] = json!(["Deny"]);
    }
    let binding = json!({ "metadata": { "name": format!("{name}-binding") }, "spec": spec });
    cluster
        .post(
            &format!("{REGISTRATION}/validatingadmissionpolicybindings"),
            &binding,
        )
        .await
        .ok();
}

#[tokio::test]
async fn a_policy_refuses_what_its_expressions_do_not_accept() {
    let cluster = Cluster::start().await;
    let spec = json!({
        "variables": [
            { "name": "replicas", "expression": "object.spec.replicas" },
            { "name": "odd", "expression": "variables.replicas % 2 == 1" },
        ],
        "validations": [
            { "expression": "variables.replicas > 1", "messageExpression": "'wants replicas > 1, got ' + string(variables.replicas)" },
            { "expression": "variables.odd", "message": "odd ones only", "reason": "Forbidden" },
            { "expression": "namespaceObject.metadata.name == 'default'" },
        ],
    });
    install(&cluster, &policy("p", &spec), json!({})).await;
    let refused = cluster.post(DEPLOYMENTS, &deployment("d", 1)).await;
    let denied = "ValidatingAdmissionPolicy 'p' with binding 'p-binding' denied request: ";
    assert_eq!(
        refused.refusal(),
        (
            422,
            "Invalid",
            &*format!("deployments.apps \"d\" is forbidden: {denied}wants replicas > 1, got 1")
        )
    );
    assert_eq!(
        refused.body["details"],
        json!({
            "name": "d", "group": "apps", "kind": "deployments",
            "causes": [{ "message": format!("{denied}wants replicas > 1, got 1") }],
        })
    );
    let refused = cluster.post(DEPLOYMENTS, &deployment("d", 2)).await;
    assert_eq!(
        refused.refusal(),
        (
            403,
            "Forbidden",
            &*format!("deployments.apps \"d\" is forbidden: {denied}odd ones only")
        )
    );
    cluster.post(DEPLOYMENTS, &deployment("d", 3)).await.ok();
    let changed = cluster
        .merge(&format!("{DEPLOYMENTS}/d"), &json!({ "spec": { "replicas": 1 } }))
        .await;
    assert_eq!(changed.code.as_u16(), 422);
    let mut replica_set = deployment("r", 1);
    replica_set["metadata"]["name"] = "r".into();
    cluster
        .post("/apis/apps/v1/namespaces/default/replicasets", &replica_set)
        .await
        .ok();
}

#[tokio::test]
async fn bindings_warn_and_select() {
    let cluster = Cluster::start().await;
    let spec = json!({ "validations": [{ "expression": "object.spec.replicas > 1" }] });
    let binding = json!({
        "validationActions": ["Warn", "Audit"],
        "matchResources": { "objectSelector": { "matchLabels": { "app": "nginx" } } },
    });
    install(&cluster, &policy("p", &spec), binding).await;
    let created = cluster.post(DEPLOYMENTS, &deployment("d", 1)).await;
    assert_eq!(
        created.warnings,
        [
            "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-binding': failed expression: object.spec.replicas > 1\""
        ]
    );
    created.ok();
    let mut other = deployment("e", 1);
    other["metadata"]["labels"] = json!({});
    assert_eq!(cluster.post(DEPLOYMENTS, &other).await.warnings, [""; 0]);
}

#[tokio::test]
async fn parameters_come_from_objects() {
    let cluster = Cluster::start().await;
    let spec = json!({
        "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
        "validations": [{
            "expression": "object.spec.replicas <= int(params.data.max)",
            "messageExpression": "'at most ' + params.data.max",
        }],
    });
    let binding = json!({ "paramRef": { "name": "limits", "parameterNotFoundAction": "Deny" } });
    install(&cluster, &policy("p", &spec), binding).await;
    let refused = cluster.post(DEPLOYMENTS, &deployment("d", 1)).await;
    assert!(refused.refusal().2.ends_with(
        "denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    ), "{refused:?}");
    let limits = json!({ "metadata": { "name": "limits" }, "data": { "max": "2" } });
    cluster
        .post("/api/v1/namespaces/default/configmaps", &limits)
        .await
        .ok();
    cluster.post(DEPLOYMENTS, &deployment("d", 1)).await.ok();
    let refused = cluster.post(DEPLOYMENTS, &deployment("e", 3)).await;
    assert!(
        refused.refusal().2.ends_with("denied request: at most 2"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn failures_of_expressions_are_refusals_unless_the_policy_ignores_them() {
    let cluster = Cluster::start().await;
    let spec = json!({ "validations": [{ "expression": "object.spec.nothing == 1" }] });
    install(&cluster, &policy("strict", &spec), json!({})).await;
    let refused = cluster.post(DEPLOYMENTS, &deployment("d", 1)).await;
    assert_eq!(
        refused.refusal(),
        (
            422,
            "Invalid",
            "deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'strict' with binding 'strict-binding' denied request: expression 'object.spec.nothing == 1' resulted in error: no such key: nothing"
        )
    );
    let path = format!("{REGISTRATION}/validatingadmissionpolicies/strict");
    cluster
        .merge(&path, &json!({ "spec": { "failurePolicy": "Ignore" } }))
        .await
        .ok();
    cluster.post(DEPLOYMENTS, &deployment("d", 1)).await.ok();
}

#[tokio::test]
async fn conditions_and_permissions_can_be_used() {
    let cluster = Cluster::start().await;
    let spec = json!({
        "matchConditions": [{ "name": "named", "expression": "object.metadata.name == 'd'" }],
        "validations": [{
            "expression": "authorizer.serviceAccount('default', 'default').group('apps').resource('deployments').namespace('default').check('delete').allowed()",
            "message": "the account may not",
        }],
    });
    install(&cluster, &policy("p", &spec), json!({})).await;
    let refused = cluster.post(DEPLOYMENTS, &deployment("d", 1)).await;
    assert!(
        refused.refusal().2.ends_with("the account may not"),
        "{refused:?}"
    );
    cluster.post(DEPLOYMENTS, &deployment("e", 1)).await.ok();
}

#[tokio::test]
async fn policies_tell_that_they_were_seen() {
    let cluster = Cluster::start().await;
    let path = format!("{REGISTRATION}/validatingadmissionpolicies");
    let spec = json!({ "validations": [{ "expression": "true" }] });
    cluster.post(&path, &policy("p", &spec)).await.ok();
    let path = format!("{path}/p");
    let seen = |generation: i64| move |policy: &Value| policy["status"]["observedGeneration"] == generation;
    let policy = cluster.wait(&path, seen(1)).await;
    assert_eq!(policy["status"]["typeChecking"], json!({}));
    cluster
        .merge(&path, &json!({ "spec": { "failurePolicy": "Ignore" } }))
        .await
        .ok();
    cluster.wait(&path, seen(2)).await;
}

#[tokio::test]
async fn policies_that_do_not_compile_are_not_stored() {
    let cluster = Cluster::start().await;
    let spec = json!({ "validations": [{ "expression": "object.spec.x" }, { "expression": "nothing" }] });
    let refused = cluster
        .post(
            &format!("{REGISTRATION}/validatingadmissionpolicies"),
            &policy("p", &spec),
        )
        .await;
    let message = "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"p\" is invalid: [spec.validations[0].expression: Invalid value: \"object.spec.x\": must evaluate to bool but got dyn, spec.validations[1].expression: Invalid value: \"nothing\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nothing' (in container '')\n | nothing\n | ^]";
    assert_eq!(refused.refusal(), (422, "Invalid", message));
}

#[tokio::test]
async fn expressions_that_do_not_fit_the_types_are_worth_a_warning() {
    let cluster = Cluster::start().await;
    let path = format!("{REGISTRATION}/validatingadmissionpolicies");
    let spec = json!({ "validations": [{
        "expression": "object.spec.replicas > '1'",
        "messageExpression": "'wants replicas > 1, got ' + object.spec.replicas",
    }]});
    cluster.post(&path, &policy("p", &spec)).await.ok();
    let seen = |policy: &Value| policy["status"]["observedGeneration"] == 1;
    let policy = cluster.wait(&format!("{path}/p"), seen).await;
    let complaint = "found no matching overload for";
    assert_eq!(
        policy["status"]["typeChecking"]["expressionWarnings"],
        json!([
            {
                "fieldRef": "spec.validations[0].expression",
                "warning": format!("apps/v1, Kind=Deployment: ERROR: <input>:1:22: {complaint} '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n"),
            },
            {
                "fieldRef": "spec.validations[0].messageExpression",
                "warning": format!("apps/v1, Kind=Deployment: ERROR: <input>:1:28: {complaint} '_+_' applied to '(string, int)'\n | 'wants replicas > 1, got ' + object.spec.replicas\n | ...........................^\n"),
            },
        ])
    );
}
