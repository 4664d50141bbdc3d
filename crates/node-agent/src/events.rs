//! Events about pods, with the words of the kubelet.

use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::{Client, Resource as _};
use reconcile::Recorder;

use crate::lifecycle::roles;

#[derive(Clone)]
pub(crate) struct Events {
    recorder: Recorder,
}

impl Events {
    pub(crate) fn new(client: Client, node: &str) -> Self {
        Self {
            recorder: Recorder::on_node(client, "kubelet", node),
        }
    }

    pub(crate) fn normal(&self, pod: &Pod, reason: &str, note: impl Into<String>) {
        self.recorder.normal(pod.object_ref(&()), reason, note.into());
    }

    pub(crate) fn warning(&self, pod: &Pod, reason: &str, note: impl Into<String>) {
        self.recorder.warning(pod.object_ref(&()), reason, note.into());
    }

    /// About one container of a pod.
    pub(crate) fn of_container(&self, pod: &Pod, container: &str, reason: &str, note: impl Into<String>) {
        self.recorder.normal(part(pod, container), reason, note.into());
    }

    pub(crate) fn warning_of_container(
        &self,
        pod: &Pod,
        container: &str,
        reason: &str,
        note: impl Into<String>,
    ) {
        self.recorder.warning(part(pod, container), reason, note.into());
    }
}

fn part(pod: &Pod, container: &str) -> ObjectReference {
    let list = if roles::init(pod).iter().any(|init| init.name == container) {
        "initContainers"
    } else if roles::visitors(pod)
        .iter()
        .any(|visitor| visitor.name == container)
    {
        "ephemeralContainers"
    } else {
        "containers"
    };
    ObjectReference {
        field_path: Some(format!("spec.{list}{{{container}}}")),
        ..pod.object_ref(&())
    }
}
