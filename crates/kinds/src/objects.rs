//! Every built-in kind that runs no pods: what the server fills in, resets, checks and warns about.
//! One file per kind or family of kinds.

mod access_modes;
mod admission_policy;
mod admission_rules;
pub mod api_service;
pub mod certificate_signing_request;
mod conditions;
mod config_map;
pub(crate) mod csi;
mod endpoint_slice;
mod endpoints;
pub mod event;
pub mod expressions;
mod flow_control;
pub mod horizontal_pod_autoscaler;
mod ingress;
mod ingress_class;
pub mod ip_address;
mod lease;
mod limit_range;
pub mod namespace;
mod network_policy;
mod node;
pub mod persistent_volume;
pub mod persistent_volume_claim;
mod pod_disruption_budget;
mod priority_class;
mod rbac;
mod resource_claim;
mod resource_quota;
mod resource_slice;
mod reviews;
mod runtime_class;
mod secret;
pub mod service;
mod service_account;
mod storage_class;
pub mod storage_protection;
mod volume_attachment;
mod webhooks;

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::{
    deprecated_labels, field, int_or_percent, node_selector, read, resource_names, strategy::Strategy, syntax,
};

/// The row of functions of a kind. Events and autoscalers are given in the form they are stored in:
/// `v1` and `autoscaling/v2`.
pub fn strategy(group: &str, kind: &str) -> Option<&'static Strategy> {
    match group {
        "" => core(kind),
        "admissionregistration.k8s.io" => admission(kind),
        "networking.k8s.io" => networking(kind),
        "rbac.authorization.k8s.io" => access(kind),
        "storage.k8s.io" => storage(kind),
        "authentication.k8s.io" | "authorization.k8s.io" => review(kind),
        _ => other(group, kind),
    }
}

fn core(kind: &str) -> Option<&'static Strategy> {
    Some(match kind {
        "Binding" => &reviews::BINDING,
        "ConfigMap" => &config_map::STRATEGY,
        "Endpoints" => &endpoints::STRATEGY,
        "Event" => &event::CORE,
        "LimitRange" => &limit_range::STRATEGY,
        "Namespace" => &namespace::STRATEGY,
        "Node" => &node::STRATEGY,
        "PersistentVolume" => &persistent_volume::STRATEGY,
        "PersistentVolumeClaim" => &persistent_volume_claim::STRATEGY,
        "ResourceQuota" => &resource_quota::STRATEGY,
        "Secret" => &secret::STRATEGY,
        "Service" => &service::STRATEGY,
        "ServiceAccount" => &service_account::STRATEGY,
        _ => return None,
    })
}

fn admission(kind: &str) -> Option<&'static Strategy> {
    Some(match kind {
        "MutatingWebhookConfiguration" => &webhooks::MUTATING,
        "ValidatingAdmissionPolicy" => &admission_policy::POLICY,
        "ValidatingAdmissionPolicyBinding" => &admission_policy::BINDING,
        "ValidatingWebhookConfiguration" => &webhooks::VALIDATING,
        _ => return None,
    })
}

fn networking(kind: &str) -> Option<&'static Strategy> {
    Some(match kind {
        "IPAddress" => &ip_address::IP_ADDRESS,
        "Ingress" => &ingress::STRATEGY,
        "IngressClass" => &ingress_class::STRATEGY,
        "NetworkPolicy" => &network_policy::STRATEGY,
        "ServiceCIDR" => &ip_address::SERVICE_CIDR,
        _ => return None,
    })
}

fn access(kind: &str) -> Option<&'static Strategy> {
    Some(match kind {
        "ClusterRole" => &rbac::CLUSTER_ROLE,
        "ClusterRoleBinding" => &rbac::CLUSTER_ROLE_BINDING,
        "Role" => &rbac::ROLE,
        "RoleBinding" => &rbac::ROLE_BINDING,
        _ => return None,
    })
}

fn storage(kind: &str) -> Option<&'static Strategy> {
    Some(match kind {
        "CSIDriver" => &csi::DRIVER,
        "CSINode" => &csi::NODE,
        "CSIStorageCapacity" => &csi::STORAGE_CAPACITY,
        "StorageClass" => &storage_class::STORAGE_CLASS,
        "VolumeAttachment" => &volume_attachment::STRATEGY,
        "VolumeAttributesClass" => &storage_class::VOLUME_ATTRIBUTES_CLASS,
        _ => return None,
    })
}

fn review(kind: &str) -> Option<&'static Strategy> {
    Some(match kind {
        "LocalSubjectAccessReview" => &reviews::LOCAL_SUBJECT_ACCESS_REVIEW,
        "SelfSubjectAccessReview" => &reviews::SELF_SUBJECT_ACCESS_REVIEW,
        "SubjectAccessReview" => &reviews::SUBJECT_ACCESS_REVIEW,
        "TokenRequest" => &reviews::TOKEN_REQUEST,
        "SelfSubjectReview" | "SelfSubjectRulesReview" | "TokenReview" => &reviews::UNCHECKED,
        _ => return None,
    })
}

fn other(group: &str, kind: &str) -> Option<&'static Strategy> {
    Some(match (group, kind) {
        ("apiregistration.k8s.io", "APIService") => &api_service::STRATEGY,
        ("autoscaling", "HorizontalPodAutoscaler") => &horizontal_pod_autoscaler::STRATEGY,
        ("autoscaling", "Scale") => &reviews::SCALE,
        ("certificates.k8s.io", "CertificateSigningRequest") => &certificate_signing_request::STRATEGY,
        ("coordination.k8s.io", "Lease") => &lease::STRATEGY,
        ("discovery.k8s.io", "EndpointSlice") => &endpoint_slice::STRATEGY,
        ("events.k8s.io", "Event") => &event::EVENTS,
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => &flow_control::FLOW_SCHEMA,
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => &flow_control::PRIORITY_LEVEL,
        ("node.k8s.io", "RuntimeClass") => &runtime_class::STRATEGY,
        ("policy", "Eviction") => &reviews::UNCHECKED,
        ("policy", "PodDisruptionBudget") => &pod_disruption_budget::STRATEGY,
        ("resource.k8s.io", "DeviceClass") => &resource_claim::DEVICE_CLASS,
        ("resource.k8s.io", "ResourceClaim") => &resource_claim::CLAIM,
        ("resource.k8s.io", "ResourceClaimTemplate") => &resource_claim::TEMPLATE,
        ("resource.k8s.io", "ResourceSlice") => &resource_slice::STRATEGY,
        ("scheduling.k8s.io", "PriorityClass") => &priority_class::STRATEGY,
        _ => return None,
    })
}

/// Whether the server counts the changes to a kind's content in `metadata.generation`. It counts
/// changes outside of `metadata` and `status`.
pub fn counts_generations(group: &str, kind: &str) -> bool {
    matches!(
        (group, kind),
        (
            "admissionregistration.k8s.io" | "flowcontrol.apiserver.k8s.io",
            "FlowSchema"
                | "MutatingWebhookConfiguration"
                | "PriorityLevelConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
                | "ValidatingWebhookConfiguration"
        ) | ("discovery.k8s.io", "EndpointSlice")
            | ("networking.k8s.io", "Ingress" | "IngressClass" | "NetworkPolicy")
            | ("policy", "PodDisruptionBudget")
            | ("resource.k8s.io", "DeviceClass" | "ResourceSlice")
            | ("scheduling.k8s.io", "PriorityClass")
    )
}

/// The spec to fill in, made where it is missing.
fn spec_mut(object: &mut Value) -> &mut Value {
    read::object_mut(object, "spec");
    &mut object["spec"]
}

/// Users do not report on objects they create.
fn clear_status(object: &mut Value) {
    object["status"] = json!({});
}

/// Plain updates leave the status as it is.
fn keep_status(object: &mut Value, old: &Value) {
    carry(old, object, &["status"]);
}

/// Updates of the status leave the spec as it is.
fn keep_spec(object: &mut Value, old: &Value) {
    carry(old, object, &["spec"]);
}

/// Makes a field what it was in the old object, missing where it was missing.
fn carry(old: &Value, object: &mut Value, path: &[&str]) {
    let [parents @ .., field] = path else { return };
    let before = read::at(old, path);
    let mut target = object;
    for parent in parents {
        if target.get(parent).is_none() && before.is_null() {
            return;
        }
        read::object_mut(target, parent);
        target = &mut target[*parent];
    }
    match target {
        Value::Object(fields) if before.is_null() => {
            fields.remove(*field);
        }
        target => target[*field] = before.clone(),
    }
}
