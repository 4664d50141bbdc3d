//! From a Service to an address behind it that is ready.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;
use store::{Collection, Store};

use crate::object;

/// Somebody who serves a port of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Backend {
    pub address: SocketAddr,
    /// The node that reaches the address; empty where none is named.
    pub node: String,
}

/// Who serves the port of the service now, or why there is nobody. Calls take turns.
pub(super) fn resolve(store: &Store, namespace: &str, name: &str, port: u16) -> Result<Backend, String> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let service = store
        .get(&Collection::new("", "services"), namespace, name)
        .and_then(|stored| object::readable(&stored))
        .ok_or_else(|| format!("service \"{name}\" not found"))?;
    let port_name = port_name(&service, name, port)?;
    let slices = store
        .list(
            &Collection::new("discovery.k8s.io", "endpointslices"),
            Some(namespace),
            None,
            None,
        )
        .items;
    let slices = slices.iter().filter_map(|stored| object::readable(stored));
    let family = service
        .pointer("/spec/ipFamilies/0")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (mut preferred, mut others) = (Vec::new(), Vec::new());
    for slice in slices.filter(|slice| belongs_to(slice, name)) {
        let found = if slice["addressType"] == family {
            &mut preferred
        } else {
            &mut others
        };
        found.extend(ready_backends(&slice, port_name));
    }
    if preferred.is_empty() && others.is_empty() {
        others = listed_backends(store, namespace, name, port_name);
    }
    let ready = if preferred.is_empty() { others } else { preferred };
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    ready
        .get(turn % ready.len().max(1))
        .cloned()
        .ok_or_else(|| format!("no endpoints available for service \"{name}\""))
}

fn port_name<'s>(service: &'s Value, name: &str, port: u16) -> Result<&'s str, String> {
    let spec = kinds::read::get(service, "spec");
    let kind = kinds::read::text(spec, "type");
    if !matches!(kind, "ClusterIP" | "LoadBalancer" | "NodePort") {
        return Err(format!("unsupported service type \"{kind}\""));
    }
    kinds::read::list(spec, "ports")
        .iter()
        .find(|candidate| kinds::read::int(candidate, "port") == Some(port.into()))
        .map(|found| kinds::read::text(found, "name"))
        .ok_or_else(|| format!("no service port {port} found for service \"{name}\""))
}

fn belongs_to(slice: &Value, service: &str) -> bool {
    slice
        .pointer("/metadata/labels/kubernetes.io~1service-name")
        .is_some_and(|label| label == service)
}

/// The addresses of an `Endpoints` object, for services whose endpoints somebody wrote by hand.
fn listed_backends(store: &Store, namespace: &str, name: &str, port_name: &str) -> Vec<Backend> {
    let stored = store.get(&Collection::new("", "endpoints"), namespace, name);
    let endpoints = stored
        .and_then(|stored| object::readable(&stored))
        .unwrap_or_default();
    let subsets = kinds::read::list(&endpoints, "subsets").iter();
    let addresses = subsets.filter_map(|subset| Some((named_port(subset, port_name)?, subset)));
    addresses
        .flat_map(|(port, subset)| {
            kinds::read::list(subset, "addresses")
                .iter()
                .map(move |address| (port, address))
        })
        .filter_map(|(port, address)| backend(kinds::read::text(address, "ip"), port, address))
        .collect()
}

fn named_port(of: &Value, name: &str) -> Option<u16> {
    let port = kinds::read::list(of, "ports")
        .iter()
        .find(|port| kinds::read::text(port, "name") == name)?;
    kinds::read::int(port, "port").and_then(|port| u16::try_from(port).ok())
}

fn ready_backends(slice: &Value, port_name: &str) -> Vec<Backend> {
    let Some(port) = named_port(slice, port_name) else {
        return Vec::new();
    };
    kinds::read::list(slice, "endpoints")
        .iter()
        .filter(|endpoint| {
            endpoint
                .pointer("/conditions/ready")
                .and_then(Value::as_bool)
                .unwrap_or(true)
        })
        .filter_map(|endpoint| backend(endpoint.pointer("/addresses/0")?.as_str()?, port, endpoint))
        .collect()
}

fn backend(address: &str, port: u16, described: &Value) -> Option<Backend> {
    Some(Backend {
        address: SocketAddr::new(address.parse().ok()?, port),
        node: kinds::read::text(described, "nodeName").to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_ready_addresses_with_the_port_are_called() {
        let slice = json!({
            "ports": [{ "name": "metrics", "port": 1 }, { "name": "hook", "port": 8444 }],
            "endpoints": [
                { "addresses": ["10.0.0.1"], "conditions": { "ready": false } },
                { "addresses": ["10.0.0.2"], "conditions": {}, "nodeName": "one" },
                { "addresses": ["10.0.0.3", "10.0.0.4"], "conditions": { "ready": true } },
            ],
        });
        let expected = [("10.0.0.2:8444", "one"), ("10.0.0.3:8444", "")].map(|(address, node)| Backend {
            address: address.parse().unwrap(),
            node: node.to_owned(),
        });
        assert_eq!(ready_backends(&slice, "hook"), expected);
        assert_eq!(ready_backends(&slice, ""), []);
    }

    #[test]
    fn the_port_must_be_one_of_the_service() {
        let service = json!({ "spec": { "type": "ClusterIP", "ports": [{ "name": "https", "port": 443 }] } });
        assert_eq!(port_name(&service, "hook", 443), Ok("https"));
        assert_eq!(
            port_name(&service, "hook", 80),
            Err("no service port 80 found for service \"hook\"".to_owned())
        );
        let external = json!({ "spec": { "type": "ExternalName" } });
        assert_eq!(
            port_name(&external, "hook", 80),
            Err("unsupported service type \"ExternalName\"".to_owned())
        );
    }
}
