//! The node as the process knows it: its sides, its pods, its table, and what is written down of them.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddrV4},
    os::fd::OwnedFd,
    path::PathBuf,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

use super::{
    Error, chain,
    dns::Server,
    egress, namespaces,
    pods::{self, Pods},
    relay::{Relaying, Surroundings},
    sides::Sides,
    sockets::{connect_tcp, connect_udp},
};
use crate::{
    description::Description,
    folder,
    options::Options,
    problem::Problem,
    table::{
        Protocol, Table,
        names::Names,
        relays::{Relays, Side, relays},
    },
};

#[derive(Debug)]
pub(crate) struct Node {
    folder: PathBuf,
    options: Options,
    sides: Sides,
    pods: Arc<Mutex<Pods>>,
    /// Held while a table is put in force, so that they come in order.
    relaying: AsyncMutex<Relaying>,
    name_server: Arc<Server>,
    description: Mutex<Description>,
}

impl Node {
    pub(crate) async fn start(
        folder: PathBuf,
        options: Options,
        mut description: Description,
        sides: Sides,
    ) -> Result<Self, Error> {
        let before = description.addresses.clone();
        let (on_node, to_sides) = (options.clone(), sides.clone());
        let start = async move {
            let pods = match Pods::start(&on_node, before) {
                Ok(pods) => pods,
                Err(error) => return Ok(Err(Error::Node(error))),
            };
            let no_egress = egress::start(&on_node, &to_sides)
                .err()
                .map(|error| chain(&error));
            let names = names(&on_node, &Table::default());
            let name_server = Server::start(&on_node, names, &to_sides).map_err(Error::NameServer);
            Ok(name_server.map(|name_server| (pods, no_egress, name_server)))
        };
        let (pods, no_egress, name_server) = sides.on(Side::Node, start).await.map_err(Error::Serve)??;
        let surroundings = Surroundings {
            sides: sides.clone(),
            pods: options.pods,
            gateway: options.gateway(),
            may_pose: no_egress.is_none(),
        };
        description.no_egress = no_egress;
        let node = Self {
            folder,
            options,
            sides,
            pods: Arc::new(Mutex::new(pods)),
            relaying: AsyncMutex::new(Relaying::new(Arc::new(surroundings))),
            name_server,
            description: Mutex::new(description),
        };
        node.write_down(|_| {}).map_err(Error::State)?;
        Ok(node)
    }

    pub(crate) fn describe(&self) -> Description {
        self.description.lock().clone()
    }

    pub(crate) async fn attach(
        &self,
        pod: String,
        process: Option<u32>,
        passed: Option<OwnedFd>,
    ) -> io::Result<Ipv4Addr> {
        let namespace = match (process, passed) {
            (_, Some(passed)) => passed.into(),
            (Some(process), None) => namespaces::of_process(process)?,
            (None, None) => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "no network namespace is named",
                ));
            }
        };
        let attached = self.with_pods(move |pods| pods.attach(&pod, &namespace)).await?;
        self.write_down_addresses()?;
        Ok(attached)
    }

    pub(crate) async fn detach(&self, pod: String) -> io::Result<()> {
        self.with_pods(move |pods| pods.detach(&pod)).await?;
        self.write_down_addresses()
    }

    /// A connection made from the node's side, where pods and services are.
    pub(crate) async fn dial(&self, to: SocketAddrV4, protocol: Protocol) -> io::Result<OwnedFd> {
        match protocol {
            Protocol::Tcp => {
                let stream = self.sides.on(Side::Node, connect_tcp(None, to)).await?;
                Ok(stream.into_std()?.into())
            }
            Protocol::Udp => {
                let socket = self.sides.on(Side::Node, connect_udp(None, to)).await?;
                Ok(socket.into_std()?.into())
            }
        }
    }

    /// Puts a table in force. Returns what of it could not be.
    pub(crate) async fn set_table(&self, table: Table) -> io::Result<Vec<Problem>> {
        let mut relaying = self.relaying.lock().await;
        if table.number <= self.description.lock().table {
            return Ok(Vec::new());
        }
        self.name_server.set_names(names(&self.options, &table));
        let wanted = relays(&table, &self.options.node_ports);
        let added = self.foreign(
            wanted
                .relays
                .keys()
                .filter(|place| place.side == Side::Node)
                .map(|place| place.address),
        );
        self.with_pods(move |pods| pods.own(added)).await?;
        let mut problems = wanted.contested;
        problems.extend(relaying.apply(&wanted.relays).await);
        self.write_down(|description| description.table = table.number)?;
        Ok(problems)
    }

    pub(crate) async fn stop(&self) {
        self.relaying.lock().await.apply(&Relays::new()).await;
        let detach_all = |pods: &mut Pods| {
            pods.detach_all();
            Ok(())
        };
        let _ = self.with_pods(detach_all).await;
    }

    /// Addresses of services that lie outside the services' range.
    fn foreign(&self, addresses: impl Iterator<Item = IpAddr>) -> BTreeSet<Ipv4Addr> {
        let foreign = addresses.filter_map(|address| match address {
            IpAddr::V4(address) if !self.options.services.contains(&address) => Some(address),
            _ => None,
        });
        foreign.collect()
    }

    async fn with_pods<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Pods) -> Result<T, pods::Error> + Send + 'static,
    ) -> io::Result<T> {
        let pods = self.pods.clone();
        self.sides
            .blocking_on(Side::Node, move || {
                work(&mut pods.lock()).map_err(io::Error::other)
            })
            .await
    }

    fn write_down_addresses(&self) -> io::Result<()> {
        let addresses = self.pods.lock().addresses().clone();
        self.write_down(|description| description.addresses = addresses)
    }

    /// Changes what is known and writes it to disk before anybody hears of it.
    fn write_down(&self, change: impl FnOnce(&mut Description)) -> io::Result<()> {
        let mut description = self.description.lock();
        change(&mut description);
        folder::write_state(&self.folder, &description)
    }
}

fn names(options: &Options, table: &Table) -> Names {
    Names::new(table, &options.domain, &[options.pods, options.services])
}
