//! Addresses, names, services and the way out, for pods.
//!
//! [`process::main`] is the process that stands in both worlds, the host's network and the pods'; it
//! outlives whoever started it. [`Network`] starts it, finds it again and talks to it.
//! Nothing here knows Kubernetes: a [`Table`] says in plain words which services and names there are.

mod addresses;
mod client;
mod description;
mod folder;
mod netlink;
mod options;
mod problem;
pub mod process;
mod table;
mod wire;

pub use client::{Error, Namespace, Network};
pub use description::{Description, Tier};
pub use options::Options;
pub use problem::{Claimant, Problem};
pub use table::{Affinity, Endpoint, HostPort, Port, Protocol, Service, Table};
