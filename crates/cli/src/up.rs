//! `trainyard up`: starts the embedded cluster.

use std::{ffi::OsString, io::Write as _, net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context as _, Result};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

use crate::{
    Advised, Surroundings, accelerators,
    data_dir::{self, ClusterDir, DataDir, pasteable},
    detach,
    instance::Instance,
    kubeconfig,
    lock::Lock,
    log, tasks,
};

/// Start the embedded cluster: a Kubernetes API on this machine, and pods that are its processes
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard up                    start here, stop with Ctrl-C
  trainyard up --detach           start in the background, stop with `trainyard down`
  trainyard up --data-dir /tmp/try --listen 127.0.0.1:0
                                  a throw-away cluster on a free port

Exit codes: 0 the cluster was stopped, or runs with --detach; 2 it could not start")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Arguments {
    #[command(flatten)]
    data_dir: DataDir,

    /// Address to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6443", value_parser = socket_address)]
    listen: SocketAddr,

    /// Start without the stored records that fail their checksum, after setting a copy of the
    /// store aside
    #[arg(long)]
    drop_damaged: bool,

    /// Return when the cluster is ready, and leave it running
    #[arg(long)]
    detach: bool,

    /// Serve the API and nothing else: no controllers, no scheduler, no pods
    #[arg(long)]
    api_only: bool,

    /// Where containers find their file system; `host` is this machine's own, whatever image they name
    #[arg(long, value_name = "WHERE", value_enum, default_value_t)]
    images: Images,

    /// Certificate authorities, in PEM, that vouch for image registries beside those the system trusts
    #[arg(long = "registry-ca", value_name = "FILE")]
    registry_authorities: Vec<PathBuf>,

    /// StorageClass whose volumes are directories on this machine; the first is the default.
    /// A name that manifests ask for, such as `aws-efs`, can be one of them
    #[arg(long = "storage-class", value_name = "NAME", default_value = "standard")]
    storage_classes: Vec<String>,

    /// Nodes beside this machine that run pods as timers, to try how a large cluster is scheduled
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    simulated_nodes: usize,

    /// What each simulated node has besides 32 CPUs, 256Gi of memory and 110 pods, or instead of it:
    /// `nvidia.com/gpu=8`
    #[arg(long = "simulated-capacity", value_name = "RESOURCE=AMOUNT", value_parser = capacity)]
    simulated_capacity: Vec<(String, String)>,

    /// What containers of training jobs get that ask for a resource: accelerators, their volumes and variables
    #[arg(long, value_name = "FILE")]
    controller_config_file: Option<PathBuf>,

    /// Leave training jobs to another operator, which brings their kinds: one that is tried, or an original
    #[arg(long, conflicts_with = "controller_config_file")]
    no_operator: bool,

    /// Leave workflows to another controller, which brings their kinds: Argo's own
    #[arg(long)]
    no_pipelines: bool,

    /// Where the task service listens: templates, definitions and tasks over HTTP [default:
    /// 127.0.0.1:6480, or a free port where that is taken]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = socket_address)]
    service_listen: Option<SocketAddr>,

    /// So many changes a second one user of the task service may make, and twice as many reads; 0 sets no limit
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    service_rate: u32,

    /// Serve no tasks over HTTP
    #[arg(long, conflicts_with = "service_listen")]
    no_service: bool,

    /// Keep pods apart no better than this, though the machine allows it: how to try what other machines do
    #[arg(long, value_name = "TIER", value_enum, hide = true)]
    tier: Option<Tier>,

    /// The file that standard error is, which the server keeps small: how `--detach` starts it
    #[arg(long, value_name = "FILE", hide = true)]
    log: Option<PathBuf>,
}

/// How pods are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Tier {
    Rootless,
    Process,
}

impl From<Tier> for cluster::Tier {
    fn from(tier: Tier) -> Self {
        match tier {
            Tier::Rootless => Self::Rootless,
            Tier::Process => Self::Process,
        }
    }
}

fn capacity(text: &str) -> Result<(String, String), String> {
    let (resource, amount) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not of the form RESOURCE=AMOUNT"))?;
    kinds::quantity::Quantity::parse(amount).map_err(|_| format!("`{amount}` is not an amount"))?;
    Ok((resource.to_owned(), amount.to_owned()))
}

/// What the name of an image means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Images {
    /// An image; the name `host` alone stands for this machine's file system
    #[default]
    Named,
    /// This machine's own file system, read-only
    Host,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let dir = arguments.data_dir.resolve(surroundings)?;
    data_dir::prepare(&dir.path)?;
    if arguments.detach {
        let instance = detach::start(&dir, &background_arguments(arguments))?;
        print_ready(&instance, &dir, &format!("`{}`", dir.command("down")));
        return Ok(ExitCode::SUCCESS);
    }
    let lock = Lock::take(&dir)?;
    if let Some(log) = &arguments.log {
        log::keep_small(log);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers())
        .thread_stack_size(STACK)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(serve(&dir, arguments, surroundings));
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    drop(lock);
    result
}

/// The stack of a thread. Documents and expressions may nest some hundred levels, everything that walks them recurses, and
/// a build without optimisation takes several times the stack of others. Only what is used of it takes memory.
pub(crate) const STACK: usize = 32 << 20;

/// Enough threads to answer while one is busy; more would only cost memory.
pub(crate) fn workers() -> usize {
    std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8))
}

async fn serve(dir: &ClusterDir, arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for the stop signal")?;
    raise_file_limit();
    let options = cluster::Options {
        data_dir: dir.path.clone(),
        listen: arguments.listen,
        drop_damaged: arguments.drop_damaged,
        node: (!arguments.api_only)
            .then(|| node(arguments, surroundings))
            .transpose()?,
    };
    let mut running = cluster::start(options).await.map_err(explain)?;
    let address = format!("https://{}", reachable(running.address()));
    kubeconfig::write(&dir.path, &address, running.ca_pem(), running.admin_token())?;
    let mut instance = Instance::new(&dir.path, &address, running.tier());
    if !(arguments.api_only || arguments.no_service) {
        let started = start_service(&mut running, dir, arguments).await?;
        instance.service = Some(format!("http://{}", started.address));
        if !started.has_token {
            instance.late.push("the token of the task service".to_owned());
        }
    }
    instance
        .late
        .extend(running.late().iter().map(ToString::to_string));
    instance.write(&dir.path)?;
    print_ready(&instance, dir, "Ctrl-C");
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    let _ = writeln!(std::io::stderr(), "stopping");
    running.stop().await;
    Instance::remove(&dir.path);
    Ok(ExitCode::SUCCESS)
}

/// A task service that answers.
struct Started {
    address: SocketAddr,
    has_token: bool,
}

/// The task service, and a token for whoever may read the cluster's directory.
async fn start_service(
    running: &mut cluster::Cluster,
    dir: &ClusterDir,
    arguments: &Arguments,
) -> Result<Started> {
    const USUAL: u16 = 6480;
    let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
    // Where any port will do for the cluster it does for its service.
    let usual = if arguments.listen.port() == 0 { 0 } else { USUAL };
    let mut options = cluster::ServiceOptions::new(
        arguments.service_listen.unwrap_or_else(|| local(usual)),
        program()?,
    );
    options.otherwise = arguments.service_listen.is_none().then(|| local(0));
    options.writes = service::Rate::per_second(arguments.service_rate);
    options.reads = service::Rate::per_second(arguments.service_rate * 2);
    options.logs = Some(cluster::task_logs(&dir.path));
    options.awaits_templates = true;
    let namespace = options.system_namespace.clone();
    let is_tried = keep_token(running.service_client(), namespace, tasks::token_file(&dir.path));
    let has_token = tokio::time::timeout(TOKEN_PATIENCE, is_tried).await;
    Ok(Started {
        address: running.start_service(options).await?,
        has_token: has_token.is_ok_and(|kept| kept == Ok(true)),
    })
}

/// Tries until the admin's token is in its file; tells when it has been tried once whether it is. Where a disk has no
/// room, or the machine no time, everything else works already.
fn keep_token(client: kube::Client, namespace: String, file: PathBuf) -> oneshot::Receiver<bool> {
    let (tried, is_tried) = oneshot::channel();
    tokio::spawn(async move {
        let mut waiting = Some(tried);
        let mut token = tasks::service::AdminToken::new(client, namespace, file);
        loop {
            let kept = token.keep().await;
            if let Some(waiting) = waiting.take() {
                // Whoever waits may have lost their patience.
                let _ = waiting.send(kept.is_ok());
            }
            let Err(error) = kept else { return };
            tracing::warn!(
                error = format!("{error:#}"),
                "the task service has no token for its admin yet"
            );
            tokio::time::sleep(TOKEN_AGAIN).await;
        }
    });
    is_tried
}

/// So long the cluster is not said to be ready because of a token.
const TOKEN_PATIENCE: Duration = Duration::from_secs(3);
const TOKEN_AGAIN: Duration = Duration::from_secs(5);

/// Its name: pods that want it find it by that, a cluster goes on without (crate `this-program`).
fn program() -> Result<PathBuf> {
    std::env::current_exe().context("cannot find this program")
}

fn node(arguments: &Arguments, surroundings: &Surroundings) -> Result<cluster::Node> {
    let program = program()?;
    Ok(cluster::Node {
        program,
        home: surroundings.home.clone(),
        host_images: arguments.images == Images::Host,
        registry_authorities: read_authorities(&arguments.registry_authorities)?,
        storage_classes: arguments.storage_classes.clone(),
        simulated: simulated(arguments),
        tier: arguments.tier.map(cluster::Tier::from),
        operator: (!arguments.no_operator)
            .then(|| accelerators::read(arguments.controller_config_file.as_deref()))
            .transpose()?,
        pipelines: !arguments.no_pipelines,
    })
}

pub(crate) fn read_authorities(files: &[PathBuf]) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for file in files {
        let text = std::fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        all.extend(text);
        all.push(b'\n');
    }
    Ok(all)
}

fn simulated(arguments: &Arguments) -> Option<cluster::SimulatedNodes> {
    let count = arguments.simulated_nodes;
    let mut nodes = cluster::SimulatedNodes::of(count);
    nodes
        .capacity
        .extend(arguments.simulated_capacity.iter().cloned());
    (count > 0).then_some(nodes)
}

/// The address under which clients on this machine reach the server.
fn reachable(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        SocketAddr::from(([127, 0, 0, 1], address.port()))
    } else {
        address
    }
}

/// Every watch of a client without HTTP/2 is a connection: take as many as the system gives.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}

/// The first thing users read: where the cluster is, what to do with it, and how to stop it.
fn print_ready(instance: &Instance, dir: &ClusterDir, stop: &str) {
    let text = format!(
        "Trainyard is ready

  address     {address}
  kubeconfig  {kubeconfig}
{service}{late}
Try:
  export KUBECONFIG={pasteable}
  kubectl get namespaces
  {status}

Stop it with {stop}; what it stores stays.
",
        address = instance.address,
        kubeconfig = instance.kubeconfig.display(),
        service = instance
            .service
            .as_ref()
            .map(|address| format!(
                "  service     {address} (token in {})\n",
                tasks::token_file(&dir.path).display()
            ))
            .unwrap_or_default(),
        late = late(&instance.late),
        pasteable = pasteable(&instance.kubeconfig),
        status = dir.command("status"),
    );
    // Whoever started the server may have stopped reading, which is no reason to stop serving.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// What is promised and not there yet, on a machine that has no time or no room for it.
fn late(what: &[String]) -> String {
    if what.is_empty() {
        return String::new();
    }
    format!("  not yet     {} (still being made)\n", what.join(", "))
}

fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "an address in numbers and a port are meant, such as 127.0.0.1:6443 or [::1]:0".to_owned()
    })
}

fn explain(error: cluster::StartError) -> anyhow::Error {
    use cluster::StartError;
    let hint: Option<String> = match &error {
        StartError::Listen { address, source } if source.kind() == std::io::ErrorKind::AddrInUse => {
            Some(format!(
                "another program listens there; `--listen {}:0` picks a free port",
                address.ip()
            ))
        }
        StartError::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrNotAvailable => {
            Some("the address does not belong to this machine".to_owned())
        }
        StartError::Listen { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            Some("ports below 1024 need privileges; choose a higher one".to_owned())
        }
        StartError::Store(error) if error.is_partial() => Some(
            "nothing was changed; restore a copy of the file, or leave these records out with `--drop-damaged`, which sets a copy aside"
                .to_owned(),
        ),
        StartError::Store(error) => {
            let advice = error.hint().unwrap_or("choose another data directory");
            Some(format!("nothing was changed; {advice}"))
        }
        _ => None,
    };
    match hint {
        Some(hint) => {
            let message = error.to_string();
            anyhow::Error::from(error).context(Advised { message, hint })
        }
        None => error.into(),
    }
}

/// What `--detach` passes on to the server proper.
fn background_arguments(arguments: &Arguments) -> Vec<OsString> {
    let mut all: Vec<OsString> = vec!["--listen".into(), arguments.listen.to_string().into()];
    all.extend(arguments.drop_damaged.then(|| "--drop-damaged".into()));
    all.extend(arguments.api_only.then(|| "--api-only".into()));
    all.extend(arguments.no_operator.then(|| "--no-operator".into()));
    all.extend(arguments.no_pipelines.then(|| "--no-pipelines".into()));
    all.extend(arguments.no_service.then(|| "--no-service".into()));
    if let Some(address) = arguments.service_listen {
        all.extend(["--service-listen".into(), address.to_string().into()]);
    }
    all.extend(["--service-rate".into(), arguments.service_rate.to_string().into()]);
    if arguments.images == Images::Host {
        all.extend(["--images".into(), "host".into()]);
    }
    for file in &arguments.registry_authorities {
        all.extend(["--registry-ca".into(), file.into()]);
    }
    for class in &arguments.storage_classes {
        all.extend(["--storage-class".into(), class.into()]);
    }
    if let Some(file) = &arguments.controller_config_file {
        all.extend(["--controller-config-file".into(), file.into()]);
    }
    if let Some(tier) = arguments.tier {
        all.extend(["--tier".into(), cluster::Tier::from(tier).name().into()]);
    }
    if arguments.simulated_nodes > 0 {
        all.extend([
            "--simulated-nodes".into(),
            arguments.simulated_nodes.to_string().into(),
        ]);
    }
    for (resource, amount) in &arguments.simulated_capacity {
        all.extend([
            "--simulated-capacity".into(),
            format!("{resource}={amount}").into(),
        ]);
    }
    all
}
