//! How much a container may use.

use serde::{Deserialize, Serialize};

/// What control groups enforce; absent means unlimited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Weight against others, 1024 for one processor.
    pub cpu_shares: Option<u64>,
    pub cpu: Option<Cpu>,
    pub memory_bytes: Option<u64>,
    pub pids: Option<u64>,
}

/// Processor time per period, both in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    pub quota: u64,
    pub period: u64,
}

/// A limit of `setrlimit`, by its lower-case name (`nofile`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimit {
    pub name: String,
    pub soft: u64,
    pub hard: u64,
}
