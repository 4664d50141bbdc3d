//! In which order objects are applied: what others need comes first.

use serde_json::Value;

use super::sources::Object;

/// Kinds that others need, the most needed first. Those that are not here come behind, as they were given.
const FIRST: &[&str] = &[
    "Namespace",
    "CustomResourceDefinition",
    "ResourceQuota",
    "LimitRange",
    "PriorityClass",
    "RuntimeClass",
    "IngressClass",
    "StorageClass",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ConfigMap",
    "Secret",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "NetworkPolicy",
    "Service",
    // Workflows that name a template fail where there is none yet.
    "ClusterWorkflowTemplate",
    "WorkflowTemplate",
];
/// Kinds that may keep others from being made.
const LAST: &[&str] = &[
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// Sorts objects to be applied; to be deleted, they are taken from behind.
pub(super) fn sort(objects: &mut [Object]) {
    objects.sort_by_key(|object| rank(&object.value));
}

/// The smaller, the earlier.
pub(super) fn rank(object: &Value) -> usize {
    let kind = object["kind"].as_str().unwrap_or_default();
    let place = |kinds: &[&str]| kinds.iter().position(|one| *one == kind);
    let last = place(LAST).map(|place| FIRST.len() + 1 + place);
    place(FIRST).or(last).unwrap_or(FIRST.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_others_need_comes_first() {
        let kinds = [
            "MPIJob",
            "Workflow",
            "ValidatingWebhookConfiguration",
            "WorkflowTemplate",
            "Deployment",
            "Role",
            "CustomResourceDefinition",
            "Namespace",
        ];
        let mut objects: Vec<Object> = kinds
            .iter()
            .map(|kind| Object::new("f", json!({"kind": kind})))
            .collect();
        sort(&mut objects);
        let sorted: Vec<_> = objects
            .iter()
            .map(|object| object.value["kind"].as_str().unwrap())
            .collect();
        assert_eq!(
            sorted,
            [
                "Namespace",
                "CustomResourceDefinition",
                "Role",
                "WorkflowTemplate",
                "MPIJob",
                "Workflow",
                "Deployment",
                "ValidatingWebhookConfiguration"
            ]
        );
    }
}
