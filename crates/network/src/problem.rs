//! What of a table cannot be in force.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::table::Protocol;

/// Who wants connections accepted somewhere.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Claimant {
    Service {
        namespace: String,
        name: String,
    },
    /// A pod, by the name it was attached under.
    Pod(String),
}

/// A place at which nothing can listen for who wants it, for example because another program does.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("cannot listen at {address} ({protocol}): {reason}")]
pub struct Problem {
    pub claimant: Claimant,
    pub address: SocketAddr,
    pub protocol: Protocol,
    pub reason: String,
}
