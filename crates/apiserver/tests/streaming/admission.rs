//! Who may connect, and who says so.

use serde_json::json;

use crate::cluster::{Cluster, Transport};

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_can_refuse_connections() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let policy = json!({
        "metadata": { "name": "no-shells" },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/exec"], "operations": ["CONNECT"],
            }]},
            "validations": [{ "expression": "!object.command.exists(word, word == 'sh')", "message": "no shells" }],
        },
    });
    cluster.post(policies, &policy).await;
    let binding = json!({
        "metadata": { "name": "no-shells" },
        "spec": { "policyName": "no-shells", "validationActions": ["Deny"] },
    });
    cluster
        .post(&policies.replace("policies", "policybindings"), &binding)
        .await;
    for transport in Transport::ALL {
        let output = cluster.run(transport, "kubectl exec web -- sh -c true").await;
        assert!(
            output.stderr.contains(
                "ValidatingAdmissionPolicy 'no-shells' with binding 'no-shells' denied request: no shells"
            ),
            "{transport:?}: {}",
            output.stderr
        );
        assert_eq!(
            cluster.ok(transport, "kubectl exec web -- echo fine").await,
            "fine\n"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_right_to_exec_is_a_right_of_its_own() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let role = json!({
        "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"] }],
    });
    let group = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    cluster.post(&format!("{group}/roles"), &role).await;
    let binding = json!({
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" },
        "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ada" }],
    });
    cluster.post(&format!("{group}/rolebindings"), &binding).await;
    // A refused WebSocket is tried again over SPDY, so that a GET is not what kubectl tells of.
    for transport in Transport::ALL {
        let output = cluster.run(transport, "kubectl exec --as=ada web -- true").await;
        assert_eq!(
            output.stderr,
            "Error from server (Forbidden): pods \"web\" is forbidden: User \"ada\" cannot create resource \"pods/exec\" in API group \"\" in the namespace \"default\"\n",
            "{transport:?}"
        );
    }
}
