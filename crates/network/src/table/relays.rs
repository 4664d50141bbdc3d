//! Where a table wants connections accepted, and whom they are for. Pure.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddrV4},
};

use super::{Affinity, Protocol, Service, Table};

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

/// Whom connections to a place are for. There is always at least one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Backends {
    pub(crate) all: Vec<Backend>,
    pub(crate) affinity: Option<Affinity>,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Backend {
    pub(crate) side: Side,
    pub(crate) address: SocketAddrV4,
}

pub(crate) type Relays = BTreeMap<Place, Backends>;

/// The relays of a table. A port without a ready endpoint has none, so the kernel refuses connections.
pub(crate) fn relays(table: &Table, node_ports: &[IpAddr]) -> Relays {
    let mut relays = Relays::new();
    for service in table
        .services
        .iter()
        .filter(|service| service.external_name.is_none())
    {
        for port in &service.ports {
            let all = backends(service, &port.name);
            if all.is_empty() {
                continue;
            }
            let inside = service.addresses.iter().chain(&service.external_addresses);
            let inside = inside.map(|address| (Side::Node, IpAddr::V4(*address), port.port));
            let outside = port.node_port.into_iter().flat_map(|node_port| {
                node_ports
                    .iter()
                    .map(move |address| (Side::Host, *address, node_port))
            });
            for (side, address, number) in inside.chain(outside) {
                let place = Place {
                    side,
                    address,
                    port: number,
                    protocol: port.protocol,
                };
                relays.insert(
                    place,
                    Backends {
                        all: all.clone(),
                        affinity: service.affinity,
                    },
                );
            }
        }
    }
    relays
}

fn backends(service: &Service, port: &str) -> Vec<Backend> {
    let ready = service.endpoints.iter().filter(|endpoint| endpoint.ready);
    let listening = ready.filter_map(|endpoint| {
        let side = if endpoint.host { Side::Host } else { Side::Node };
        let address = SocketAddrV4::new(endpoint.address, *endpoint.ports.get(port)?);
        Some(Backend { side, address })
    });
    let mut backends: Vec<Backend> = listening.collect();
    // The order in which endpoints are listed means nothing and may change at every table.
    backends.sort_unstable();
    backends.dedup();
    backends
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
