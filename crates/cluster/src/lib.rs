//! From options to a running embedded cluster: the API server, and the engines that make it one, each
//! of them a client of that API with the rights it would have on any other cluster.

mod identities;
mod parts;
mod thrift;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use kube::Client;
use reconcile::Informers;
use tokio::task::JoinSet;

pub use apiserver::StartError;
pub use node_agent::{
    Decision, Leftovers, NETWORK_IS_STARTING, PART_FAILING, Tier, image_ownership, leave_nothing_running,
    network_process, sandbox_process,
};
pub use service::{Options as ServiceOptions, StartError as ServiceError};
pub use simulated_nodes::Options as SimulatedNodes;

/// So long the cluster is not said to be ready because of the training kinds.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the task service waits for.
const TEMPLATES: &str = "task templates";

/// Where the cluster keeps its state, where it listens, and what of it runs.
#[derive(Clone, Debug)]
pub struct Options {
    pub data_dir: PathBuf,
    pub listen: SocketAddr,
    /// Starts without the stored records that fail their checksum, instead of not at all.
    pub drop_damaged: bool,
    /// What runs pods on this machine; without it there is an API and nothing that acts on it.
    pub node: Option<Node>,
}

/// This machine as the cluster's node.
#[derive(Clone, Debug)]
pub struct Node {
    /// This program, which is the one of sandboxes and of the network as well.
    pub program: PathBuf,
    /// The user's own folder, which pods on the host's file system do not see.
    pub home: Option<PathBuf>,
    /// Every image stands for this machine's own file system.
    pub host_images: bool,
    /// Authorities, in PEM, that vouch for image registries beside those the system trusts.
    pub registry_authorities: Vec<u8>,
    /// Names of StorageClasses whose volumes are directories here; the first is the default.
    pub storage_classes: Vec<String>,
    /// Nodes beside this one that run pods as timers.
    pub simulated: Option<SimulatedNodes>,
    /// How well pods are kept apart, if not as well as the machine allows.
    pub tier: Option<Tier>,
    /// The training operator, with what containers get that ask for a resource; none where another looks
    /// after training jobs.
    pub operator: Option<training::Accelerators>,
    /// Whether workflows are looked after here, and not by Argo's controller.
    pub pipelines: bool,
}

/// A cluster that is up.
pub struct Cluster {
    server: apiserver::Running,
    engines: Engines,
    tier: Option<Decision>,
    service: Option<service::Service>,
    /// What was not there in time.
    late: Vec<&'static str>,
    _thrift: JoinSet<()>,
}

/// Controllers, scheduler, node agent and training operator; they end when they are dropped.
#[derive(Default)]
struct Engines {
    tasks: Vec<JoinSet<()>>,
    /// What all of them see of the cluster.
    _informers: Option<Arc<Informers>>,
}

/// Starts everything. When this returns the API is ready and has every kind but those that are late; engines get
/// ready in the background.
pub async fn start(options: Options) -> Result<Cluster, StartError> {
    let server = Box::pin(apiserver::start(apiserver::Options {
        data_dir: options.data_dir.clone(),
        listen: options.listen,
        drop_damaged: options.drop_damaged,
        limits: apiserver::Limits::default(),
    }))
    .await?;
    let mut cluster = Cluster {
        server,
        engines: Engines::default(),
        tier: None,
        service: None,
        late: Vec::new(),
        _thrift: thrift::start(),
    };
    if let Some(node) = options.node {
        let definitions = async {
            match node.operator {
                Some(_) => know_kinds(&cluster.server).await,
                None => operator::Definitions::Await,
            }
        };
        let (tier, definitions, knows_tasks, knows_workflows) = tokio::join!(
            find_tier(node.tier),
            definitions,
            know_tasks(&cluster.server),
            know_workflows(&cluster.server, node.pipelines),
        );
        let is_late = [
            (
                matches!(definitions, operator::Definitions::Install),
                "the kinds of training jobs",
            ),
            (!knows_tasks, TEMPLATES),
            (!knows_workflows, "the kinds of workflows"),
        ];
        let late = is_late.into_iter().filter(|(is_late, _)| *is_late);
        cluster.late.extend(late.map(|(_, what)| what));
        cluster.engines = start_engines(&cluster.server, options.data_dir, node, tier.clone(), definitions);
        cluster.tier = Some(tier);
    }
    Ok(cluster)
}

/// A way to the API as somebody.
fn client(server: &apiserver::Running, user: apiserver::User) -> Client {
    Client::new(apiserver::InProcess::new(server.api.clone(), user), "default")
}

async fn find_tier(wanted: Option<Tier>) -> Decision {
    match tokio::task::spawn_blocking(move || node_agent::tier_of_this_machine(wanted)).await {
        Ok(tier) => tier,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

/// Whoever is told that the cluster is ready may submit a training job at once. Where that cannot be, as on
/// a disk without room, the operator goes on trying and everything else works.
async fn know_kinds(server: &apiserver::Running) -> operator::Definitions {
    let operator = client(server, identities::operator());
    let installed = operator::install_all(&operator, &resources::kinds::ALL);
    match tokio::time::timeout(PATIENCE, installed).await {
        Ok(()) => operator::Definitions::Await,
        Err(_) => operator::Definitions::Install,
    }
}

/// The same for tasks, and for the templates and node groups that every cluster begins with; the engine installs what
/// took too long. Whether they are there.
async fn know_tasks(server: &apiserver::Running) -> bool {
    let client = client(server, identities::tasks());
    let installed = async {
        tasks::install(&client).await;
        tasks::install_objects(&client).await
    };
    match tokio::time::timeout(PATIENCE, Box::pin(installed)).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::warn!(%error, "templates and node groups cannot be made yet");
            false
        }
        Err(_) => false,
    }
}

/// The same for workflows, where they are looked after.
async fn know_workflows(server: &apiserver::Running, are_wanted: bool) -> bool {
    if !are_wanted {
        return true;
    }
    let client = client(server, identities::pipelines());
    let installed = pipelines::install(&client);
    tokio::time::timeout(PATIENCE, Box::pin(installed)).await.is_ok()
}

/// How workflows are run here: this program is on the machine pods are on, and artifacts lie in a volume of it.
fn pipeline_options(program: &Path, tier: Tier) -> pipelines::Options {
    // Plain processes have no volumes.
    let is_plain = tier == Tier::Process;
    pipelines::Options {
        settings: workflows::Settings {
            delivery: workflows::Delivery::HostPath(program.to_string_lossy().into_owned()),
            artifacts: if is_plain {
                workflows::Artifacts::None
            } else {
                workflows::Artifacts::OwnClaim {
                    class: None,
                    size: "10Gi".to_owned(),
                    access: "ReadWriteOnce".to_owned(),
                }
            },
            is_plain,
        },
        installs: true,
        gives_way: false,
    }
}

/// How tasks are looked after here: callbacks may go to this machine, and nobody adds nodes.
fn task_options(data_dir: &Path, node: &Node) -> tasks::Options {
    let this_machine = ["127.0.0.0/8", "::1/128"];
    tasks::Options {
        program: node.program.clone(),
        callbacks_to: this_machine
            .into_iter()
            .filter_map(|network| network.parse().ok())
            .collect(),
        authorities: Vec::new(),
        has_autoscaler: false,
        logs: Some(task_logs(data_dir)),
        installs: true,
    }
}

/// Where logs of tasks are kept when their pods are gone.
pub fn task_logs(data_dir: &Path) -> PathBuf {
    data_dir.join("task-logs")
}

/// What the default node groups go by: this machine is of both.
fn group_labels() -> BTreeMap<String, String> {
    let yes = |label: &str| (label.to_owned(), "true".to_owned());
    [yes(tasks::LABEL_ML), yes(tasks::LABEL_DL)].into()
}

fn start_engines(
    server: &apiserver::Running,
    data_dir: PathBuf,
    node: Node,
    tier: Decision,
    definitions: operator::Definitions,
) -> Engines {
    let client = |user| client(server, user);
    let (own, options) = (client(identities::tasks()), task_options(&data_dir, &node));
    let tasks = parts::keep("the task engine", move || {
        tasks::start(own.clone(), options.clone(), &reconcile::Closing::default())
    });
    let directories = controllers::Directories {
        root: data_dir.join("volumes"),
        node: Some(node_agent::name_of_this_machine()),
        classes: node.storage_classes,
    };
    let operator = node.operator.map(|accelerators| {
        let mut options = operator::Options::new(training_settings(&node.program, accelerators));
        options.definitions = definitions;
        let metrics = operator::Metrics::default();
        let told = metrics.clone();
        server.api.metrics.add(move || told.text());
        let own = client(identities::operator());
        parts::keep("the training operator", move || {
            operator::start(
                own.clone(),
                options.clone(),
                &metrics,
                &operator::Closing::default(),
            )
        })
    });
    let pipelines = node.pipelines.then(|| {
        let own = client(identities::pipelines());
        let options = pipeline_options(&node.program, tier.tier);
        parts::keep("the pipelines controller", move || {
            pipelines::start(own.clone(), options.clone(), &reconcile::Closing::default())
        })
    });
    let settings = node_agent::Settings {
        node_name: node_agent::name_of_this_machine(),
        data_dir,
        program: node.program,
        home: node.home,
        host_images: node.host_images,
        registry_authorities: node.registry_authorities,
        api_server: server.address,
        tier,
        labels: group_labels(),
    };
    // Of all engines the controllers see the most; the others look through their eyes.
    let informers = Arc::new(Informers::new(client(identities::controllers())));
    let node_client = client(identities::node(&settings.node_name));
    let (api, name) = (server.api.clone(), settings.node_name.clone());
    let offered = controllers::Options {
        directories: Some(directories),
    };
    let simulated = node
        .simulated
        .map(|mut options| {
            options.labels.extend(group_labels());
            options
        })
        .map(|options| simulated_nodes::start(client(identities::simulated_nodes()), &informers, options));
    let engines = [
        tasks,
        {
            let informers = informers.clone();
            parts::keep("the node agent", move || {
                let (api, name) = (api.clone(), name.clone());
                let announce = move |node| api.register_node(&name, node);
                node_agent::start(node_client.clone(), &informers, settings.clone(), announce)
            })
        },
        {
            let (own, informers) = (client(identities::scheduler()), informers.clone());
            parts::keep("the scheduler", move || scheduler::start(own.clone(), &informers))
        },
        {
            let (own, informers) = (client(identities::controllers()), informers.clone());
            parts::keep("the built-in controllers", move || {
                controllers::start(own.clone(), &informers, offered.clone())
            })
        },
    ];
    Engines {
        tasks: engines
            .into_iter()
            .chain(operator)
            .chain(pipelines)
            .chain(simulated)
            .collect(),
        _informers: Some(informers),
    }
}

/// How the embedded cluster's operator makes jobs: pods are on the machine this program is on, and placed
/// by the scheduler beside it.
pub fn training_settings(program: &Path, accelerators: training::Accelerators) -> training::Settings {
    training::Settings {
        gang: training::Gang::Embedded,
        delivery: training::Delivery::HostPath(program.to_string_lossy().into_owned()),
        accelerators,
        ..training::Settings::default()
    }
}

impl Cluster {
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// The cluster's certificate authority, in PEM form.
    pub fn ca_pem(&self) -> &str {
        self.server.ca_pem()
    }

    /// How pods are kept apart; none where there are none.
    pub fn tier(&self) -> Option<&Decision> {
        self.tier.as_ref()
    }

    /// The token of the administrator.
    pub fn admin_token(&self) -> &str {
        self.server.admin_token()
    }

    /// What this promises and was not there in time; somebody goes on trying.
    pub fn late(&self) -> &[&'static str] {
        &self.late
    }

    /// A way to the API as the task service.
    pub fn service_client(&self) -> Client {
        client(&self.server, identities::service())
    }

    /// Starts the task service, and says where it is: once it knows the cluster, unless that takes long.
    pub async fn start_service(&mut self, options: ServiceOptions) -> Result<SocketAddr, ServiceError> {
        let service = service::start(self.service_client(), options).await?;
        let address = service.address();
        if tokio::time::timeout(PATIENCE, service.known()).await.is_ok() {
            self.late.retain(|what| *what != TEMPLATES);
        }
        self.service = Some(service);
        Ok(address)
    }

    /// Ends the service and the engines, then the API. Pods go on; the next start finds them.
    pub async fn stop(self) {
        if let Some(service) = self.service {
            service.stop().await;
        }
        for mut tasks in self.engines.tasks {
            tasks.shutdown().await;
        }
        self.server.stop().await;
    }
}
