//! What all controllers see: one cache a kind, one client, one clock.

use std::fmt::Debug;

use k8s_openapi::api::{
    apps::v1::ReplicaSet,
    core::v1::{Pod, ReplicationController},
};
use kube::{Api, Client, Resource, runtime::watcher};
use reconcile::{Informer, Recorder};
use serde_json::Value;
use tokio::task::JoinSet;

pub(crate) struct World {
    pub client: Client,
    pub pods: Informer<Pod>,
    pub replica_sets: Informer<ReplicaSet>,
    pub replication_controllers: Informer<ReplicationController>,
}

impl World {
    pub(crate) fn new(client: Client, tasks: &mut JoinSet<()>) -> Self {
        Self {
            pods: follow(&client, tasks),
            replica_sets: follow(&client, tasks),
            replication_controllers: follow(&client, tasks),
            client,
        }
    }

    pub(crate) fn recorder(&self, controller: &'static str) -> Recorder {
        Recorder::new(self.client.clone(), controller)
    }
}

fn follow<K>(client: &Client, tasks: &mut JoinSet<()>) -> Informer<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static,
    K: serde::de::DeserializeOwned,
{
    Informer::start(Api::all(client.clone()), watcher::Config::default(), tasks)
}

/// A patch that changes the status alone.
pub(crate) fn status_patch(status: Value) -> kube::api::Patch<Value> {
    kube::api::Patch::Merge(serde_json::json!({ "status": status }))
}
