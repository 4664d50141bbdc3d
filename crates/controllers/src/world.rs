//! What all controllers see: one cache a kind, one client, one clock.

use std::fmt::Debug;

use k8s_openapi::api::{
    apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet},
    batch::v1::{CronJob, Job},
    coordination::v1::Lease,
    core::v1::{
        Endpoints, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service,
    },
    discovery::v1::EndpointSlice,
    policy::v1::PodDisruptionBudget,
    storage::v1::StorageClass,
};
use kube::{Api, Client, Resource, runtime::watcher};
use reconcile::{Informer, Recorder};
use serde_json::Value;
use tokio::task::JoinSet;

pub(crate) struct World {
    pub client: Client,
    pub cron_jobs: Informer<CronJob>,
    pub daemon_sets: Informer<DaemonSet>,
    pub jobs: Informer<Job>,
    pub pods: Informer<Pod>,
    pub deployments: Informer<Deployment>,
    pub replica_sets: Informer<ReplicaSet>,
    pub replication_controllers: Informer<ReplicationController>,
    pub stateful_sets: Informer<StatefulSet>,
    pub controller_revisions: Informer<ControllerRevision>,
    pub claims: Informer<PersistentVolumeClaim>,
    pub volumes: Informer<PersistentVolume>,
    pub storage_classes: Informer<StorageClass>,
    pub services: Informer<Service>,
    pub endpoints: Informer<Endpoints>,
    pub endpoint_slices: Informer<EndpointSlice>,
    pub nodes: Informer<Node>,
    pub disruption_budgets: Informer<PodDisruptionBudget>,
    pub leases: Informer<Lease>,
}

impl World {
    pub(crate) fn new(client: Client, tasks: &mut JoinSet<()>) -> Self {
        Self {
            cron_jobs: follow(&client, tasks),
            daemon_sets: follow(&client, tasks),
            jobs: follow(&client, tasks),
            pods: follow(&client, tasks),
            deployments: follow(&client, tasks),
            replica_sets: follow(&client, tasks),
            replication_controllers: follow(&client, tasks),
            stateful_sets: follow(&client, tasks),
            controller_revisions: follow(&client, tasks),
            claims: follow(&client, tasks),
            volumes: follow(&client, tasks),
            storage_classes: follow(&client, tasks),
            services: follow(&client, tasks),
            endpoints: follow(&client, tasks),
            endpoint_slices: follow(&client, tasks),
            nodes: follow(&client, tasks),
            disruption_budgets: follow(&client, tasks),
            leases: Informer::start(
                Api::namespaced(client.clone(), "kube-node-lease"),
                watcher::Config::default(),
                tasks,
            ),
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
