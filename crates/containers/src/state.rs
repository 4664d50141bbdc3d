//! What has happened in a sandbox, as it is written to `state.json` before anybody is told.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

/// A sandbox and the latest run of each of its containers; the sandbox replaces it at each change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The sandbox's process as the host numbers it, and when it started, in clock ticks since boot.
    pub pid: i32,
    pub start_time: u64,
    /// Its folders of control groups, for whoever cleans up after it.
    pub control_groups: Vec<PathBuf>,
    pub containers: BTreeMap<String, ContainerState>,
}

/// One run of one container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerState {
    pub attempt: u32,
    /// Its first process as the host numbers it, and when it started, in clock ticks since boot.
    pub pid: i32,
    #[serde(default)]
    pub start_time: u64,
    /// RFC 3339 with nanoseconds.
    pub started: String,
    /// Absent while it runs.
    pub end: Option<End>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub finished: String,
    #[serde(flatten)]
    pub exit: Exit,
    /// The kernel killed a process of the container because its memory limit was reached.
    pub out_of_memory: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// As a shell counts: 128 and the signal's number for a killed process.
    pub code: i32,
    pub signal: Option<i32>,
}

impl Exit {
    pub(crate) fn code(code: i32) -> Self {
        Self { code, signal: None }
    }

    pub(crate) fn signal(signal: i32) -> Self {
        Self {
            code: 128 + signal,
            signal: Some(signal),
        }
    }
}

impl ContainerState {
    pub fn is_running(&self) -> bool {
        self.end.is_none()
    }
}

/// What a container uses now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time since its start.
    pub cpu_nanoseconds: u64,
    /// Memory that cannot be taken back without pain: usage less inactive page cache.
    pub memory_bytes: u64,
    pub pids: u64,
}
