//! The relays in force: listeners at the services' addresses and at node ports, and who is behind them.

pub(crate) mod choice;
pub(crate) mod flows;
pub(crate) mod pump;
mod serve;

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use ipnet::Ipv4Net;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::{
    sides::Sides,
    sockets::{Posing, bind_udp, listen_tcp},
};
use crate::{
    problem::Problem,
    table::{
        Protocol,
        relays::{Backend, Backends, Place, Relays, Side, difference},
    },
};
use choice::Choice;
use flows::Flows;

/// What every relay needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) sides: Sides,
    pub(crate) pods: Ipv4Net,
    pub(crate) gateway: Ipv4Addr,
    /// Whether the filter lets us speak in a pod's name.
    pub(crate) may_pose: bool,
}

impl Surroundings {
    /// In whose name to connect to a backend: a pod's, so that the backend sees its real client. A pod
    /// would not believe a packet that claims to come from itself.
    pub(crate) fn name_for(&self, client: IpAddr, backend: Backend) -> Option<Ipv4Addr> {
        let IpAddr::V4(client) = client else { return None };
        let is_pod = self.pods.contains(&client) && client != self.gateway;
        let poses = self.may_pose && is_pod && backend.side == Side::Node && *backend.address.ip() != client;
        poses.then_some(client)
    }
}

#[derive(Debug)]
pub(crate) struct Relaying {
    surroundings: Arc<Surroundings>,
    running: BTreeMap<Place, Relay>,
}

/// One listener.
#[derive(Debug)]
struct Relay {
    backends: Backends,
    choice: Arc<Mutex<Choice>>,
    flows: Option<Arc<Flows>>,
    task: JoinHandle<()>,
}

impl Relaying {
    pub(crate) fn new(surroundings: Arc<Surroundings>) -> Self {
        Self {
            surroundings,
            running: BTreeMap::new(),
        }
    }

    /// Gets from the relays in force to these. What cannot be opened is tried again next time.
    pub(crate) async fn apply(&mut self, wanted: &Relays) -> Vec<Problem> {
        let running = self
            .running
            .iter()
            .map(|(place, relay)| (*place, relay.backends.clone()))
            .collect();
        let difference = difference(&running, wanted);
        for place in difference.close {
            if let Some(relay) = self.running.remove(&place) {
                relay.close().await;
            }
        }
        for (place, backends) in difference.change {
            if let Some(relay) = self.running.get_mut(&place) {
                relay.change(backends);
            }
        }
        let mut problems = Vec::new();
        let (host, node): (Relays, Relays) = difference
            .open
            .into_iter()
            .partition(|(place, _)| place.side == Side::Host);
        for (side, relays) in [(Side::Host, host), (Side::Node, node)] {
            let surroundings = self.surroundings.clone();
            let open_all = async move {
                let open = |(place, backends)| (place, Relay::open(place, backends, &surroundings));
                Ok(relays.into_iter().map(open).collect::<Vec<_>>())
            };
            for (place, opened) in self
                .surroundings
                .sides
                .on(side, open_all)
                .await
                .unwrap_or_default()
            {
                match opened {
                    Ok(relay) => {
                        self.running.insert(place, relay);
                    }
                    Err(problem) => problems.push(problem),
                }
            }
        }
        problems
    }
}

impl Relay {
    /// Must be called on a thread of the place's side.
    fn open(place: Place, backends: Backends, surroundings: &Arc<Surroundings>) -> Result<Self, Problem> {
        let address = place.socket();
        let problem = |error: io::Error| Problem {
            claimant: backends.claimant.clone(),
            address,
            protocol: place.protocol,
            reason: error.to_string(),
        };
        let choice = Arc::new(Mutex::new(Choice::new(backends.clone())));
        let (flows, task) = match place.protocol {
            Protocol::Tcp => {
                let listener = listen_tcp(address, Posing::OwnOnly).map_err(problem)?;
                (
                    None,
                    tokio::spawn(serve::tcp(listener, choice.clone(), surroundings.clone())),
                )
            }
            Protocol::Udp => {
                let socket = bind_udp(address, Posing::OwnOnly).map_err(problem)?;
                let flows = Arc::new(Flows::default());
                let task = serve::udp(socket, choice.clone(), flows.clone(), surroundings.clone());
                (Some(flows), tokio::spawn(task))
            }
        };
        Ok(Self {
            backends,
            choice,
            flows,
            task,
        })
    }

    /// The place is free afterwards. Connections go on, as they do when a backend is no longer chosen.
    async fn close(self) {
        if let Some(flows) = &self.flows {
            flows.keep(|_| false);
        }
        self.task.abort();
        let _ = self.task.await;
    }

    /// Connections stay with the backend they have; datagrams to one that is gone go to another.
    fn change(&mut self, backends: Backends) {
        if let Some(flows) = &self.flows {
            flows.keep(|address| backends.all.iter().any(|backend| backend.address == address));
        }
        self.choice.lock().replace(backends.clone());
        self.backends = backends;
    }
}
