//! The built-in kinds: which have a namespace, and what they are made of.

use super::types::{self, Type};

/// Kinds of an apiVersion. Those of `others` are known, but not whether they have a namespace.
struct Group {
    api_version: &'static str,
    namespaced: &'static [&'static str],
    cluster: &'static [&'static str],
    others: &'static [&'static str],
}

const fn group(
    api_version: &'static str,
    namespaced: &'static [&'static str],
    cluster: &'static [&'static str],
) -> Group {
    Group {
        api_version,
        namespaced,
        cluster,
        others: &[],
    }
}

const fn others(api_version: &'static str, others: &'static [&'static str]) -> Group {
    Group {
        api_version,
        namespaced: &[],
        cluster: &[],
        others,
    }
}

const WEBHOOKS: &[&str] = &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
const REVIEWS: &[&str] = &[
    "LocalSubjectAccessReview",
    "SelfSubjectAccessReview",
    "SelfSubjectRulesReview",
    "SubjectAccessReview",
];

static GROUPS: &[Group] = &[
    group(
        "v1",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodAttachOptions",
            "PodExecOptions",
            "PodPortForwardOptions",
            "PodProxyOptions",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
            "ServiceProxyOptions",
        ],
        &[
            "ComponentStatus",
            "Namespace",
            "Node",
            "NodeProxyOptions",
            "PersistentVolume",
        ],
    ),
    others("v1", &["Binding"]),
    group("admissionregistration.k8s.io/v1", &[], WEBHOOKS),
    group("admissionregistration.k8s.io/v1beta1", &[], WEBHOOKS),
    group("apiextensions.k8s.io/v1", &[], &["CustomResourceDefinition"]),
    group("apiextensions.k8s.io/v1beta1", &[], &["CustomResourceDefinition"]),
    group("apiregistration.k8s.io/v1", &[], &["APIService"]),
    group("apiregistration.k8s.io/v1beta1", &[], &["APIService"]),
    group(
        "apps/v1",
        &[
            "ControllerRevision",
            "DaemonSet",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
        ],
        &[],
    ),
    others("authentication.k8s.io/v1", &["TokenRequest", "TokenReview"]),
    others("authentication.k8s.io/v1beta1", &["TokenReview"]),
    others("authorization.k8s.io/v1", REVIEWS),
    others("authorization.k8s.io/v1beta1", REVIEWS),
    group("autoscaling/v1", &["HorizontalPodAutoscaler", "Scale"], &[]),
    group("autoscaling/v2beta1", &["HorizontalPodAutoscaler"], &[]),
    group("autoscaling/v2beta2", &["HorizontalPodAutoscaler"], &[]),
    group("batch/v1", &["CronJob", "Job"], &[]),
    group("batch/v1beta1", &["CronJob"], &[]),
    group("certificates.k8s.io/v1", &[], &["CertificateSigningRequest"]),
    group("certificates.k8s.io/v1beta1", &[], &["CertificateSigningRequest"]),
    group("coordination.k8s.io/v1", &["Lease"], &[]),
    group("coordination.k8s.io/v1beta1", &["Lease"], &[]),
    group("discovery.k8s.io/v1", &["EndpointSlice"], &[]),
    group("discovery.k8s.io/v1beta1", &["EndpointSlice"], &[]),
    group("events.k8s.io/v1", &["Event"], &[]),
    group("events.k8s.io/v1beta1", &["Event"], &[]),
    group("extensions/v1beta1", &["Ingress"], &[]),
    group(
        "flowcontrol.apiserver.k8s.io/v1beta1",
        &[],
        &["FlowSchema", "PriorityLevelConfiguration"],
    ),
    group(
        "networking.k8s.io/v1",
        &["Ingress", "NetworkPolicy"],
        &["IngressClass"],
    ),
    group("networking.k8s.io/v1beta1", &["Ingress"], &["IngressClass"]),
    group("node.k8s.io/v1", &[], &["RuntimeClass"]),
    group("node.k8s.io/v1beta1", &[], &["RuntimeClass"]),
    group("policy/v1", &["PodDisruptionBudget"], &[]),
    group("policy/v1beta1", &["PodDisruptionBudget"], &["PodSecurityPolicy"]),
    others("policy/v1beta1", &["Eviction"]),
    group(
        "rbac.authorization.k8s.io/v1",
        &["Role", "RoleBinding"],
        &["ClusterRole", "ClusterRoleBinding"],
    ),
    group(
        "rbac.authorization.k8s.io/v1beta1",
        &["Role", "RoleBinding"],
        &["ClusterRole", "ClusterRoleBinding"],
    ),
    group("scheduling.k8s.io/v1", &[], &["PriorityClass"]),
    group("scheduling.k8s.io/v1beta1", &[], &["PriorityClass"]),
    group(
        "storage.k8s.io/v1",
        &[],
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    ),
    group(
        "storage.k8s.io/v1beta1",
        &["CSIStorageCapacity"],
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    ),
];

/// Whether objects of a kind have a namespace; none where that is not known.
pub(super) fn is_namespaced(api_version: &str, kind: &str) -> Option<bool> {
    groups(api_version).find_map(|group| {
        let has = |kinds: &[&str]| kinds.contains(&kind);
        has(group.namespaced)
            .then_some(true)
            .or_else(|| has(group.cluster).then_some(false))
    })
}

/// What an object of a built-in kind is made of.
pub(super) fn root(api_version: &str, kind: &str) -> Option<&'static Type> {
    groups(api_version)
        .any(|group| {
            let all = [group.namespaced, group.cluster, group.others];
            all.iter().any(|kinds| kinds.contains(&kind)) && !kind.ends_with("Options")
        })
        .then(|| types::of_kind(kind))
}

fn groups(api_version: &str) -> impl Iterator<Item = &'static Group> {
    GROUPS
        .iter()
        .filter(move |group| group.api_version == api_version)
}
