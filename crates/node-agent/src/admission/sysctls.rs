//! Settings of the kernel that a pod may change: those that concern nobody but itself.

use k8s_openapi::api::core::v1::PodSpec;

use super::Rejection;

/// The namespace a setting belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Ipc,
    Net,
}

const SAFE: [(&str, Scope); 12] = [
    ("kernel.shm_rmid_forced", Scope::Ipc),
    ("net.ipv4.ip_local_port_range", Scope::Net),
    ("net.ipv4.tcp_syncookies", Scope::Net),
    ("net.ipv4.ping_group_range", Scope::Net),
    ("net.ipv4.ip_unprivileged_port_start", Scope::Net),
    ("net.ipv4.ip_local_reserved_ports", Scope::Net),
    ("net.ipv4.tcp_keepalive_time", Scope::Net),
    ("net.ipv4.tcp_fin_timeout", Scope::Net),
    ("net.ipv4.tcp_keepalive_intvl", Scope::Net),
    ("net.ipv4.tcp_keepalive_probes", Scope::Net),
    ("net.ipv4.tcp_rmem", Scope::Net),
    ("net.ipv4.tcp_wmem", Scope::Net),
];

pub(super) fn rejection(spec: &PodSpec) -> Option<Rejection> {
    let context = spec.security_context.as_ref()?;
    let mut sysctls = context.sysctls.iter().flatten();
    let why = sysctls.find_map(|sysctl| forbidden(&sysctl.name.replace('/', "."), spec))?;
    Some(Rejection::new(
        "SysctlForbidden",
        format!("forbidden sysctl: {why}"),
    ))
}

fn forbidden(name: &str, spec: &PodSpec) -> Option<String> {
    let Some((_, scope)) = SAFE.iter().find(|(safe, _)| *safe == name) else {
        return Some(format!("\"{name}\" not allowlisted"));
    };
    let (shares_with_host, namespace) = match scope {
        Scope::Ipc => (spec.host_ipc, "IPC"),
        Scope::Net => (spec.host_network, "Net"),
    };
    (shares_with_host == Some(true)).then(|| format!("\"{name}\" not allowed with host {namespace} enabled"))
}
