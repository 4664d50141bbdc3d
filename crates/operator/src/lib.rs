//! The training operator: makes of training jobs what `training` decides, over the Kubernetes API alone,
//! on the embedded cluster and on any other.
//!
//! All kinds go through one loop: `observe` → `training::plan` → `apply`.

mod apply;
mod controller;
mod definitions;
mod deployment;
mod fallen;
mod launched;
mod metrics;
mod milestones;
mod observe;
mod pod_groups;
mod pods_first;
mod process;
mod rights;
mod seen;
mod ssh_key;
mod stages;
mod stored_job;
mod world;

use std::sync::Arc;

use kube::Client;
use resources::Kind;
use tokio::task::JoinSet;
use training::Settings;

pub use definitions::install_all;
pub use deployment::{Configuration, Deployment, manifests};
pub use metrics::Metrics;
pub use process::{
    Beside, ConnectError, Connection, Election, GangChoice, ListenError, Notice, ProcessError,
    ProcessOptions, Times, Whereabouts, run,
};
pub use reconcile::{Closing, requests::config_map};
use world::World;

/// The field manager of everything the operator applies.
pub(crate) const MANAGER: &str = "trainyard-operator";

/// What the operator looks after, and how.
#[derive(Clone, Debug)]
pub struct Options {
    pub settings: Settings,
    pub kinds: Vec<&'static Kind>,
    pub definitions: Definitions,
    /// Each is looked after for itself; without any it is the whole cluster.
    pub namespaces: Vec<String>,
    /// So many jobs of a kind are worked on at a time.
    pub workers: usize,
}

impl Options {
    /// All kinds in all namespaces.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            kinds: resources::kinds::ALL.to_vec(),
            definitions: Definitions::Await,
            namespaces: Vec::new(),
            workers: controller::WORKERS,
        }
    }
}

/// Who sees to it that the cluster knows the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definitions {
    /// The operator, when it starts.
    Install,
    /// Somebody else; the operator waits for them.
    Await,
}

/// Starts the operator. It acts until the tasks are dropped; after a word by `closing` they finish what
/// they have begun and end by themselves.
pub fn start(client: Client, options: Options, metrics: &Metrics, closing: &Closing) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let settings = Arc::new(options.settings);
    let namespaces: Vec<Option<String>> = if options.namespaces.is_empty() {
        vec![None]
    } else {
        options.namespaces.into_iter().map(Some).collect()
    };
    for namespace in namespaces {
        let world = Arc::new(World::new(client.clone(), namespace, settings.gang.clone()));
        for kind in &options.kinds {
            let start = controller::Start {
                kind,
                definitions: options.definitions,
                world: world.clone(),
                settings: settings.clone(),
                workers: options.workers,
                metrics: metrics.clone(),
                closing: closing.clone(),
            };
            tasks.spawn(start.follow());
        }
    }
    tasks
}
