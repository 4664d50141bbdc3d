//! Where objects are found.

use kube::core::ApiResource;
use resources::workflows::{GROUP, VERSION, WorkflowKind};

/// One of the kinds of pipelines.
pub(crate) fn of(kind: &WorkflowKind) -> ApiResource {
    ApiResource {
        group: GROUP.to_owned(),
        version: VERSION.to_owned(),
        api_version: kind.api_version(),
        kind: kind.kind.to_owned(),
        plural: kind.plural.to_owned(),
    }
}

pub(crate) fn pods() -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        plural: "pods".to_owned(),
    }
}

/// The path of a namespace's objects of a kind of pipelines.
pub(crate) fn folder(kind: &WorkflowKind, namespace: &str) -> String {
    if kind.is_namespaced {
        return format!("/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{}", kind.plural);
    }
    format!("/apis/{GROUP}/{VERSION}/{}", kind.plural)
}

/// The path of a namespace's objects of a built-in kind.
pub(crate) fn built_in(plural: &str, namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/{plural}")
}
