//! What all controllers see: one cache a kind, one client, one clock.

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
use kube::Client;
use reconcile::{Informer, Informers, Recorder};
use serde_json::Value;

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
    pub(crate) fn new(client: Client, informers: &Informers) -> Self {
        Self {
            cron_jobs: informers.of(),
            daemon_sets: informers.of(),
            jobs: informers.of(),
            pods: informers.pods(),
            deployments: informers.of(),
            replica_sets: informers.of(),
            replication_controllers: informers.of(),
            stateful_sets: informers.of(),
            controller_revisions: informers.of(),
            claims: informers.claims(),
            volumes: informers.volumes(),
            storage_classes: informers.storage_classes(),
            services: informers.services(),
            endpoints: informers.of(),
            endpoint_slices: informers.endpoint_slices(),
            nodes: informers.nodes(),
            disruption_budgets: informers.disruption_budgets(),
            leases: informers.of(),
            client,
        }
    }

    pub(crate) fn recorder(&self, controller: &'static str) -> Recorder {
        Recorder::new(self.client.clone(), controller)
    }
}

/// A patch that changes the status alone.
pub(crate) fn status_patch(status: Value) -> kube::api::Patch<Value> {
    kube::api::Patch::Merge(serde_json::json!({ "status": status }))
}
