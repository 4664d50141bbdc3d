//! Where a table wants connections accepted, and whom they are for. Pure.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    net::{IpAddr, SocketAddr, SocketAddrV4},
};

use super::{Affinity, HostPort, Port, Protocol, Service, Table};
use crate::problem::{Claimant, Problem};

/// The two worlds that the process stands in.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum Side {
    Host,
    /// That of the pods.
    Node,
}

/// A place where connections are accepted.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Place {
    pub(crate) side: Side,
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
}

impl Place {
    pub(crate) fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

/// Whom connections to a place are for. There is always at least one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Backends {
    pub(crate) claimant: Claimant,
    pub(crate) all: Vec<Backend>,
    pub(crate) affinity: Option<Affinity>,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Backend {
    pub(crate) side: Side,
    pub(crate) address: SocketAddrV4,
}

pub(crate) type Relays = BTreeMap<Place, Backends>;

/// The relays that a table asks for, and those it cannot have because somebody else has the place.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) relays: Relays,
    pub(crate) contested: Vec<Problem>,
}

impl Wanted {
    /// A place belongs to who comes first.
    fn add(&mut self, place: Place, backends: Backends) {
        match self.relays.entry(place) {
            Entry::Vacant(free) => {
                free.insert(backends);
            }
            Entry::Occupied(taken) => self.contested.push(Problem {
                reason: format!("{} has it", shown(&taken.get().claimant)),
                claimant: backends.claimant,
                address: place.socket(),
                protocol: place.protocol,
            }),
        }
    }
}

fn shown(claimant: &Claimant) -> String {
    match claimant {
        Claimant::Service { namespace, name } => format!("service {namespace}/{name}"),
        Claimant::Pod(pod) => format!("pod {pod}"),
    }
}

/// The relays of a table, those of services first. A service's port without a ready endpoint has none, so
/// the kernel refuses connections; a pod's has one for as long as the pod is there.
pub(crate) fn relays(table: &Table, node_ports: &[IpAddr]) -> Wanted {
    let mut wanted = Wanted::default();
    let services = table.services.iter();
    for service in services.filter(|service| service.external_name.is_none()) {
        for port in &service.ports {
            let backends = backends(service, &port.name);
            if backends.all.is_empty() {
                continue;
            }
            for place in places(service, port, node_ports) {
                wanted.add(place, backends.clone());
            }
        }
    }
    for port in &table.host_ports {
        for address in port.address.as_ref().map_or(node_ports, std::slice::from_ref) {
            let (place, backends) = of_pod(port, *address);
            wanted.add(place, backends);
        }
    }
    wanted
}

fn places(service: &Service, port: &Port, node_ports: &[IpAddr]) -> Vec<Place> {
    let protocol = port.protocol;
    let inside = service.addresses.iter().chain(&service.external_addresses);
    let inside = inside.map(|address| Place {
        side: Side::Node,
        address: IpAddr::V4(*address),
        port: port.port,
        protocol,
    });
    let outside = port.node_port.into_iter().flat_map(|node_port| {
        node_ports.iter().map(move |address| Place {
            side: Side::Host,
            address: *address,
            port: node_port,
            protocol,
        })
    });
    inside.chain(outside).collect()
}

fn of_pod(port: &HostPort, address: IpAddr) -> (Place, Backends) {
    let place = Place {
        side: Side::Host,
        address,
        port: port.port,
        protocol: port.protocol,
    };
    let pod = Backend {
        side: Side::Node,
        address: port.to,
    };
    let backends = Backends {
        claimant: Claimant::Pod(port.pod.clone()),
        all: vec![pod],
        affinity: None,
    };
    (place, backends)
}

fn backends(service: &Service, port: &str) -> Backends {
    let ready = service.endpoints.iter().filter(|endpoint| endpoint.ready);
    let listening = ready.filter_map(|endpoint| {
        let side = if endpoint.host { Side::Host } else { Side::Node };
        let address = SocketAddrV4::new(endpoint.address, *endpoint.ports.get(port)?);
        Some(Backend { side, address })
    });
    let mut all: Vec<Backend> = listening.collect();
    // The order in which endpoints are listed means nothing and may change at every table.
    all.sort_unstable();
    all.dedup();
    Backends {
        claimant: Claimant::Service {
            namespace: service.namespace.clone(),
            name: service.name.clone(),
        },
        all,
        affinity: service.affinity,
    }
}

/// What to do to get from some relays to others.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Difference {
    pub(crate) close: Vec<Place>,
    pub(crate) change: Relays,
    pub(crate) open: Relays,
}

pub(crate) fn difference(old: &Relays, new: &Relays) -> Difference {
    let close = old
        .keys()
        .filter(|place| !new.contains_key(place))
        .copied()
        .collect();
    let mut difference = Difference {
        close,
        ..Difference::default()
    };
    for (place, backends) in new {
        match old.get(place) {
            None => difference.open.insert(*place, backends.clone()),
            Some(before) if before != backends => difference.change.insert(*place, backends.clone()),
            Some(_) => None,
        };
    }
    difference
}

#[cfg(test)]
mod tests;
