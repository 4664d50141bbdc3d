//! What pods and nodes use, for `kubectl top` and those who scale by it.

use std::time::Duration;

use jiff::Timestamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time per second over the window, in nanoseconds.
    pub cpu_nanocores: u64,
    /// Memory that cannot be taken back without pain (the working set).
    pub memory_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodUsage {
    pub namespace: String,
    pub name: String,
    /// The end of the window the processor time was measured over.
    pub measured: Timestamp,
    pub window: Duration,
    pub containers: Vec<ContainerUsage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerUsage {
    pub name: String,
    pub usage: Usage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeUsage {
    pub measured: Timestamp,
    pub window: Duration,
    pub usage: Usage,
}
