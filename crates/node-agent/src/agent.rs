//! What all workers of a node share, and how the node comes up.

use std::{
    fmt::Debug,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use containers::tier::{self, Decision, Tier};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret, Service};
use kube::{Api, Client, Resource, core::PartialObjectMeta, runtime::watcher};
use reconcile::Informer;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use crate::{
    container::{Machine, Profiles},
    environment::Resources,
    events::Events,
    folders::Folders,
    gpus::{Driver, Pool},
    images::Images,
    networking::Networking,
    node::{self, Facts},
    orphans,
    sandbox::HostFiles,
    service_table,
    serving::Serving,
    volumes::Tokens,
    workers,
};

/// What the agent has to know of its surroundings.
#[derive(Clone, Debug)]
pub struct Settings {
    pub node_name: String,
    pub data_dir: PathBuf,
    /// The program of sandboxes and of the network: this one.
    pub program: PathBuf,
    /// The user's own folder, which pods on the host's file system do not see.
    pub home: Option<PathBuf>,
    /// Every image stands for this machine's own file system.
    pub host_images: bool,
    /// Authorities, in PEM, that vouch for image registries beside those the system trusts.
    pub registry_authorities: Vec<u8>,
    /// Where the API server listens.
    pub api_server: SocketAddr,
    /// How pods are kept apart.
    pub tier: Decision,
}

/// How this machine can keep pods apart, and no better than is wanted. Takes a process or two to find out.
pub fn tier_of_this_machine(wanted: Option<Tier>) -> Decision {
    let decision = tier::decide(&tier::probe());
    match wanted {
        Some(tier) => decision.at_most(tier),
        None => decision,
    }
}

/// The API as the users a node is known by.
#[derive(Clone)]
pub struct Clients {
    pub node: Client,
    /// The part that makes services reachable.
    pub proxy: Client,
}

pub(crate) struct Agent {
    pub(crate) settings: Settings,
    pub(crate) client: Client,
    pub(crate) events: Events,
    pub(crate) folders: Folders,
    pub(crate) images: Images,
    /// None where the driver cannot be asked.
    pub(crate) gpus: Option<Pool>,
    pub(crate) profiles: Profiles,
    pub(crate) tier: Decision,
    pub(crate) facts: Facts,
    pub(crate) networking: Networking,
    pub(crate) pods: Informer<Pod>,
    /// This node itself, as the API has it.
    pub(crate) node: Informer<Node>,
    pub(crate) services: Informer<Service>,
    /// Which there are and which have changed; what is in them is fetched by the pods that need it.
    pub(crate) config_maps: Informer<PartialObjectMeta<ConfigMap>>,
    pub(crate) secrets: Informer<PartialObjectMeta<Secret>>,
    pub(crate) tokens: Tokens,
}

/// Registers the node and runs the pods bound to it, until the tasks are dropped. Pods outlive that.
/// `announce` is given who answers for the node's pods.
pub fn start(
    clients: Clients,
    settings: Settings,
    announce: impl FnOnce(Arc<dyn node_api::Node>) + Send + 'static,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(run(clients, settings, announce));
    tasks
}

async fn run(
    clients: Clients,
    settings: Settings,
    announce: impl FnOnce(Arc<dyn node_api::Node>) + Send + 'static,
) {
    // Everything that is followed ends with this task.
    let mut tasks = JoinSet::new();
    let agent = Arc::new(Agent::new(&clients, settings, &mut tasks).await);
    announce(Arc::new(Serving::new(agent.clone())));
    tasks.spawn(node::keep_registered(agent.clone()));
    agent.networking.start(&agent.folders).await;
    tasks.spawn(service_table::keep(agent.clone(), clients.proxy));
    tasks.spawn(crate::networking::keep(agent.clone()));
    agent.pods.synced().await;
    agent.services.synced().await;
    tasks.spawn(orphans::bury_all(agent.clone()));
    workers::run(agent).await;
}

impl Agent {
    async fn new(clients: &Clients, settings: Settings, tasks: &mut JoinSet<()>) -> Self {
        let client = clients.node.clone();
        let on_this_node =
            watcher::Config::default().fields(&format!("spec.nodeName={}", settings.node_name));
        let pods = Informer::start(Api::all(client.clone()), on_this_node, tasks);
        let only_this_node =
            watcher::Config::default().fields(&format!("metadata.name={}", settings.node_name));
        let node = Informer::start(Api::all(client.clone()), only_this_node, tasks);
        let tier = settings.tier.clone();
        let images = open_images(settings.clone()).await;
        let folders = Folders::new(&settings.data_dir);
        let gpus = open_gpus(&folders).await;
        Self {
            events: Events::new(client.clone(), &settings.node_name),
            images,
            gpus,
            profiles: Profiles {
                folder: folders.syscall_profiles(),
            },
            facts: Facts::read(&settings.data_dir),
            networking: Networking::new(tier.tier, &settings.program),
            tier,
            folders,
            services: follow_all(&client, tasks),
            config_maps: follow_all(&client, tasks),
            secrets: follow_all(&client, tasks),
            tokens: Tokens::new(client.clone()),
            client,
            pods,
            node,
            settings,
        }
    }

    /// The address of the node on the host's network.
    pub(crate) fn address(&self) -> IpAddr {
        self.facts.address
    }

    pub(crate) fn machine(&self) -> Machine {
        Machine {
            memory_bytes: self.facts.memory_bytes,
        }
    }

    pub(crate) fn allocatable(&self) -> Resources {
        self.facts.resources()
    }

    /// The host's own files, as they are now.
    pub(crate) async fn host_files(&self) -> HostFiles {
        let read = async |path| tokio::fs::read_to_string(path).await.unwrap_or_default();
        HostFiles {
            hosts: read("/etc/hosts").await,
            resolver: read("/etc/resolv.conf").await,
        }
    }
}

fn follow_all<K>(client: &Client, tasks: &mut JoinSet<()>) -> Informer<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    Informer::start(Api::all(client.clone()), watcher::Config::default(), tasks)
}

/// Opening the images takes some reading, and trying how they can be mounted.
async fn open_images(settings: Settings) -> Images {
    match tokio::task::spawn_blocking(move || Images::open(settings)).await {
        Ok(images) => images,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

async fn open_gpus(folders: &Folders) -> Option<Pool> {
    match Pool::open(Driver::of_host(), &folders.gpu_leases(), false).await {
        Ok(pool) => Some(pool),
        Err(error) => {
            tracing::error!(%error, "GPUs cannot be used");
            None
        }
    }
}
