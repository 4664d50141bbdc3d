//! What the operator sees of a cluster beside the jobs themselves.

use k8s_openapi::api::{
    autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::Job,
    core::v1::{ConfigMap, Pod, Secret, Service, ServiceAccount},
    rbac::v1::{Role, RoleBinding},
};
use kube::{Api, Client, runtime::watcher};
use reconcile::Informer;
use tokio::task::JoinSet;

use crate::seen::{Seen, Watched};

pub(crate) struct World {
    pub client: Client,
    pub namespace: Option<String>,
    pub accounts: Informer<Seen<ServiceAccount>>,
    pub autoscalers: Informer<Seen<HorizontalPodAutoscaler>>,
    pub config_maps: Informer<Seen<ConfigMap>>,
    pub jobs: Informer<Seen<Job>>,
    pub pods: Informer<Seen<Pod>>,
    pub role_bindings: Informer<Seen<RoleBinding>>,
    pub roles: Informer<Seen<Role>>,
    pub secrets: Informer<Seen<Secret>>,
    pub services: Informer<Seen<Service>>,
}

impl World {
    pub(crate) fn new(client: Client, namespace: Option<String>, tasks: &mut JoinSet<()>) -> Self {
        Self {
            accounts: informer(&client, namespace.as_deref(), tasks),
            autoscalers: informer(&client, namespace.as_deref(), tasks),
            config_maps: informer(&client, namespace.as_deref(), tasks),
            jobs: informer(&client, namespace.as_deref(), tasks),
            pods: informer(&client, namespace.as_deref(), tasks),
            role_bindings: informer(&client, namespace.as_deref(), tasks),
            roles: informer(&client, namespace.as_deref(), tasks),
            secrets: informer(&client, namespace.as_deref(), tasks),
            services: informer(&client, namespace.as_deref(), tasks),
            client,
            namespace,
        }
    }

    /// Resolves when everything that was there at the start is known.
    pub(crate) async fn synced(&self) {
        self.accounts.synced().await;
        self.autoscalers.synced().await;
        self.config_maps.synced().await;
        self.jobs.synced().await;
        self.pods.synced().await;
        self.role_bindings.synced().await;
        self.roles.synced().await;
        self.secrets.synced().await;
        self.services.synced().await;
    }
}

fn informer<K: Watched>(
    client: &Client,
    namespace: Option<&str>,
    tasks: &mut JoinSet<()>,
) -> Informer<Seen<K>> {
    let api = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    Informer::start(api, watcher::Config::default(), tasks)
}
