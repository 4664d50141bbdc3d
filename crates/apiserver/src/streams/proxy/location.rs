//! Where a proxied request goes: `name`, `name:port` or `scheme:name:port`, of a pod, a service or a
//! node.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use http::StatusCode;
use node_api::Node;
use serde_json::Value;
use store::Collection;

use crate::{
    call::Call,
    error::{ApiError, Qualified, Result},
    object,
    streams::backend,
};

pub(super) enum Location {
    Place(Place),
    /// The node's own service.
    NodeItself(String),
}

/// An address, how it is spoken to, and from where it is reached.
pub(super) struct Place {
    pub address: SocketAddr,
    pub tls: bool,
    /// The node that reaches it; without one this process tries itself.
    pub node: Option<Arc<dyn Node>>,
}

impl Place {
    pub(super) fn authority(&self) -> String {
        self.address.to_string()
    }

    fn new(address: IpAddr, port: u16, scheme: &str, node: Option<Arc<dyn Node>>) -> Self {
        Self {
            address: SocketAddr::new(address, port),
            tls: scheme == "https",
            node,
        }
    }
}

/// The parts of an id.
#[derive(Debug, PartialEq, Eq)]
struct Id<'a> {
    scheme: &'a str,
    name: &'a str,
    port: &'a str,
}

impl<'a> Id<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let (scheme, name, port) = match parts.as_slice() {
            [name] => ("", *name, ""),
            [name, port] => ("", *name, *port),
            [scheme, name, port] => (*scheme, *name, *port),
            _ => return None,
        };
        let is_valid = !name.is_empty() && matches!(scheme, "" | "http" | "https");
        is_valid.then_some(Self { scheme, name, port })
    }

    fn default_port(&self) -> u16 {
        if self.scheme == "https" { 443 } else { 80 }
    }
}

pub(super) fn find(call: &Call) -> Result<Location> {
    let singular = call.kind.singular.as_ref();
    let text = &call.target.name;
    let id = Id::read(text)
        .ok_or_else(|| ApiError::bad_request(format!("invalid {singular} request \"{text}\"")))?;
    match singular {
        "pod" => pod(call, &id).map(Location::Place),
        "service" => service(call, &id).map(Location::Place),
        _ => node(call, &id),
    }
}

fn pod(call: &Call, id: &Id<'_>) -> Result<Place> {
    let pod = backend::pod(call, id.name)?;
    let spec = kinds::read::get(&pod, "spec");
    let first_port = kinds::read::list(spec, "containers")
        .iter()
        .flat_map(|container| kinds::read::list(container, "ports"))
        .find_map(|port| kinds::read::int(port, "containerPort"))
        .and_then(|port| u16::try_from(port).ok());
    let port = match id.port {
        "" => first_port.unwrap_or(id.default_port()),
        number => parse_port(number)?,
    };
    let address = kinds::read::text(kinds::read::get(&pod, "status"), "podIP");
    Ok(Place::new(
        allowed(address)?,
        port,
        id.scheme,
        call.api.nodes.get(backend::node_name(&pod)),
    ))
}

fn service(call: &Call, id: &Id<'_>) -> Result<Place> {
    let stored = call
        .api
        .store
        .get(&call.kind.collection, call.key_namespace(), id.name);
    let service = stored.map(|stored| object::parse(&stored)).transpose()?;
    let port_name = match id.port.parse::<i64>() {
        Ok(number) => {
            let service = service.ok_or_else(|| ApiError::not_found(call.kind.qualified(), id.name))?;
            let ports = kinds::read::list(kinds::read::get(&service, "spec"), "ports");
            let found = ports
                .iter()
                .find(|port| kinds::read::int(port, "port") == Some(number));
            let found = found.ok_or_else(|| {
                unavailable(format!(
                    "no service port {number} found for service \"{}\"",
                    id.name
                ))
            })?;
            kinds::read::text(found, "name").to_owned()
        }
        Err(_) => id.port.to_owned(),
    };
    let endpoints = endpoints(call, id.name)?;
    let candidates = candidates(&endpoints, &port_name);
    pick(call, &candidates, id.scheme).ok_or_else(|| {
        unavailable(format!(
            "no endpoints available for service \"{}\"",
            call.target.name
        ))
    })
}

/// The slices of a service; one without any is not known to have endpoints at all.
fn endpoints(call: &Call, service: &str) -> Result<Vec<Value>> {
    let collection = Collection::new("discovery.k8s.io", "endpointslices");
    let slices = call
        .api
        .store
        .list(&collection, call.namespace(), None, None)
        .items;
    let slices: Vec<Value> = slices
        .iter()
        .filter_map(|stored| object::readable(stored))
        .filter(|slice: &Value| {
            slice
                .pointer("/metadata/labels/kubernetes.io~1service-name")
                .is_some_and(|label| label == service)
        })
        .collect();
    if !slices.is_empty() {
        return Ok(slices);
    }
    let resource = Qualified {
        group: "",
        name: "endpoints",
    };
    Err(ApiError::not_found(resource, service))
}

/// A ready endpoint that is a pod.
#[derive(Debug, PartialEq, Eq)]
struct Candidate {
    address: String,
    port: u16,
    pod: String,
}

fn candidates(slices: &[Value], port_name: &str) -> Vec<Candidate> {
    let with_port = slices.iter().filter_map(|slice| {
        let port = kinds::read::list(slice, "ports")
            .iter()
            .find(|port| kinds::read::text(port, "name") == port_name)?;
        let port = u16::try_from(kinds::read::int(port, "port")?).ok()?;
        Some((slice, port))
    });
    with_port
        .flat_map(|(slice, port)| {
            kinds::read::list(slice, "endpoints")
                .iter()
                .map(move |endpoint| (endpoint, port))
        })
        .filter(|(endpoint, _)| {
            let ready = endpoint.pointer("/conditions/ready").and_then(Value::as_bool);
            ready.unwrap_or(true)
        })
        .filter_map(|(endpoint, port)| {
            let target = kinds::read::get(endpoint, "targetRef");
            let pod = kinds::read::text(target, "name");
            Some(Candidate {
                address: endpoint.pointer("/addresses/0")?.as_str()?.to_owned(),
                port,
                pod: (!pod.is_empty()).then(|| pod.to_owned())?,
            })
        })
        .collect()
}

/// One of the candidates, in turn. Only addresses that are really a pod's are gone to: an endpoint
/// says whatever its author likes.
fn pick(call: &Call, candidates: &[Candidate], scheme: &str) -> Option<Place> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    let pods = Collection::new("", "pods");
    let in_turn = (0..candidates.len()).map(|step| &candidates[(turn + step) % candidates.len()]);
    in_turn.into_iter().find_map(|candidate| {
        let stored = call.api.store.get(&pods, call.key_namespace(), &candidate.pod)?;
        let pod = object::readable(&stored)?;
        let own = kinds::read::list(kinds::read::get(&pod, "status"), "podIPs");
        own.iter()
            .find(|own| kinds::read::text(own, "ip") == candidate.address)?;
        let node = call.api.nodes.get(backend::node_name(&pod));
        Some(Place::new(
            allowed(&candidate.address).ok()?,
            candidate.port,
            scheme,
            node,
        ))
    })
}

fn node(call: &Call, id: &Id<'_>) -> Result<Location> {
    let stored = call
        .api
        .store
        .get(&call.kind.collection, "", id.name)
        .ok_or_else(|| ApiError::not_found(call.kind.qualified(), id.name))?;
    let node = object::parse(&stored)?;
    let status = kinds::read::get(&node, "status");
    let own_port = status
        .pointer("/daemonEndpoints/kubeletEndpoint/Port")
        .and_then(Value::as_i64)
        .filter(|port| *port > 0)
        .unwrap_or(10250);
    if id.port.is_empty() || id.port.parse() == Ok(own_port) {
        return Ok(Location::NodeItself(id.name.to_owned()));
    }
    let address = kinds::read::list(status, "addresses")
        .iter()
        .find(|address| matches!(kinds::read::text(address, "type"), "InternalIP" | "ExternalIP"))
        .map(|address| kinds::read::text(address, "address"));
    Ok(Location::Place(Place::new(
        allowed(address.unwrap_or_default())?,
        parse_port(id.port)?,
        id.scheme,
        call.api.nodes.get(id.name),
    )))
}

fn parse_port(text: &str) -> Result<u16> {
    text.parse().map_err(|_| {
        unavailable(format!(
            "error trying to reach service: dial tcp: lookup tcp/{text}: unknown port"
        ))
    })
}

/// Nobody gets at this machine's own services, or at its neighbours', by way of the API.
fn allowed(address: &str) -> Result<IpAddr> {
    address
        .parse()
        .ok()
        .filter(|address| is_global_unicast(*address))
        .ok_or_else(|| ApiError::bad_request("address not allowed"))
}

fn is_global_unicast(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    !(address.is_unspecified() || address.is_loopback() || address.is_multicast() || is_link_local)
}

fn unavailable(message: String) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_has_up_to_three_parts() {
        let id = |scheme, name, port| Some(Id { scheme, name, port });
        assert_eq!(Id::read("web"), id("", "web", ""));
        assert_eq!(Id::read("web:80"), id("", "web", "80"));
        assert_eq!(Id::read("https:web:"), id("https", "web", ""));
        assert_eq!(Id::read("ftp:web:80"), None);
        assert_eq!(Id::read(":80"), None);
        assert_eq!(Id::read("a:b:c:d"), None);
    }

    #[test]
    fn the_machine_itself_is_not_reached() {
        for address in [
            "127.0.0.1",
            "0.0.0.0",
            "169.254.169.254",
            "224.0.0.1",
            "::1",
            "fe80::1",
            "x",
            "",
        ] {
            assert!(allowed(address).is_err(), "for {address}");
        }
        assert!(allowed("10.0.0.1").is_ok());
    }

    #[test]
    fn only_ready_pods_are_candidates() {
        let slice = json!({
            "ports": [{"name": "web", "port": 8080}],
            "endpoints": [
                {"addresses": ["10.0.0.1"], "targetRef": {"name": "a"}},
                {"addresses": ["10.0.0.2"], "targetRef": {"name": "b"}, "conditions": {"ready": false}},
                {"addresses": ["10.0.0.3"]},
            ],
        });
        let expected = Candidate {
            address: "10.0.0.1".to_owned(),
            port: 8080,
            pod: "a".to_owned(),
        };
        assert_eq!(candidates(std::slice::from_ref(&slice), "web"), [expected]);
        assert_eq!(candidates(&[slice], ""), []);
    }
}
