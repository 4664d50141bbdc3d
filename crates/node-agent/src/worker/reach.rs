//! The way into a running pod, for probes and hooks.

use std::{
    io,
    net::{IpAddr, SocketAddrV4},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::core::v1::Pod;
use tokio::net::TcpStream;

use super::Live;
use crate::{
    agent::Agent,
    probes::{self, ExecFailure, Executed},
};

pub(super) struct Reach {
    pub(super) agent: Arc<Agent>,
    /// Its uid.
    pod: String,
    pub(super) live: Live,
}

impl Reach {
    pub(super) fn new(agent: &Arc<Agent>, pod: &Pod, live: &Live) -> Self {
        Self {
            agent: agent.clone(),
            pod: pod.metadata.uid.clone().unwrap_or_default(),
            live: live.clone(),
        }
    }

    /// The pod's address, which is the node's on the host's network.
    pub(super) fn address(&self) -> IpAddr {
        self.live.address.map_or(self.agent.address(), IpAddr::V4)
    }
}

impl probes::Reach for Reach {
    async fn exec(&self, container: &str, argv: &[String], limit: Duration) -> Result<Executed, ExecFailure> {
        probes::run_in(&self.live.sandbox, container, argv, limit).await
    }

    fn way(&self) -> Option<u64> {
        match self.live.address {
            Some(_) => self.agent.networking.way_to(&self.pod),
            None => Some(0),
        }
    }

    async fn connect(&self, host: Option<&str>, port: u16) -> io::Result<TcpStream> {
        let host = match host {
            None => self.address(),
            // Others are reached as the node reaches them, by name or address.
            Some(host) => match host.parse() {
                Ok(address) => address,
                Err(_) => return TcpStream::connect((host, port)).await,
            },
        };
        self.agent.dial(host, port).await
    }
}

impl Agent {
    /// Connects to a pod, a service or anything else the node reaches.
    pub(crate) async fn dial(&self, host: IpAddr, port: u16) -> io::Result<TcpStream> {
        if let (IpAddr::V4(address), Ok(network)) = (host, self.networking.get()) {
            let description = network.description();
            if description.pods.contains(&address) || description.services.contains(&address) {
                let to = SocketAddrV4::new(address, port);
                return self.networking.dial(&network, to).await;
            }
        }
        TcpStream::connect((host, port)).await
    }
}
