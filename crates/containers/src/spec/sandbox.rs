//! What the containers of one pod have in common.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::tier::Tier;

/// One pod's surroundings; written once, to `sandbox.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Unique on this machine; names the control groups.
    pub id: String,
    pub tier: Tier,
    /// Without a name the host's stays visible.
    #[serde(default)]
    pub hostname: Option<String>,
    #[serde(default)]
    pub domain: Option<String>,
    #[serde(default)]
    pub network: Network,
    /// The user namespace to join, such as `/proc/PID/ns/user` of the network process.
    /// Without one the `rootless` tier makes its own.
    #[serde(default)]
    pub user_namespace: Option<PathBuf>,
    /// One process namespace for all containers, instead of one each.
    #[serde(default)]
    pub share_processes: bool,
    #[serde(default)]
    pub host_pid: bool,
    #[serde(default)]
    pub host_ipc: bool,
    /// Kernel settings of the new namespaces, by dotted name.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// Size of the pod's `/dev/shm`; half the memory when absent.
    #[serde(default)]
    pub shared_memory_bytes: Option<u64>,
    /// Folders in memory that containers can bind. They live as long as the sandbox and are seen by
    /// nobody else.
    #[serde(default)]
    pub memory: Vec<MemoryFolder>,
}

/// A place of the host that is a folder in memory inside the pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFolder {
    pub path: PathBuf,
    /// Half of the machine's memory when absent.
    pub bytes: Option<u64>,
    /// The group that new files belong to.
    pub group: Option<u32>,
}

/// Which network the containers see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Network {
    /// A new network namespace with nothing but loopback; others put interfaces into it.
    #[default]
    Own,
    /// The one the sandbox was started in.
    Host,
    /// An existing one, by path.
    Join(PathBuf),
}

impl Sandbox {
    pub fn new(id: impl Into<String>, tier: Tier) -> Self {
        Self {
            id: id.into(),
            tier,
            hostname: None,
            domain: None,
            network: Network::default(),
            user_namespace: None,
            share_processes: false,
            host_pid: false,
            host_ipc: false,
            sysctls: BTreeMap::new(),
            shared_memory_bytes: None,
            memory: Vec::new(),
        }
    }
}
