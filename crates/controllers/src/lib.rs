//! The built-in Kubernetes controllers: each brings the world in line with one kind of object, over
//! the Kubernetes API alone. A controller is a folder: `plan` decides and is pure, the file beside
//! the folder observes and applies.

mod pods;
mod replica_sets;
mod world;

use std::sync::Arc;

use kube::Client;
use tokio::task::JoinSet;

use world::World;

/// Starts every controller. They run until the tasks are dropped.
pub fn start(client: Client) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let world = Arc::new(World::new(client, &mut tasks));
    replica_sets::start(&world, &mut tasks);
    tasks
}

/// What may go wrong while applying a plan; the key is tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Api(#[from] kube::Error),
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;
