//! The training operator: makes of training jobs what `training` decides, over the Kubernetes API alone,
//! on the embedded cluster and on any other.
//!
//! All kinds go through one loop: `observe` → `training::plan` → `apply`.

mod apply;
mod controller;
mod definitions;
mod observe;
mod requests;
mod seen;
mod ssh_key;
mod stored_job;
mod world;

use std::sync::Arc;

use kube::Client;
use resources::Kind;
use tokio::task::JoinSet;
use training::Settings;

use world::World;

/// What the operator looks after, and how.
#[derive(Clone, Debug)]
pub struct Options {
    pub settings: Settings,
    pub kinds: Vec<&'static Kind>,
    pub definitions: Definitions,
    /// All namespaces, where there is none.
    pub namespace: Option<String>,
}

/// Who sees to it that the cluster knows the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definitions {
    /// The operator, when it starts.
    Install,
    /// Somebody else; the operator waits for them.
    Await,
}

/// Starts the operator. It acts until the tasks are dropped.
pub fn start(client: Client, options: Options) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let world = Arc::new(World::new(client, options.namespace, &mut tasks));
    let settings = Arc::new(options.settings);
    for kind in options.kinds {
        tasks.spawn(controller::follow(
            kind,
            options.definitions,
            world.clone(),
            settings.clone(),
        ));
    }
    tasks
}
