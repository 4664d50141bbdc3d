//! The variables that tell a container where services are.

use std::{net::SocketAddr, sync::Arc};

use k8s_openapi::api::core::v1::{Pod, Service, ServicePort};

/// `kubernetes` is always told of; the other services of the namespace if the pod wants links.
pub(crate) fn variables(pod: &Pod, services: &[Arc<Service>], wants_links: bool) -> Vec<(String, String)> {
    let namespace = pod.metadata.namespace.as_deref();
    let mut told: Vec<&Arc<Service>> = services
        .iter()
        .filter(|service| {
            let meta = &service.metadata;
            let is_master =
                meta.namespace.as_deref() == Some("default") && meta.name.as_deref() == Some("kubernetes");
            is_master || (wants_links && meta.namespace.as_deref() == namespace)
        })
        .filter(|service| address(service).is_some())
        .collect();
    told.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    told.into_iter().flat_map(|service| of(service)).collect()
}

/// The service as it is told to those who have no way to its address, but to this one.
pub(crate) fn at(service: &Service, address: SocketAddr) -> Service {
    let mut service = service.clone();
    if let Some(spec) = &mut service.spec {
        spec.cluster_ip = Some(address.ip().to_string());
        for port in spec.ports.iter_mut().flatten() {
            port.port = address.port().into();
        }
    }
    service
}

fn address(service: &Service) -> Option<&str> {
    let address = service.spec.as_ref()?.cluster_ip.as_deref()?;
    (!address.is_empty() && address != "None").then_some(address)
}

fn of(service: &Service) -> Vec<(String, String)> {
    let name = shouted(service.metadata.name.as_deref().unwrap_or_default());
    let address = address(service).unwrap_or_default();
    let ports: Vec<&ServicePort> = service
        .spec
        .iter()
        .flat_map(|spec| spec.ports.iter().flatten())
        .collect();
    let Some(first) = ports.first() else {
        return Vec::new();
    };
    let mut variables = vec![
        (format!("{name}_SERVICE_HOST"), address.to_owned()),
        (format!("{name}_SERVICE_PORT"), first.port.to_string()),
    ];
    for port in &ports {
        if let Some(port_name) = port.name.as_deref().filter(|name| !name.is_empty()) {
            let variable = format!("{name}_SERVICE_PORT_{}", shouted(port_name));
            variables.push((variable, port.port.to_string()));
        }
    }
    for (index, port) in ports.iter().enumerate() {
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        let url = format!("{}://{address}:{}", protocol.to_lowercase(), port.port);
        let prefix = format!("{name}_PORT_{}_{protocol}", port.port);
        if index == 0 {
            variables.push((format!("{name}_PORT"), url.clone()));
        }
        variables.extend([
            (prefix.clone(), url),
            (format!("{prefix}_PROTO"), protocol.to_lowercase()),
            (format!("{prefix}_PORT"), port.port.to_string()),
            (format!("{prefix}_ADDR"), address.to_owned()),
        ]);
    }
    variables
}

fn shouted(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}
