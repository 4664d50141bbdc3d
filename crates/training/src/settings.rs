//! What the operator was told once and what holds for all jobs.

use crate::Accelerators;

#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Appended to the names TensorFlow and MPI workers are given (`CUSTOM_CLUSTER_DOMAIN`).
    pub cluster_domain: Option<String>,
    pub gang: Gang,
    pub delivery: Delivery,
    pub accelerators: Accelerators,
}

/// Who places the pods of a job together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Gang {
    /// Nobody: each pod for itself.
    #[default]
    None,
    /// The embedded scheduler, by annotations of the pods.
    Embedded,
    /// Volcano, by its PodGroup.
    Volcano,
    /// The coscheduling plugin, by its PodGroup.
    SchedulerPlugins {
        /// The scheduler that has the plugin.
        scheduler: String,
    },
}

/// How our own program reaches the containers that need it: the MPI remote shell, and waiting for
/// peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The node has it at this path; it is mounted.
    HostPath(String),
    /// An image has it; an init container copies it.
    Image(String),
}

impl Default for Delivery {
    fn default() -> Self {
        Self::Image("ghcr.io/trainyard/trainyard:latest".to_owned())
    }
}
