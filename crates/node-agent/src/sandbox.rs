//! What a pod's containers have in common, from the pod's specification. Pure.

mod files;
mod names;

use std::path::PathBuf;

use containers::{
    spec::{MemoryFolder, Network, Sandbox},
    tier::Tier,
};
use k8s_openapi::api::core::v1::Pod;

use crate::lifecycle::roles;

pub(crate) use files::{HostFiles, hosts, resolver};
pub(crate) use names::hostname;

/// What the node gives to a sandbox.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub(crate) tier: Tier,
    pub(crate) user_namespace: Option<PathBuf>,
    /// Volumes that are nothing but memory.
    pub(crate) memory: Vec<MemoryFolder>,
}

/// Whether the pod lives on the network of the node; the `process` tier has no other.
pub(crate) fn is_on_host_network(pod: &Pod, tier: Tier) -> bool {
    tier == Tier::Process || roles::spec(pod).host_network == Some(true)
}

pub(crate) fn sandbox(pod: &Pod, ground: &Ground) -> Sandbox {
    let spec = roles::spec(pod);
    let on_host = is_on_host_network(pod, ground.tier);
    let context = spec.security_context.as_ref();
    let sysctls = context.and_then(|context| context.sysctls.as_ref());
    Sandbox {
        hostname: (!on_host).then(|| names::kernel_name(pod)),
        network: if on_host { Network::Host } else { Network::Own },
        user_namespace: ground.user_namespace.clone(),
        memory: ground.memory.clone(),
        share_processes: spec.share_process_namespace == Some(true),
        host_pid: spec.host_pid == Some(true),
        host_ipc: spec.host_ipc == Some(true),
        sysctls: sysctls
            .into_iter()
            .flatten()
            .map(|sysctl| (sysctl.name.clone(), sysctl.value.clone()))
            .collect(),
        ..Sandbox::new(pod.metadata.uid.as_deref().unwrap_or_default(), ground.tier)
    }
}

#[cfg(test)]
mod tests;
