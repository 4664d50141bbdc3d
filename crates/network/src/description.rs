//! What the process says about itself, on request and in `state.json`.

use std::{collections::BTreeMap, net::Ipv4Addr};

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

/// With which rights the process works.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Tier {
    /// Those of the machine's administrator.
    Root,
    /// Those of a user who has a user namespace of their own; pods must be made inside it.
    Rootless,
}

/// The process and what it has handed out.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    pub pid: u32,
    /// When the process started, in clock ticks since boot: tells it from a later one of the same pid.
    pub start_time: u64,
    pub tier: Tier,
    pub pods: Ipv4Net,
    pub services: Ipv4Net,
    /// The pods' gateway and name server.
    pub gateway: Ipv4Addr,
    /// Why pods cannot reach addresses outside the cluster, if they cannot.
    pub no_egress: Option<String>,
    /// Addresses by pod.
    pub addresses: BTreeMap<String, Ipv4Addr>,
    /// The number of the table in force; 0 before the first.
    pub table: u64,
}
