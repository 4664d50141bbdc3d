//! What a pod contributes to a service: its addresses, its ports, its name. Pure.

use std::net::IpAddr;

use k8s_openapi::{
    api::core::v1::{Container, ObjectReference, Pod, Service, ServicePort},
    apimachinery::pkg::util::intstr::IntOrString,
};
use reconcile::Change;

use crate::pods::health;

/// Finished pods and those without an address cannot be reached.
pub(crate) fn is_reachable(pod: &Pod) -> bool {
    !health::is_finished(pod) && !addresses(pod).is_empty()
}

pub(crate) fn addresses(pod: &Pod) -> Vec<IpAddr> {
    let Some(status) = &pod.status else {
        return Vec::new();
    };
    let listed = status.pod_ips.iter().flatten().map(|ip| ip.ip.as_str());
    let mut addresses: Vec<IpAddr> = listed.filter_map(|ip| ip.parse().ok()).collect();
    if addresses.is_empty() {
        addresses.extend(status.pod_ip.as_deref().and_then(|ip| ip.parse::<IpAddr>().ok()));
    }
    addresses
}

pub(crate) fn node(pod: &Pod) -> Option<&str> {
    let node = pod.spec.as_ref()?.node_name.as_deref()?;
    (!node.is_empty()).then_some(node)
}

pub(crate) fn publishes_unready(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    spec.and_then(|spec| spec.publish_not_ready_addresses) == Some(true)
}

pub(crate) fn has_address(service: &Service) -> bool {
    let address = service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref());
    !matches!(address, None | Some("" | "None"))
}

pub(crate) fn reference(pod: &Pod) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".into()),
        namespace: pod.metadata.namespace.clone(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

/// The name of the pod within the service, if it asks for one.
pub(crate) fn hostname(pod: &Pod, service: &Service) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let is_member = spec.subdomain == service.metadata.name;
    spec.hostname.clone().filter(|name| !name.is_empty() && is_member)
}

/// The ports of the service that the pod has, with the number they have there.
pub(crate) fn ports<'a>(service: &'a Service, pod: &Pod) -> Vec<(&'a ServicePort, i32)> {
    let ports = service
        .spec
        .iter()
        .filter_map(|spec| spec.ports.as_ref())
        .flatten();
    ports
        .filter_map(|port| Some((port, number(pod, port)?)))
        .collect()
}

fn number(pod: &Pod, port: &ServicePort) -> Option<i32> {
    let name = match &port.target_port {
        None => return Some(port.port),
        Some(IntOrString::Int(number)) => return Some(*number),
        Some(IntOrString::String(name)) => name,
    };
    let protocol = |protocol: &Option<String>| protocol.clone().unwrap_or_else(|| "TCP".into());
    let spec = pod.spec.as_ref()?;
    let sidecars = spec
        .init_containers
        .iter()
        .flatten()
        .filter(|container| is_sidecar(container));
    let ports = spec
        .containers
        .iter()
        .chain(sidecars)
        .filter_map(|container| container.ports.as_ref())
        .flatten();
    let mut named = ports.filter(|candidate| {
        candidate.name.as_ref() == Some(name) && protocol(&candidate.protocol) == protocol(&port.protocol)
    });
    named.next().map(|port| port.container_port)
}

fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// Whether a change of a pod can change an endpoint. Most changes of pods cannot.
pub(crate) fn matters(change: &Change<'_, Pod>) -> bool {
    let (Some(before), Some(after)) = (change.before, change.after) else {
        return true;
    };
    let name = |pod: &Pod| {
        let spec = pod.spec.as_ref()?;
        Some((spec.hostname.clone(), spec.subdomain.clone()))
    };
    before.metadata.labels != after.metadata.labels
        || health::is_terminating(before) != health::is_terminating(after)
        || health::is_ready(before) != health::is_ready(after)
        || health::is_finished(before) != health::is_finished(after)
        || node(before) != node(after)
        || addresses(before) != addresses(after)
        || name(before) != name(after)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_port_by_name_is_looked_up_in_the_containers_and_the_sidecars() {
        let service: Service = serde_json::from_value(json!({"spec": {"ports": [
            {"name": "a", "port": 80, "targetPort": "web", "protocol": "TCP"},
            {"name": "b", "port": 81, "targetPort": "side", "protocol": "TCP"},
            {"name": "c", "port": 82, "targetPort": "missing", "protocol": "TCP"},
            {"name": "d", "port": 83, "targetPort": 9000, "protocol": "UDP"},
        ]}}))
        .unwrap();
        let pod: Pod = serde_json::from_value(json!({"spec": {
            "containers": [{"name": "c", "ports": [
                {"name": "web", "containerPort": 8080, "protocol": "TCP"}]}],
            "initContainers": [
                {"name": "i", "ports": [{"name": "missing", "containerPort": 1, "protocol": "TCP"}]},
                {"name": "s", "restartPolicy": "Always",
                    "ports": [{"name": "side", "containerPort": 8081, "protocol": "TCP"}]},
            ],
        }}))
        .unwrap();
        let found: Vec<_> = ports(&service, &pod)
            .into_iter()
            .map(|(port, number)| (port.name.as_deref().unwrap(), number))
            .collect();
        assert_eq!(found, [("a", 8080), ("b", 8081), ("d", 9000)]);
    }

    #[test]
    fn a_hostname_counts_only_in_its_own_subdomain() {
        let pod: Pod = serde_json::from_value(
            json!({"spec": {"hostname": "one", "subdomain": "web", "containers": []}}),
        )
        .unwrap();
        let service = |name: &str| serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        assert_eq!(hostname(&pod, &service("web")).as_deref(), Some("one"));
        assert_eq!(hostname(&pod, &service("other")), None);
    }
}
