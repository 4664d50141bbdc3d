//! The built-in Kubernetes controllers: each brings the world in line with one kind of object, over
//! the Kubernetes API alone. A controller is a folder: `plan` decides and is pure, the file beside
//! the folder observes and applies.

mod amounts;
mod cron_jobs;
mod daemon_sets;
mod deployments;
mod disruption_budgets;
mod endpoints;
mod ephemeral_claims;
mod evictions;
mod finished_jobs;
mod hash;
mod jobs;
mod nodes;
mod ownership;
mod pod_garbage;
mod pods;
mod replica_sets;
mod revisions;
mod stateful_sets;
mod status;
mod volumes;
mod world;

use std::sync::Arc;

use kube::Client;
use reconcile::Informers;
use tokio::task::JoinSet;

pub use volumes::{Directories, PROVISIONER};
use world::World;

/// What the machine offers to the cluster.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Without it claims of the built-in class are told that there is no place for them.
    pub directories: Option<Directories>,
}

/// Starts every controller. They run until the tasks are dropped.
pub fn start(client: Client, informers: &Informers, options: Options) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let world = Arc::new(World::new(client, informers));
    cron_jobs::start(&world, &mut tasks);
    daemon_sets::start(&world, &mut tasks);
    finished_jobs::start(&world, &mut tasks);
    jobs::start(&world, &mut tasks);
    replica_sets::start(&world, &mut tasks);
    deployments::start(&world, &mut tasks);
    endpoints::start(&world, &mut tasks);
    stateful_sets::start(&world, &mut tasks);
    evictions::start(&world, &mut tasks);
    nodes::start(&world, &mut tasks);
    pod_garbage::start(&world, &mut tasks);
    disruption_budgets::start(&world, &mut tasks);
    ephemeral_claims::start(&world, &mut tasks);
    volumes::start(&world, options.directories, &mut tasks);
    tasks
}

/// What may go wrong while applying a plan; the key is tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error("a volume's directory: {0}")]
    Directory(#[from] std::io::Error),
}

impl Error {
    /// The server's own words, as they stand in conditions and events.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Api(error) => message(error),
            Self::Directory(error) => error.to_string(),
        }
    }
}

pub(crate) fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        error => error.to_string(),
    }
}

/// Whether a write failed because its namespace goes away; then all further ones fail too.
pub(crate) fn is_namespace_terminating(status: &kube::core::Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .into_iter()
        .any(|cause| cause.reason == "NamespaceTerminating")
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;
