//! The parts containers play in a pod: steps that come first, helpers that stay, and the work itself.

use k8s_openapi::api::core::v1::{Container, EphemeralContainer, Pod, PodSpec};

/// When a container that ended is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    Always,
    OnFailure,
    Never,
}

impl Restart {
    pub(crate) fn of(spec: &PodSpec) -> Self {
        match spec.restart_policy.as_deref() {
            Some("Never") => Self::Never,
            Some("OnFailure") => Self::OnFailure,
            _ => Self::Always,
        }
    }

    /// Whether an attempt that ended with this code is followed by another.
    pub(crate) fn after(self, exit_code: i32) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => exit_code != 0,
            Self::Never => false,
        }
    }
}

pub(crate) fn spec(pod: &Pod) -> &PodSpec {
    static EMPTY: std::sync::LazyLock<PodSpec> = std::sync::LazyLock::new(PodSpec::default);
    pod.spec.as_ref().unwrap_or(&EMPTY)
}

/// Whether what fails in a pod is tried again.
pub(crate) fn is_restarted_after_failure(pod: &Pod) -> bool {
    Restart::of(spec(pod)).after(1)
}

/// An init container that stays: started in its turn, restarted always, ended after the work.
pub(crate) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

pub(crate) fn init(pod: &Pod) -> &[Container] {
    spec(pod).init_containers.as_deref().unwrap_or_default()
}

pub(crate) fn work(pod: &Pod) -> &[Container] {
    &spec(pod).containers
}

pub(crate) fn sidecars(pod: &Pod) -> impl DoubleEndedIterator<Item = &Container> {
    init(pod).iter().filter(|container| is_sidecar(container))
}

pub(crate) fn steps(pod: &Pod) -> impl Iterator<Item = &Container> {
    init(pod).iter().filter(|container| !is_sidecar(container))
}

/// Containers that were put into the running pod to look at it: started once, and nobody waits for them.
pub(crate) fn visitors(pod: &Pod) -> &[EphemeralContainer] {
    spec(pod).ephemeral_containers.as_deref().unwrap_or_default()
}

/// The names of all containers, in the order in which they come.
pub(crate) fn names(pod: &Pod) -> impl Iterator<Item = &str> {
    let containers = init(pod).iter().chain(work(pod));
    let visitors = visitors(pod).iter().map(|visitor| visitor.name.as_str());
    containers
        .map(|container| container.name.as_str())
        .chain(visitors)
}
