//! How workflows are run on a cluster: where our program comes from, and where artifacts lie.

/// What the same workflow needs on different clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub delivery: Delivery,
    pub artifacts: Artifacts,
    /// Pods are plain processes, which have no volumes.
    pub is_plain: bool,
}

/// How our program gets into pods that need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Every node has it at this path; it is mounted there.
    HostPath(String),
    /// An image has it; an init container copies it.
    Image(String),
}

impl Default for Delivery {
    fn default() -> Self {
        Self::Image("ghcr.io/trainyard/trainyard:latest".to_owned())
    }
}

/// Where artifacts lie that no step names a place for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Artifacts {
    /// Nowhere: steps that need a place are refused.
    #[default]
    None,
    /// In a claim of the workflow's own, which is made when it is needed and goes with the workflow.
    OwnClaim {
        /// The cluster's default where none is named.
        class: Option<String>,
        size: String,
        access: String,
    },
    /// In a claim of this name in the workflow's namespace, which many pods may use at once.
    Claim(String),
}
