//! The pods' wires: one pair of linked devices a pod, `eth0` there and a route to it here.
//!
//! There is no bridge: packets between pods are routed. A bridge has 1 024 ports at most, and would keep
//! pod-to-pod packets from the rules that let a relay speak in its client's name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io,
    net::Ipv4Addr,
    os::{fd::AsFd, unix::fs::MetadataExt},
};

use ipnet::Ipv4Net;
use nix::{errno::Errno, libc};

use super::namespaces;
use crate::{
    addresses::Addresses,
    netlink::{
        self, Message, Socket,
        route::{
            End, Hardware, LOOPBACK, Route, add_address, add_neighbour, add_pair, add_route, bring_up,
            forward_from, host, remove_link, remove_route,
        },
    },
    options::Options,
};

const MAIN: u8 = libc::RT_TABLE_MAIN;
/// The only table in which the packet filter looks for what is our own.
const LOCAL: u8 = libc::RT_TABLE_LOCAL;
/// Device numbers of pods start here, above whatever the kernel puts into a new namespace by itself.
const FIRST_DEVICE: u32 = 1000;
/// Packets never leave the machine, so they may be as large as the loopback's.
const LARGEST_PACKET: u32 = 65_535;
/// What every device on the node's side is called; each is alone with its pod.
const NODE: Hardware = [0x02, 0, 0, 0, 0, 1];

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("all {0} addresses of the range are taken")]
    Full(usize),
    #[error("cannot look at the pod's network namespace")]
    Namespace(#[source] io::Error),
    #[error("cannot wire the node's side")]
    NodeSide(#[source] netlink::Error),
    #[error("cannot wire the pod's side")]
    PodSide(#[source] io::Error),
}

/// The wires there are. Works on the node's side only.
#[derive(Debug)]
pub(crate) struct Pods {
    socket: Socket,
    gateway: Ipv4Addr,
    addresses: Addresses,
    /// The network namespace each pod is wired to.
    attached: BTreeMap<String, NamespaceId>,
    /// Addresses outside the ranges that services have.
    own: BTreeSet<Ipv4Addr>,
}

/// What tells network namespaces apart while they live; a later one may get the number of one that is gone.
type NamespaceId = (u64, u64);

impl Pods {
    /// Prepares the node's namespace: its own address, and nobody at the addresses of pods that are not.
    pub(crate) fn start(
        options: &Options,
        before: BTreeMap<String, Ipv4Addr>,
    ) -> Result<Self, netlink::Error> {
        let socket = Socket::route()?;
        let gateway = options.gateway();
        socket.execute(&[
            bring_up(LOOPBACK),
            add_address(LOOPBACK, gateway),
            add_route(options.pods, Route::Unreachable, MAIN),
            add_route(options.services, Route::Own, LOCAL),
        ])?;
        let addresses = Addresses::new(options.pods, before);
        Ok(Self {
            socket,
            gateway,
            addresses,
            attached: BTreeMap::new(),
            own: BTreeSet::new(),
        })
    }

    pub(crate) fn addresses(&self) -> &BTreeMap<String, Ipv4Addr> {
        self.addresses.by_pod()
    }

    /// Wires a pod, once: a second call with the same namespace changes nothing, one with another
    /// namespace moves the pod's address there.
    pub(crate) fn attach(&mut self, pod: &str, namespace: &File) -> Result<Ipv4Addr, Error> {
        let metadata = namespace.metadata().map_err(Error::Namespace)?;
        let identity = (metadata.dev(), metadata.ino());
        let count = self.addresses.by_pod().len();
        let address = self.addresses.take(pod).ok_or(Error::Full(count))?;
        if self.attached.get(pod) == Some(&identity) && self.is_wired(address).map_err(Error::NodeSide)? {
            return Ok(address);
        }
        if self.attached.remove(pod).is_some() {
            self.unwire(address).map_err(Error::NodeSide)?;
        }
        if let Err(error) = self.wire(address, namespace) {
            let _ = self.unwire(address);
            return Err(error);
        }
        self.attached.insert(pod.to_owned(), identity);
        Ok(address)
    }

    /// Takes a pod's wire and address away, if it has any.
    pub(crate) fn detach(&mut self, pod: &str) -> Result<(), Error> {
        self.attached.remove(pod);
        if let Some(address) = self.addresses.by_pod().get(pod).copied() {
            self.unwire(address).map_err(Error::NodeSide)?;
            self.addresses.give_back(pod);
        }
        Ok(())
    }

    /// Makes these addresses outside the ranges the node's own, and no others.
    pub(crate) fn own(&mut self, addresses: BTreeSet<Ipv4Addr>) -> Result<(), Error> {
        let added = addresses.difference(&self.own);
        let added = added.map(|address| add_route(host(*address), Route::Own, LOCAL));
        let removed = self.own.difference(&addresses);
        let removed = removed.map(|address| remove_route(host(*address), Route::Own, LOCAL));
        let messages: Vec<Message> = added.chain(removed).collect();
        self.socket.execute(&messages).map_err(Error::NodeSide)?;
        self.own = addresses;
        Ok(())
    }

    /// Takes all wires away, also those whose pods would keep the node's namespace alive.
    pub(crate) fn detach_all(&mut self) {
        let pods: Vec<String> = self.addresses.by_pod().keys().cloned().collect();
        for pod in pods {
            if let Err(error) = self.detach(&pod) {
                tracing::warn!(%pod, %error, "cannot take a pod's wire away");
            }
        }
    }

    fn wire(&self, address: Ipv4Addr, namespace: &File) -> Result<(), Error> {
        let device = self.device(address);
        let name = format!("pod{}", self.addresses.place(address));
        let to_pod = Route::Neighbours {
            device,
            source: Some(self.gateway),
        };
        let here = End {
            name: &name,
            hardware: NODE,
        };
        let there = End {
            name: "eth0",
            hardware: hardware_of(address),
        };
        let node_side = [
            add_pair(device, here, there, namespace.as_fd(), LARGEST_PACKET),
            forward_from(device),
            add_route(host(address), to_pod, MAIN),
            add_neighbour(device, address, there.hardware),
        ];
        self.socket.execute(&node_side).map_err(Error::NodeSide)?;
        let to_gateway = Route::Neighbours { device, source: None };
        let pod_side = [
            bring_up(LOOPBACK),
            bring_up(device),
            add_address(device, address),
            add_route(host(self.gateway), to_gateway, MAIN),
            add_route(
                Ipv4Net::default(),
                Route::Gateway {
                    gateway: self.gateway,
                },
                MAIN,
            ),
        ];
        let wire_pod_side = || Socket::route()?.execute(&pod_side);
        namespaces::within(namespace, || wire_pod_side().map_err(io::Error::other)).map_err(Error::PodSide)
    }

    /// Whether the wire is still there: it goes with the namespace of its pod.
    fn is_wired(&self, address: Ipv4Addr) -> Result<bool, netlink::Error> {
        match self.socket.execute(&[bring_up(self.device(address))]) {
            Err(error) if error.code() == Some(Errno::ENODEV) => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }

    fn unwire(&self, address: Ipv4Addr) -> Result<(), netlink::Error> {
        match self.socket.execute(&[remove_link(self.device(address))]) {
            // The wire went with the pod's namespace.
            Err(error) if error.code() == Some(Errno::ENODEV) => Ok(()),
            outcome => outcome,
        }
    }

    fn device(&self, address: Ipv4Addr) -> u32 {
        FIRST_DEVICE + self.addresses.place(address)
    }
}

/// Any number would do that is not the node's; this one tells a reader whose it is.
fn hardware_of(address: Ipv4Addr) -> Hardware {
    let [a, b, c, d] = address.octets();
    [0x06, 0, a, b, c, d]
}
