//! Sandboxes that run real processes. `sandbox` is the single-threaded program that owns a pod's
//! namespaces and containers; `client` is how the node agent starts, adopts and asks it; `spec`,
//! `state` and `protocol` are the words between them. No Kubernetes types here.

pub mod cgroups;
mod claim;
pub mod client;
mod processes;
pub mod program;
mod protocol;
pub mod sandbox;
pub mod spec;
pub mod state;
mod system;
pub mod tier;

pub use protocol::{Exec, Failure, FailureKind};
