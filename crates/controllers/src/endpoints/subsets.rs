//! The subsets of an Endpoints object: addresses with the same ports. Pure.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Pod, Service};

use super::backends;
use crate::pods::health;

/// No more addresses than this are listed; ready ones go before others.
pub(crate) const MOST_ADDRESSES: usize = 1000;

type Port = (String, i32, String, Option<String>);

/// All addresses of a service, ready ones apart from the others.
pub(crate) fn subsets(service: &Service, pods: &[Arc<Pod>]) -> Vec<EndpointSubset> {
    let takes_all = backends::publishes_unready(service);
    let has_ports = service
        .spec
        .as_ref()
        .and_then(|spec| spec.ports.as_ref())
        .is_some_and(|ports| !ports.is_empty());
    let mut by_ports: BTreeMap<Vec<Port>, EndpointSubset> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| backends::is_reachable(pod)) {
        if health::is_terminating(pod) && !takes_all {
            continue;
        }
        let mut ports = ports(service, pod);
        ports.sort();
        if ports.is_empty() && (has_ports || backends::has_address(service)) {
            continue;
        }
        let Some(address) = address(service, pod) else {
            continue;
        };
        let subset = by_ports.entry(ports).or_default();
        let list = if takes_all || health::is_ready(pod) {
            &mut subset.addresses
        } else {
            &mut subset.not_ready_addresses
        };
        list.get_or_insert_default().push(address);
    }
    by_ports
        .into_iter()
        .map(|(ports, subset)| finish(ports, subset))
        .collect()
}

fn finish(ports: Vec<Port>, mut subset: EndpointSubset) -> EndpointSubset {
    let lists = [&mut subset.addresses, &mut subset.not_ready_addresses];
    for list in lists.into_iter().flatten() {
        list.sort_by_key(order);
    }
    let ports = ports
        .into_iter()
        .map(|(name, port, protocol, app_protocol)| EndpointPort {
            name: (!name.is_empty()).then_some(name),
            port,
            protocol: Some(protocol),
            app_protocol,
        });
    let ports: Vec<EndpointPort> = ports.collect();
    subset.ports = (!ports.is_empty()).then_some(ports);
    subset
}

fn order(address: &EndpointAddress) -> (Option<IpAddr>, Option<String>) {
    let target = address.target_ref.as_ref();
    (
        address.ip.parse().ok(),
        target.and_then(|target| target.uid.clone()),
    )
}

fn ports(service: &Service, pod: &Pod) -> Vec<Port> {
    let ports = backends::ports(service, pod).into_iter();
    ports
        .map(|(port, number)| {
            (
                port.name.clone().unwrap_or_default(),
                number,
                port.protocol.clone().unwrap_or_else(|| "TCP".into()),
                port.app_protocol.clone(),
            )
        })
        .collect()
}

/// The pod's address of the service's first family.
fn address(service: &Service, pod: &Pod) -> Option<EndpointAddress> {
    let spec = service.spec.as_ref();
    let family = spec
        .and_then(|spec| spec.ip_families.as_ref()?.first())
        .map(String::as_str);
    let mut addresses = backends::addresses(pod).into_iter();
    let ip = addresses.find(|address| family.is_none_or(|family| (family == "IPv6") == address.is_ipv6()))?;
    Some(EndpointAddress {
        ip: ip.to_string(),
        hostname: backends::hostname(pod, service),
        node_name: backends::node(pod).map(ToOwned::to_owned),
        target_ref: Some(backends::reference(pod)),
    })
}

/// Cuts the lists to what an object can hold, each by its share. Says whether anything was cut.
pub(crate) fn truncate(subsets: &mut [EndpointSubset]) -> bool {
    let ready: usize = subsets
        .iter()
        .map(|subset| length(subset.addresses.as_ref()))
        .sum();
    let others: usize = subsets
        .iter()
        .map(|subset| length(subset.not_ready_addresses.as_ref()))
        .sum();
    if ready + others <= MOST_ADDRESSES {
        return false;
    }
    let cuts_ready = ready > MOST_ADDRESSES;
    let (room, total) = if cuts_ready {
        (MOST_ADDRESSES, ready)
    } else {
        (MOST_ADDRESSES - ready, others)
    };
    let mut left = room;
    for subset in subsets {
        if cuts_ready {
            subset.not_ready_addresses = None;
        }
        let list = if cuts_ready {
            &mut subset.addresses
        } else {
            &mut subset.not_ready_addresses
        };
        let share = (length(list.as_ref()) * room).div_ceil(total).min(left);
        if let Some(list) = list {
            list.truncate(share);
            left -= list.len();
        }
        *list = list.take().filter(|list| !list.is_empty());
    }
    true
}

fn length(list: Option<&Vec<EndpointAddress>>) -> usize {
    list.map(Vec::len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, ip: &str, port: i32, ready: &str) -> Arc<Pod> {
        let pod = json!({
            "metadata": {"name": name, "namespace": "n", "uid": name},
            "spec": {"nodeName": "node", "containers": [
                {"name": "c", "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}]}]},
            "status": {"phase": "Running", "podIP": ip,
                "conditions": [{"type": "Ready", "status": ready}]},
        });
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn service() -> Service {
        serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": {
            "clusterIP": "10.0.0.1", "ports": [{"port": 80, "targetPort": "http", "protocol": "TCP"}]}}))
        .unwrap()
    }

    #[test]
    fn addresses_are_grouped_by_ports_and_sorted_by_number() {
        let pods = [
            pod("a", "10.1.0.10", 80, "True"),
            pod("b", "10.1.0.9", 80, "True"),
            pod("c", "10.1.0.8", 80, "False"),
            pod("d", "10.1.0.7", 81, "True"),
        ];
        let subsets = subsets(&service(), &pods);
        let ips = |list: &Option<Vec<EndpointAddress>>| -> Vec<String> {
            list.iter().flatten().map(|address| address.ip.clone()).collect()
        };
        assert_eq!(subsets.len(), 2);
        assert_eq!(ips(&subsets[0].addresses), ["10.1.0.9", "10.1.0.10"]);
        assert_eq!(ips(&subsets[0].not_ready_addresses), ["10.1.0.8"]);
        assert_eq!(ips(&subsets[1].addresses), ["10.1.0.7"]);
    }

    #[test]
    fn a_headless_service_without_ports_lists_addresses_alone() {
        let mut service = service();
        let spec = service.spec.as_mut().unwrap();
        (spec.ports, spec.cluster_ip) = (None, Some("None".into()));
        let subsets = subsets(&service, &[pod("a", "10.1.0.1", 80, "True")]);
        assert_eq!((subsets.len(), subsets[0].ports.is_none()), (1, true));
    }

    #[test]
    fn ready_addresses_go_before_others_when_there_are_too_many() {
        let many = |count: usize| -> Vec<EndpointAddress> { vec![EndpointAddress::default(); count] };
        let mut subsets = [
            EndpointSubset {
                addresses: Some(many(600)),
                not_ready_addresses: Some(many(600)),
                ports: None,
            },
            EndpointSubset {
                addresses: Some(many(300)),
                ..EndpointSubset::default()
            },
        ];
        assert!(truncate(&mut subsets));
        assert_eq!(length(subsets[0].not_ready_addresses.as_ref()), 100);
        assert_eq!(length(subsets[0].addresses.as_ref()), 600);
        assert!(!truncate(&mut subsets));
    }
}
