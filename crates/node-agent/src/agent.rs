//! What all workers of a node share, and how the node comes up.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use containers::tier::{self, Decision, Tier};
use k8s_openapi::api::{
    core::v1::{ConfigMap, Node, Secret, Service},
    discovery::v1::EndpointSlice,
};
use kube::{Client, core::PartialObjectMeta};
use reconcile::{Informer, Informers};
use this_program::Program;
use tokio::task::JoinSet;

use crate::{
    container::{Machine, Profiles, link_own_program},
    environment::Resources,
    events::Events,
    folders::Folders,
    gpus::{Driver, Pool},
    images::Images,
    networking::Networking,
    node::{self, Facts},
    orphans,
    own_pods::OwnPods,
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
    /// Labels the node has unless somebody gives them another value.
    pub labels: BTreeMap<String, String>,
}

impl Settings {
    /// Where the API server is reached on the host's network.
    pub(crate) fn api_server_on_host(&self) -> SocketAddr {
        let mut address = self.api_server;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        address
    }
}

/// How this machine can keep pods apart, and no better than is wanted. Takes a process or two to find out.
pub fn tier_of_this_machine(wanted: Option<Tier>) -> Decision {
    let decision = tier::decide(&tier::probe());
    match wanted {
        Some(tier) => decision.at_most(tier),
        None => decision,
    }
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
    /// As `settings` names it, and as it was when this process was started.
    pub(crate) program: Program,
    /// The same as a file for containers on the image `host`.
    own_program: PathBuf,
    pub(crate) followed: Followed,
    pub(crate) tokens: Tokens,
}

/// What the node sees of the cluster.
pub(crate) struct Followed {
    pub(crate) pods: OwnPods,
    pub(crate) nodes: Informer<Node>,
    pub(crate) services: Informer<Service>,
    pub(crate) slices: Informer<EndpointSlice>,
    /// Which there are and which have changed; what is in them is fetched by the pods that need it.
    pub(crate) config_maps: Informer<PartialObjectMeta<ConfigMap>>,
    pub(crate) secrets: Informer<PartialObjectMeta<Secret>>,
}

impl Followed {
    fn new(informers: &Informers, node: &str) -> Self {
        Self {
            pods: OwnPods::new(informers.pods(), node),
            nodes: informers.nodes(),
            services: informers.services(),
            slices: informers.endpoint_slices(),
            config_maps: informers.of(),
            secrets: informers.of(),
        }
    }
}

/// Registers the node and runs the pods bound to it, until the tasks are dropped. Pods outlive that.
/// `announce` is given who answers for the node's pods.
pub fn start(
    client: Client,
    informers: &Informers,
    settings: Settings,
    announce: impl FnOnce(Arc<dyn node_api::Node>) + Send + 'static,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let followed = Followed::new(informers, &settings.node_name);
    tasks.spawn(run(client, followed, settings, announce));
    tasks
}

async fn run(
    client: Client,
    followed: Followed,
    settings: Settings,
    announce: impl FnOnce(Arc<dyn node_api::Node>) + Send + 'static,
) {
    // They end with this one.
    let mut tasks = JoinSet::new();
    let agent = Arc::new(Agent::new(client, followed, settings).await);
    announce(Arc::new(Serving::new(agent.clone())));
    tasks.spawn(node::keep_registered(agent.clone()));
    agent.networking.start(&agent.folders).await;
    tasks.spawn(service_table::keep(agent.clone()));
    tasks.spawn(crate::networking::keep(agent.clone()));
    agent.followed.pods.synced().await;
    agent.followed.services.synced().await;
    tasks.spawn(orphans::bury_all(agent.clone()));
    workers::run(agent).await;
}

impl Agent {
    async fn new(client: Client, followed: Followed, settings: Settings) -> Self {
        let tier = settings.tier.clone();
        let program = Program::at(&settings.program);
        let images = open_images(settings.clone()).await;
        let folders = Folders::new(&settings.data_dir);
        let gpus = open_gpus(&folders).await;
        let own_program = own_program(&settings, &folders);
        Self {
            events: Events::new(client.clone(), &settings.node_name),
            images,
            gpus,
            profiles: Profiles {
                folder: folders.syscall_profiles(),
            },
            facts: Facts::read(&settings.data_dir),
            networking: Networking::new(tier.tier, program.clone()),
            program,
            own_program,
            tier,
            folders,
            followed,
            tokens: Tokens::new(client.clone()),
            client,
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

    /// The program for containers on the image `host`, unless its file is gone.
    pub(crate) fn own_program(&self) -> Option<&Path> {
        Some(self.own_program.as_path()).filter(|program| program.is_file())
    }

    /// The host's own files, as they are now.
    pub(crate) async fn host_files(&self) -> HostFiles {
        let read = async |path| tokio::fs::read_to_string(path).await.unwrap_or_default();
        HostFiles {
            hosts: read("/etc/hosts").await,
            resolver: read("/etc/resolv.conf").await,
            api_server: self.settings.api_server_on_host().ip(),
        }
    }
}

/// Plain processes get a link with the name of the command, because nothing can be mounted for them.
fn own_program(settings: &Settings, folders: &Folders) -> PathBuf {
    if settings.tier.tier != Tier::Process {
        return settings.program.clone();
    }
    link_own_program(&settings.program, &folders.own_program()).unwrap_or_else(|error| {
        tracing::warn!(%error, "plain processes find `trainyard` only where the machine has it on PATH");
        settings.program.clone()
    })
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
