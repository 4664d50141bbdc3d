//! The controllers that are part of the API itself: without them deletions would never end and custom
//! resources never begin.

mod api_services;
pub(crate) mod cluster_roles;
pub(crate) mod definitions;
pub(crate) mod feed;
pub(crate) mod garbage;
mod ip_addresses;
pub(crate) mod namespaces;
mod own_endpoints;
pub(crate) mod quotas;
mod standing_objects;
pub(crate) mod storage_protection;
pub(crate) mod token_secrets;

use std::{net::SocketAddr, sync::Arc};

use kinds::objects::storage_protection::PROTECTIONS;
use tokio::task::JoinSet;

use self::definitions::Definitions;
use crate::api::Api;

/// Runs every controller until the set is dropped.
pub(crate) fn start(api: &Arc<Api>, listen: SocketAddr, definitions: Definitions) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(definitions::run(api.clone(), definitions));
    tasks.spawn(garbage::run(api.clone()));
    tasks.spawn(namespaces::run(api.clone()));
    tasks.spawn(quotas::run(api.clone()));
    tasks.spawn(cluster_roles::run(api.clone()));
    tasks.spawn(api_services::run(api.clone()));
    tasks.spawn(ip_addresses::run(api.clone()));
    tasks.spawn(token_secrets::run(api.clone()));
    tasks.spawn(own_endpoints::run(api.clone(), listen));
    tasks.spawn(standing_objects::run(api.clone(), listen));
    for protection in &PROTECTIONS {
        tasks.spawn(storage_protection::run(api.clone(), protection));
    }
    tasks.spawn(crate::admission::policies::status::run(api.clone()));
    tasks
}
