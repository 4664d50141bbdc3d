//! What the operator sees of a cluster beside the jobs themselves.

use k8s_openapi::api::{
    autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::Job,
    core::v1::{ConfigMap, Pod, Secret, Service, ServiceAccount},
    rbac::v1::{Role, RoleBinding},
};
use kube::Client;
use reconcile::{Informer, Unread, by_protobuf};
use tokio::task::JoinSet;
use training::Gang;

use crate::{
    fallen::Fallen,
    launched::Launched,
    pod_groups::{PluginsGroup, VolcanoGroup},
    seen::{Seen, Watched},
};

pub(crate) struct World {
    pub client: Client,
    pub namespace: Option<String>,
    pub accounts: Informer<Seen<ServiceAccount>>,
    pub autoscalers: Informer<Seen<HorizontalPodAutoscaler>>,
    pub config_maps: Informer<Seen<ConfigMap>>,
    pub fallen: Fallen,
    pub jobs: Informer<Seen<Job>>,
    pub launched: Launched,
    pub plugins_groups: Informer<Seen<PluginsGroup>>,
    pub pods: Informer<Seen<Pod>>,
    pub role_bindings: Informer<Seen<RoleBinding>>,
    pub roles: Informer<Seen<Role>>,
    pub secrets: Informer<Seen<Secret>>,
    pub services: Informer<Seen<Service>>,
    pub volcano_groups: Informer<Seen<VolcanoGroup>>,
    gang: Gang,
    _watches: JoinSet<()>,
}

impl World {
    pub(crate) fn new(client: Client, namespace: Option<String>, gang: Gang) -> Self {
        let mut watches = JoinSet::new();
        let mut view = View {
            client: &client,
            namespace: namespace.as_deref(),
            watches: &mut watches,
        };
        let pods = view.follow();
        Self {
            fallen: Fallen::follow(&pods),
            launched: Launched::follow(&pods),
            accounts: view.follow(),
            autoscalers: view.follow(),
            config_maps: view.follow(),
            jobs: view.follow(),
            plugins_groups: view.follow_if(matches!(gang, Gang::SchedulerPlugins { .. })),
            pods,
            role_bindings: view.follow(),
            roles: view.follow(),
            secrets: view.follow(),
            services: view.follow(),
            volcano_groups: view.follow_if(gang == Gang::Volcano),
            gang,
            client,
            namespace,
            _watches: watches,
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
        match self.gang {
            Gang::None | Gang::Embedded => {}
            Gang::Volcano => self.volcano_groups.synced().await,
            Gang::SchedulerPlugins { .. } => self.plugins_groups.synced().await,
        }
    }
}

/// What is followed, and by whom.
struct View<'a> {
    client: &'a Client,
    namespace: Option<&'a str>,
    watches: &'a mut JoinSet<()>,
}

impl View<'_> {
    fn follow<K: Watched>(&mut self) -> Informer<Seen<K>> {
        let client = by_protobuf(self.client, K::UNREAD);
        let api = Unread::of::<K>(client, &(), self.namespace);
        Informer::start(api, self.watches)
    }

    /// A kind that not every cluster has.
    fn follow_if<K: Watched>(&mut self, is_there: bool) -> Informer<Seen<K>> {
        if is_there {
            self.follow()
        } else {
            Informer::detached()
        }
    }
}
