//! Ports of the host that lead to pods, as the pods ask for them. Pure.

use std::net::{Ipv4Addr, SocketAddrV4};

use ipnet::Ipv4Net;
use k8s_openapi::api::core::v1::{ContainerPort, Pod};
use network::HostPort;

use super::{number, protocol};
use crate::{lifecycle::roles, worker::is_terminal};

/// Whether the pod asks for any.
pub(super) fn has_any(pod: &Pod) -> bool {
    ports(pod).any(|port| port.host_port.is_some())
}

/// Those of a pod that has an address of its own: one on the host's network listens there itself.
pub(super) fn host_ports(pod: &Pod, pod_range: Ipv4Net) -> Vec<HostPort> {
    let address = pod.status.as_ref().and_then(|status| status.pod_ip.as_deref());
    let address = address.and_then(|address| address.parse().ok());
    match address.filter(|address| pod_range.contains(address)) {
        Some(address) if !is_terminal(pod) => ports(pod)
            .filter_map(|port| host_port(pod, port, address))
            .collect(),
        _ => Vec::new(),
    }
}

fn host_port(pod: &Pod, port: &ContainerPort, address: Ipv4Addr) -> Option<HostPort> {
    let host = port.host_ip.as_deref().filter(|host| !host.is_empty());
    Some(HostPort {
        pod: pod.metadata.uid.clone().unwrap_or_default(),
        address: host.and_then(|host| host.parse().ok()),
        port: number(port.host_port?)?,
        protocol: protocol(port.protocol.as_deref())?,
        to: SocketAddrV4::new(address, number(port.container_port)?),
    })
}

/// Of the work and its helpers; a first step has no time for visitors.
fn ports(pod: &Pod) -> impl Iterator<Item = &ContainerPort> {
    let containers = roles::work(pod).iter().chain(roles::sidecars(pod));
    containers.flat_map(|container| container.ports.iter().flatten())
}
