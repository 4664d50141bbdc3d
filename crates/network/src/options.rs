//! What the process is told at its start, in `network.json`.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
};

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

const FILE: &str = "network.json";

/// The ranges of the cluster's addresses, and where it meets the host.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// Pods get their addresses from here; the first one is the node's own. Any size will do.
    pub pods: Ipv4Net,
    /// Services have theirs here. Connections to an address without a service are refused at once.
    pub services: Ipv4Net,
    /// Node ports listen at these addresses of the host.
    pub node_ports: Vec<IpAddr>,
    /// Under which names of the cluster end.
    pub domain: String,
    /// The host's list of name servers, which answer for all other names.
    pub resolvers: PathBuf,
    /// An existing user namespace to join instead of making one, as `/proc/PID/ns/user`: that of pods
    /// which outlived the last process.
    pub user_namespace: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pods: Ipv4Net::new_assert(Ipv4Addr::new(10, 244, 0, 0), 24),
            services: Ipv4Net::new_assert(Ipv4Addr::new(10, 96, 0, 0), 16),
            node_ports: vec![IpAddr::V4(Ipv4Addr::UNSPECIFIED)],
            domain: "cluster.local".to_owned(),
            resolvers: PathBuf::from("/etc/resolv.conf"),
            user_namespace: None,
        }
    }
}

impl Options {
    /// The node's address on the pods' side: their gateway and name server.
    pub fn gateway(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.pods.network()) + 1)
    }

    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        fs::write(folder.join(FILE), serde_json::to_vec_pretty(self)?)
    }

    pub(crate) fn read(folder: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(folder.join(FILE))?)?)
    }
}
