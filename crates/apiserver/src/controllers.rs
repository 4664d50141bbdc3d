//! The controllers that are part of the API itself: without them deletions would never end and custom
//! resources never begin.

pub mod cluster_roles;
pub mod definitions;
pub mod feed;
pub mod garbage;
pub mod namespaces;

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::api::Api;

/// Runs every controller until the set is dropped.
pub fn start(api: &Arc<Api>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(definitions::run(api.clone()));
    tasks.spawn(garbage::run(api.clone()));
    tasks.spawn(namespaces::run(api.clone()));
    tasks.spawn(cluster_roles::run(api.clone()));
    tasks
}
