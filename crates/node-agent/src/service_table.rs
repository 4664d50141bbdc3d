//! Services and who answers for them, and ports of the host that lead to pods, as the network wants to
//! know them.

mod host_ports;
mod keep;

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use ipnet::Ipv4Net;
use k8s_openapi::api::{
    core::v1::{Pod, Service, ServicePort},
    discovery::v1::{Endpoint, EndpointSlice},
};
use network::{Affinity, Port, Protocol, Table};

use host_ports::host_ports;
pub(crate) use keep::keep;

const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// The service under which pods find the API.
const API: (&str, &str) = ("default", "kubernetes");
const DEFAULT_AFFINITY_SECONDS: i32 = 10_800;

/// What the table is made from.
pub struct Cluster<'a> {
    pub services: &'a [Arc<Service>],
    pub slices: &'a [Arc<EndpointSlice>],
    /// Those of this node.
    pub pods: &'a [Arc<Pod>],
    /// Addresses outside of it are the host's.
    pub pod_range: Ipv4Net,
    /// Where the API server listens on this machine.
    pub api: SocketAddr,
}

/// The table of a cluster; the caller numbers it.
pub fn table(cluster: &Cluster<'_>) -> Table {
    let mut slices: BTreeMap<(&str, &str), Vec<&EndpointSlice>> = BTreeMap::new();
    for slice in cluster.slices {
        let namespace = slice.metadata.namespace.as_deref().unwrap_or_default();
        let labels = slice.metadata.labels.as_ref();
        if let Some(service) = labels.and_then(|labels| labels.get(SERVICE_NAME))
            && slice.address_type == "IPv4"
        {
            slices.entry((namespace, service)).or_default().push(slice);
        }
    }
    let services = cluster.services.iter().map(|object| {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let slices = slices.get(&(namespace, name)).map_or(&[][..], Vec::as_slice);
        let mut service = service(object, slices, cluster.pod_range);
        if (namespace, name) == API {
            service.endpoints = vec![api_endpoint(&service.ports, cluster.api)];
        }
        service
    });
    let pods = cluster.pods.iter();
    let mut host_ports: Vec<_> = pods.flat_map(|pod| host_ports(pod, cluster.pod_range)).collect();
    host_ports.sort_unstable();
    Table {
        number: 0,
        services: services.collect(),
        host_ports,
    }
}

/// Its endpoints name an address others could reach; on this machine it may listen on loopback alone.
fn api_endpoint(ports: &[Port], listen: SocketAddr) -> network::Endpoint {
    let address = match listen.ip() {
        IpAddr::V4(address) if !address.is_unspecified() => address,
        _ => Ipv4Addr::LOCALHOST,
    };
    network::Endpoint {
        address,
        host: true,
        ready: true,
        hostname: None,
        ports: ports
            .iter()
            .map(|port| (port.name.clone(), listen.port()))
            .collect(),
    }
}

fn service(service: &Service, slices: &[&EndpointSlice], pods: Ipv4Net) -> network::Service {
    let meta = &service.metadata;
    let spec = service.spec.clone().unwrap_or_default();
    let is_external = spec.type_.as_deref() == Some("ExternalName");
    let addresses = |list: Option<Vec<String>>| -> Vec<Ipv4Addr> {
        let list = list.into_iter().flatten();
        list.filter_map(|address| address.parse().ok()).collect()
    };
    network::Service {
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
        addresses: addresses(spec.cluster_ips),
        external_addresses: addresses(spec.external_ips),
        external_name: if is_external { spec.external_name } else { None },
        ports: spec.ports.iter().flatten().filter_map(port).collect(),
        endpoints: endpoints(slices, pods),
        publish_not_ready: spec.publish_not_ready_addresses == Some(true),
        affinity: (spec.session_affinity.as_deref() == Some("ClientIP")).then(|| Affinity {
            timeout_seconds: spec
                .session_affinity_config
                .and_then(|config| config.client_ip?.timeout_seconds)
                .unwrap_or(DEFAULT_AFFINITY_SECONDS)
                .unsigned_abs(),
        }),
    }
}

fn port(port: &ServicePort) -> Option<Port> {
    Some(Port {
        name: port.name.clone().unwrap_or_default(),
        protocol: protocol(port.protocol.as_deref())?,
        port: number(port.port)?,
        node_port: port.node_port.and_then(number),
    })
}

/// SCTP is not relayed.
fn protocol(name: Option<&str>) -> Option<Protocol> {
    match name {
        None | Some("TCP") => Some(Protocol::Tcp),
        Some("UDP") => Some(Protocol::Udp),
        Some(_) => None,
    }
}

fn number(port: i32) -> Option<u16> {
    u16::try_from(port).ok().filter(|port| *port > 0)
}

/// Each address once, with the ports of all slices that name it.
fn endpoints(slices: &[&EndpointSlice], pods: Ipv4Net) -> Vec<network::Endpoint> {
    let mut all: BTreeMap<Ipv4Addr, network::Endpoint> = BTreeMap::new();
    for slice in slices {
        let ports = ports(slice);
        for endpoint in &slice.endpoints {
            let Some(address) = endpoint.addresses.first().and_then(|text| text.parse().ok()) else {
                continue;
            };
            let known = all.entry(address).or_insert_with(|| network::Endpoint {
                address,
                host: !pods.contains(&address),
                ready: false,
                hostname: None,
                ports: BTreeMap::new(),
            });
            known.ready |= is_ready(endpoint);
            known.hostname = known.hostname.take().or_else(|| endpoint.hostname.clone());
            known.ports.extend(ports.clone());
        }
    }
    all.into_values().collect()
}

fn ports(slice: &EndpointSlice) -> BTreeMap<String, u16> {
    let ports = slice.ports.iter().flatten();
    ports
        .filter_map(|port| Some((port.name.clone().unwrap_or_default(), number(port.port?)?)))
        .collect()
}

/// Who does not say is ready.
fn is_ready(endpoint: &Endpoint) -> bool {
    let conditions = endpoint.conditions.as_ref();
    conditions.and_then(|conditions| conditions.ready) != Some(false)
}

#[cfg(test)]
mod tests;
