//! Every built-in kind that runs no pods: what the server fills in, resets, checks and warns about.
//! One file per kind or family of kinds.

mod access_modes;
mod compare;
mod conditions;
mod config_map;
mod csi;
mod diff;
mod endpoints;
pub mod event;
mod field;
pub mod horizontal_pod_autoscaler;
mod ingress;
mod ingress_class;
mod int_or_percent;
mod limit_range;
pub mod namespace;
mod network_policy;
mod node;
mod node_selector;
pub mod persistent_volume;
pub mod persistent_volume_claim;
mod pod_disruption_budget;
mod rbac;
mod resource_names;
mod resource_quota;
mod secret;
pub mod service;
mod service_account;
mod syntax;

use serde_json::{Value, json};

use crate::{read, strategy::Strategy};

/// The row of functions of a kind.
pub fn strategy(group: &str, kind: &str) -> Option<&'static Strategy> {
    Some(match (group, kind) {
        ("", "ConfigMap") => &config_map::STRATEGY,
        ("", "Endpoints") => &endpoints::STRATEGY,
        ("", "Event") => &event::CORE,
        ("events.k8s.io", "Event") => &event::EVENTS,
        ("", "LimitRange") => &limit_range::STRATEGY,
        ("", "Namespace") => &namespace::STRATEGY,
        ("", "Node") => &node::STRATEGY,
        ("", "PersistentVolume") => &persistent_volume::STRATEGY,
        ("", "PersistentVolumeClaim") => &persistent_volume_claim::STRATEGY,
        ("", "ResourceQuota") => &resource_quota::STRATEGY,
        ("", "Secret") => &secret::STRATEGY,
        ("", "Service") => &service::STRATEGY,
        ("", "ServiceAccount") => &service_account::STRATEGY,
        ("autoscaling", "HorizontalPodAutoscaler") => &horizontal_pod_autoscaler::STRATEGY,
        ("networking.k8s.io", "Ingress") => &ingress::STRATEGY,
        ("networking.k8s.io", "IngressClass") => &ingress_class::STRATEGY,
        ("networking.k8s.io", "NetworkPolicy") => &network_policy::STRATEGY,
        ("policy", "PodDisruptionBudget") => &pod_disruption_budget::STRATEGY,
        ("rbac.authorization.k8s.io", "Role") => &rbac::ROLE,
        ("rbac.authorization.k8s.io", "ClusterRole") => &rbac::CLUSTER_ROLE,
        ("rbac.authorization.k8s.io", "RoleBinding") => &rbac::ROLE_BINDING,
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => &rbac::CLUSTER_ROLE_BINDING,
        _ => return None,
    })
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
