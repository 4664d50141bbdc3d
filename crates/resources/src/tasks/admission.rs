//! What the API server refuses of templates, whoever asks it and by which program: rules it carries out itself.

use serde_json::{Value, json};

use super::{GROUP, TASK_TEMPLATE};

/// Where policies are, and what binds them.
pub const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
pub const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

/// The policy that keeps templates that are in use.
pub const IN_USE: &str = "trainyard-templates-in-use";

const API_VERSION: &str = "admissionregistration.k8s.io/v1";

/// The policies, each before what binds it.
pub fn policies() -> Vec<Value> {
    [in_use(), trusted()]
        .into_iter()
        .flat_map(|policy| {
            let binding = binding(&policy);
            [policy, binding]
        })
        .collect()
}

/// A template that definitions use, or that others include, is not deleted. Its status says who.
fn in_use() -> Value {
    policy(
        IN_USE,
        &["DELETE"],
        &json!({
            "validations": [{
                "expression": "!has(oldObject.status) || !has(oldObject.status.usedBy) || oldObject.status.usedBy == ''",
                "message": "the template is in use",
                "messageExpression":
                    "'the template ' + oldObject.metadata.name + ' is used by ' + oldObject.status.usedBy + '; delete or change them first'",
                "reason": "Forbidden",
            }],
        }),
    )
}

/// Who may write templates may not therefore make what may do anything: that takes a right of its own.
fn trusted() -> Value {
    let may = format!(
        "authorizer.group('{GROUP}').resource('{}').check('trust').allowed()",
        TASK_TEMPLATE.plural
    );
    policy(
        "trainyard-templates-trusted",
        &["CREATE", "UPDATE"],
        &json!({
            "variables": [
                {
                    "name": "isAllowedMore",
                    "expression":
                        "(has(object.spec.trusted) && object.spec.trusted) || (has(object.spec.allowedKinds) && size(object.spec.allowedKinds) > 0)",
                },
                {
                    "name": "isSame",
                    "expression": "oldObject != null && object.spec == oldObject.spec",
                },
            ],
            "validations": [{
                "expression": format!("!variables.isAllowedMore || variables.isSame || {may}"),
                "message": format!(
                    "a template that is trusted, or allowed other kinds, is for those to publish who have the verb `trust` on {}.{GROUP}",
                    TASK_TEMPLATE.plural
                ),
                "reason": "Forbidden",
            }],
        }),
    )
}

fn policy(name: &str, operations: &[&str], rules: &Value) -> Value {
    let mut spec = rules.clone();
    spec["failurePolicy"] = json!("Fail");
    // With the server's defaults, because managers of server-side apply conflict over it as a whole.
    spec["matchConstraints"] = json!({
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "resourceRules": [{
            "apiGroups": [GROUP],
            "apiVersions": ["*"],
            "operations": operations,
            "resources": [TASK_TEMPLATE.plural],
            "scope": "*",
        }],
    });
    json!({
        "apiVersion": API_VERSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": spec,
    })
}

fn binding(policy: &Value) -> Value {
    let name = &policy["metadata"]["name"];
    json!({
        "apiVersion": API_VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    })
}
