//! The names of a table: of services, their ports and their endpoints, of pods, and back from addresses.
//! Pure.

use std::{
    collections::{HashMap, HashSet},
    net::Ipv4Addr,
};

use ipnet::Ipv4Net;

use super::{Endpoint, Protocol, Service, Table};

/// What is known about a name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Data {
    Address(Ipv4Addr),
    /// Another name for the same.
    Alias(String),
    /// A port, and the name of the machine that has it.
    Location {
        port: u16,
        machine: String,
    },
    /// The name of an address.
    Pointer(String),
}

/// What a look-up comes to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    /// Nothing, if the name only exists because names below it do.
    Data(Vec<Data>),
    NoSuchName,
    /// Others know about such names.
    NotOurs,
}

/// All names, in lower case and without the dot at the end.
#[derive(Debug, Default)]
pub(crate) struct Names {
    domain: String,
    reverse_ranges: Vec<Ipv4Net>,
    data: HashMap<String, Vec<Data>>,
    /// Names that have others below them.
    parents: HashSet<String>,
}

const REVERSE: &str = ".in-addr.arpa";

impl Names {
    /// Addresses of these ranges belong to the cluster, also those that nobody has.
    pub(crate) fn new(table: &Table, domain: &str, ranges: &[Ipv4Net]) -> Self {
        let mut names = Self {
            domain: domain.to_lowercase(),
            reverse_ranges: ranges.to_vec(),
            ..Self::default()
        };
        names.add_parents(&format!("pod.{}", names.domain));
        names.add_parents(&format!("svc.{}", names.domain));
        for service in &table.services {
            names.add_service(service);
        }
        names
    }

    pub(crate) fn domain(&self) -> &str {
        &self.domain
    }

    pub(crate) fn find(&self, name: &str) -> Found {
        if let Some(data) = self.data.get(name) {
            return Found::Data(data.clone());
        }
        if let Some(address) = self.pod_address(name) {
            return Found::Data(vec![Data::Address(address)]);
        }
        if self.parents.contains(name) {
            return Found::Data(Vec::new());
        }
        if is_below(name, &self.domain) || self.is_own_reverse(name) {
            return Found::NoSuchName;
        }
        Found::NotOurs
    }

    fn add_service(&mut self, service: &Service) {
        let base = format!("{}.{}.svc.{}", service.name, service.namespace, self.domain).to_lowercase();
        if let Some(other) = &service.external_name {
            let other = other.trim_end_matches('.').to_lowercase();
            return self.add(&base, Data::Alias(other));
        }
        for address in &service.addresses {
            self.add(&base, Data::Address(*address));
            self.add(&reverse(*address), Data::Pointer(base.clone()));
        }
        if !service.addresses.is_empty() {
            for port in &service.ports {
                let location = Data::Location {
                    port: port.port,
                    machine: base.clone(),
                };
                self.add_location(&base, &port.name, port.protocol, location);
            }
        }
        let shown = |endpoint: &&Endpoint| endpoint.ready || service.publish_not_ready;
        for endpoint in service.endpoints.iter().filter(shown) {
            self.add_endpoint(service, endpoint, &base);
        }
    }

    fn add_endpoint(&mut self, service: &Service, endpoint: &Endpoint, base: &str) {
        let own = endpoint
            .hostname
            .clone()
            .unwrap_or_else(|| dashed(endpoint.address));
        let machine = format!("{own}.{base}").to_lowercase();
        self.add(&machine, Data::Address(endpoint.address));
        self.add(&reverse(endpoint.address), Data::Pointer(machine.clone()));
        if !service.addresses.is_empty() {
            return;
        }
        self.add(base, Data::Address(endpoint.address));
        for port in &service.ports {
            if let Some(number) = endpoint.ports.get(&port.name) {
                let location = Data::Location {
                    port: *number,
                    machine: machine.clone(),
                };
                self.add_location(base, &port.name, port.protocol, location);
            }
        }
    }

    fn add_location(&mut self, base: &str, port: &str, protocol: Protocol, location: Data) {
        let protocol = match protocol {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
        };
        self.add(base, location.clone());
        if !port.is_empty() {
            self.add(&format!("_{port}._{protocol}.{base}"), location);
        }
    }

    fn add(&mut self, name: &str, data: Data) {
        self.add_parents(name);
        let all = self.data.entry(name.to_owned()).or_default();
        if !all.contains(&data) {
            all.push(data);
        }
    }

    fn add_parents(&mut self, name: &str) {
        let mut rest = name;
        while rest != self.domain && is_below(rest, &self.domain) {
            let Some((_, parent)) = rest.split_once('.') else {
                return;
            };
            if !self.parents.insert(parent.to_owned()) {
                return;
            }
            rest = parent;
        }
    }

    /// Pods have names made from their addresses: `10-244-0-5.NAMESPACE.pod.DOMAIN`.
    fn pod_address(&self, name: &str) -> Option<Ipv4Addr> {
        let rest = name.strip_suffix(&self.domain)?.strip_suffix(".pod.")?;
        let (address, namespace) = rest.split_once('.')?;
        if namespace.is_empty() || namespace.contains('.') {
            return None;
        }
        address.replace('-', ".").parse().ok()
    }

    fn is_own_reverse(&self, name: &str) -> bool {
        let Some(text) = name.strip_suffix(REVERSE) else {
            return false;
        };
        let mut octets: Vec<&str> = text.split('.').collect();
        octets.reverse();
        let address: Option<Ipv4Addr> = octets.join(".").parse().ok();
        address.is_some_and(|address| self.reverse_ranges.iter().any(|range| range.contains(&address)))
    }
}

fn is_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn dashed(address: Ipv4Addr) -> String {
    address.to_string().replace('.', "-")
}

fn reverse(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    format!("{d}.{c}.{b}.{a}{REVERSE}")
}

#[cfg(test)]
mod tests;
