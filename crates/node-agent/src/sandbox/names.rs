//! What a pod calls itself.

use k8s_openapi::api::core::v1::Pod;

use crate::lifecycle::roles;

/// Longer host names no kernel takes as one label.
const LONGEST: usize = 63;

/// The first part of the pod's name on the network.
pub(crate) fn hostname(pod: &Pod) -> String {
    let asked = roles::spec(pod)
        .hostname
        .as_deref()
        .filter(|name| !name.is_empty());
    let name = asked.or(pod.metadata.name.as_deref()).unwrap_or_default();
    let cut: String = name.chars().take(LONGEST).collect();
    cut.trim_end_matches(['-', '.']).to_owned()
}

/// The whole name, if the pod belongs to a subdomain.
pub(crate) fn fully_qualified(pod: &Pod, domain: &str) -> Option<String> {
    let subdomain = roles::spec(pod)
        .subdomain
        .as_deref()
        .filter(|name| !name.is_empty())?;
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    Some(format!("{}.{subdomain}.{namespace}.svc.{domain}", hostname(pod)))
}

/// What the kernel answers as the host's name.
pub(super) fn kernel_name(pod: &Pod) -> String {
    let wants_all = roles::spec(pod).set_hostname_as_fqdn == Some(true);
    let whole = wants_all
        .then(|| fully_qualified(pod, crate::sandbox::files::DOMAIN))
        .flatten();
    whole.unwrap_or_else(|| hostname(pod))
}
