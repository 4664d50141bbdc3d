//! What a pod may share with its host: namespaces, ports, kernel parameters, processes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Violation,
    policy::Version,
    subject::Subject,
    wording::{containers, plural, quoted},
};
use crate::read::{at, flag, get, int, list, text};

/// Parameters that belong to a pod alone, with the version that knew it first.
const SAFE_PARAMETERS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

pub(super) fn namespaces(pod: &Subject<'_>) -> Option<Violation> {
    let shared: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .into_iter()
        .filter(|field| flag(pod.spec, field))
        .map(|field| format!("{field}=true"))
        .collect();
    (!shared.is_empty()).then(|| Violation::new("host namespaces", shared.join(", ")))
}

pub(super) fn ports(pod: &Subject<'_>) -> Option<Violation> {
    let of_host = |container: &Value| -> Vec<i64> {
        let numbers = list(container, "ports")
            .iter()
            .filter_map(|port| int(port, "hostPort"));
        numbers.filter(|number| *number != 0).collect()
    };
    let bad = pod.containers_where(|container| !of_host(container).is_empty());
    // As texts: they are told in the order of their digits.
    let numbers: BTreeSet<String> = pod
        .containers()
        .flat_map(of_host)
        .map(|number| number.to_string())
        .collect();
    (!bad.is_empty()).then(|| {
        let verb = plural("uses", "use", bad.len());
        let noun = plural("hostPort", "hostPorts", numbers.len());
        let numbers: Vec<String> = numbers.into_iter().collect();
        Violation::new(
            "hostPort",
            format!("{} {verb} {noun} {}", containers(&bad), numbers.join(", ")),
        )
    })
}

/// A probe of another host would be sent from the node, past the policies of the network.
pub(super) fn probes_and_lifecycle(pod: &Subject<'_>) -> Option<Violation> {
    let mut bad = BTreeSet::new();
    let mut hosts = BTreeSet::new();
    for container in pod.containers() {
        let called = called_hosts(container);
        if !called.is_empty() {
            bad.insert(text(container, "name"));
            hosts.extend(called);
        }
    }
    (!bad.is_empty()).then(|| {
        let bad: Vec<&str> = bad.into_iter().collect();
        let verb = plural("uses", "use", bad.len());
        let noun = plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len());
        Violation::new(
            "probe or lifecycle host",
            format!("{} {verb} {noun} {}", containers(&bad), quoted(hosts)),
        )
    })
}

fn called_hosts(container: &Value) -> Vec<&str> {
    const HANDLERS: [&[&str]; 5] = [
        &["livenessProbe"],
        &["readinessProbe"],
        &["startupProbe"],
        &["lifecycle", "postStart"],
        &["lifecycle", "preStop"],
    ];
    HANDLERS
        .iter()
        .map(|path| at(container, path))
        .flat_map(|handler| ["httpGet", "tcpSocket"].map(|action| text(get(handler, action), "host")))
        .filter(|host| !host.is_empty())
        .collect()
}

pub(super) fn kernel_parameters(pod: &Subject<'_>) -> Option<Violation> {
    let is_safe = |name: &str| {
        SAFE_PARAMETERS
            .iter()
            .any(|(safe, since)| *safe == name && pod.version >= Version::Minor(*since))
    };
    let forbidden: Vec<&str> = list(get(pod.spec, "securityContext"), "sysctls")
        .iter()
        .map(|parameter| text(parameter, "name"))
        .filter(|name| !is_safe(name))
        .collect();
    (!forbidden.is_empty()).then(|| Violation::new("forbidden sysctls", forbidden.join(", ")))
}

pub(super) fn windows_processes(pod: &Subject<'_>) -> Option<Violation> {
    let setters = pod.setters(&["windowsOptions", "hostProcess"], |value| *value == true);
    (!setters.is_empty()).then(|| {
        let setters = setters.join(" and ");
        let detail = format!("{setters} must not set securityContext.windowsOptions.hostProcess=true");
        Violation::new("hostProcess", detail)
    })
}
