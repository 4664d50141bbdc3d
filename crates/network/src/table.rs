//! The table of services and names: all that the process knows of the cluster.

pub(crate) mod names;
pub(crate) mod relays;

use std::{
    collections::BTreeMap,
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddrV4},
};

use serde::{Deserialize, Serialize};

/// Everything at once; the process acts on the difference to the table before.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    /// Grows with each table; one that is not newer than the table in force is ignored.
    pub number: u64,
    pub services: Vec<Service>,
    #[serde(default)]
    pub host_ports: Vec<HostPort>,
}

/// A name, and what answers under it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Service {
    pub namespace: String,
    pub name: String,
    /// Its cluster addresses. Without any the name stands for the endpoints themselves.
    pub addresses: Vec<Ipv4Addr>,
    /// Addresses outside the cluster's ranges at which pods reach the service all the same.
    pub external_addresses: Vec<Ipv4Addr>,
    /// The name is another word for this one, and there is nothing else to the service.
    pub external_name: Option<String>,
    pub ports: Vec<Port>,
    pub endpoints: Vec<Endpoint>,
    /// Names stand for endpoints that are not ready, too.
    pub publish_not_ready: bool,
    /// A client gets the same endpoint again.
    pub affinity: Option<Affinity>,
}

/// How long after its last connection a client is remembered.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Affinity {
    pub timeout_seconds: u32,
}

/// A port at which a service is reached.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// Unique in its service; may be empty if it is the only one.
    pub name: String,
    pub protocol: Protocol,
    pub port: u16,
    /// The port of the host that leads here.
    pub node_port: Option<u16>,
}

/// A port of the host that leads to a port of a pod, whatever services there are.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostPort {
    /// The pod, by the name it was attached under.
    pub pod: String,
    /// The address of the host to listen at; without one, wherever node ports do.
    pub address: Option<IpAddr>,
    pub port: u16,
    pub protocol: Protocol,
    pub to: SocketAddrV4,
}

/// A program that answers for a service.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    pub address: Ipv4Addr,
    /// The address is one of the host's network, not of the pods'.
    #[serde(default)]
    pub host: bool,
    pub ready: bool,
    /// Its own name below the service's.
    #[serde(default)]
    pub hostname: Option<String>,
    /// Where it listens, by the name of the service's port.
    pub ports: BTreeMap<String, u16>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Protocol {
    Tcp,
    Udp,
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        })
    }
}
