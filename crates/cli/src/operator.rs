//! `trainyard operator`: the training operator as a process of its own, for any Kubernetes cluster.

mod addresses;
pub(crate) mod choices;
mod election;
mod explain;
mod printed;

pub(crate) use explain::connection as explain_connection;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result};
use operator::{Connection, Definitions, GangChoice, Options, ProcessOptions, Whereabouts};
use resources::Kind;
use tokio::signal::unix::{SignalKind, signal};
use training::{Accelerators, Delivery, Settings};

use crate::{Surroundings, accelerators};

/// Look after training jobs on a Kubernetes cluster
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard operator --kubeconfig ~/.kube/config --install-definitions
                                  look after all kinds in all namespaces
  trainyard operator --namespace team-a --kinds mpijobs,pytorchjobs
                                  look after two kinds in one namespace
  trainyard operator --print-manifests --image registry/trainyard:1 | kubectl apply --server-side -f -
                                  run it in the cluster, two of it, of which one acts

Exit codes: 0 it was stopped; 2 it could not start")]
#[expect(clippy::struct_excessive_bools, reason = "a switch is given or not")]
pub(crate) struct Arguments {
    /// The cluster; otherwise that of KUBECONFIG, of the pod this runs in, or of ~/.kube/config
    #[arg(long, value_name = "FILE", alias = "kubeConfig")]
    kubeconfig: Option<PathBuf>,

    /// Files that say which cluster it is, the first of them first
    #[arg(long, hide = true, env = "KUBECONFIG", value_delimiter = ':')]
    kubeconfigs: Vec<PathBuf>,

    /// Look after the jobs of this namespace; can be given several times. Without it, of all namespaces
    #[arg(
        long = "namespace",
        value_name = "NAME",
        env = "KUBEFLOW_NAMESPACE",
        value_delimiter = ','
    )]
    namespaces: Vec<String>,

    /// Kinds of jobs: tfjobs, pytorchjobs, mxjobs, xgboostjobs, paddlejobs, jaxjobs, mpijobs, or with their
    /// group, such as mxjobs.mxnet.mlkube.io. Without it, all that the cluster has. Workflows are looked after only
    /// where they are named, as Argo's own controller may be there: workflows
    #[arg(long, value_name = "KIND", alias = "enable-scheme", value_delimiter = ',', value_parser = choices::kinds)]
    kinds: Vec<choices::Kinds>,

    /// Act only while holding the lease, so that of several operators one acts
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    leader_elect: bool,

    /// The lease
    #[arg(
        long,
        value_name = "NAME",
        default_value = LEASE,
        alias = "leader-election-id"
    )]
    lease_name: String,

    /// Where the lease is; otherwise in the namespace of this pod, or of the kubeconfig
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "MY_POD_NAMESPACE",
        alias = "lock-namespace"
    )]
    lease_namespace: Option<String>,

    /// What this process calls itself in the lease, before a part that is its own
    #[arg(long, value_name = "NAME", env = "MY_POD_NAME", hide = true)]
    identity: Option<String>,

    /// How long a leader that is not heard of is waited for
    #[arg(long, value_name = "SECONDS", default_value = "15s", value_parser = choices::seconds)]
    leader_elect_lease_duration: Duration,

    /// How long a leader acts without having renewed its lease
    #[arg(long, value_name = "SECONDS", default_value = "10s", value_parser = choices::seconds)]
    leader_elect_renew_deadline: Duration,

    /// How often the lease is looked at
    #[arg(long, value_name = "SECONDS", default_value = "2s", value_parser = choices::seconds)]
    leader_elect_retry_period: Duration,

    /// Install or update the definitions of the kinds
    #[arg(long)]
    install_definitions: bool,

    /// What containers get that ask for a resource: accelerators, their volumes and variables
    #[arg(long, value_name = "FILE", alias = "controller_config_file")]
    controller_config_file: Option<PathBuf>,

    /// The same in a ConfigMap, under the key controller_config_file.yaml
    #[arg(long, value_name = "NAMESPACE/NAME", conflicts_with = "controller_config_file",
          value_parser = choices::object)]
    controller_config_map: Option<choices::Object>,

    /// Who places the pods of a job together: volcano, none, or the name of a scheduler with the
    /// coscheduling plugin. Without it, volcano or scheduler-plugins where the cluster has them
    #[arg(long, value_name = "NAME", alias = "gang-scheduling")]
    gang_scheduler_name: Option<choices::Gang>,

    /// An image with this program, from which pods of MPI jobs, and those that wait for others, get it
    #[arg(long, value_name = "IMAGE", conflicts_with = "tools_path")]
    tools_image: Option<String>,

    /// Where every node has this program, instead of an image
    #[arg(long, value_name = "PATH")]
    tools_path: Option<String>,

    /// The domain of the cluster, for names that TensorFlow and MPI are given
    #[arg(long, value_name = "DOMAIN", env = "CUSTOM_CLUSTER_DOMAIN")]
    cluster_domain: Option<String>,

    /// So many jobs of a kind are worked on at a time
    #[arg(long, value_name = "COUNT", alias = "threadiness", value_parser = clap::value_parser!(u16).range(1..))]
    controller_threads: Option<u16>,

    /// Where Prometheus finds metrics, on this machine unless another address is given; 0 serves none
    #[arg(long, value_name = "ADDRESS:PORT", default_value = METRICS, value_parser = addresses::parse)]
    metrics_bind_address: addresses::Address,

    /// Where health is asked for; 0 serves none
    #[arg(long, value_name = "ADDRESS:PORT", default_value = HEALTH, value_parser = addresses::parse)]
    health_probe_bind_address: addresses::Address,

    /// Look after no tasks. They are looked after where the cluster has their kinds and no --namespace is given
    #[arg(long)]
    no_tasks: bool,

    /// A network that callbacks of tasks may go to beside the public ones, such as 10.0.0.0/8
    #[arg(long = "callbacks-to", value_name = "NETWORK")]
    callbacks_to: Vec<ipnet::IpNet>,

    /// Authorities, in PEM, that vouch for receivers of callbacks beside those the system trusts
    #[arg(long = "callback-ca", value_name = "FILE")]
    callback_authorities: Vec<PathBuf>,

    /// Where logs of tasks are kept when their pods are gone: a folder that the task service sees, too
    #[arg(long, value_name = "FOLDER")]
    task_logs: Option<PathBuf>,

    /// A claim in the namespaces of workflows in which artifacts lie; otherwise each workflow has one of its own
    #[arg(long, value_name = "NAME")]
    artifacts_claim: Option<String>,

    /// Print the objects by which the operator runs in a cluster, and do nothing else
    #[arg(long)]
    print_manifests: bool,

    /// The image of the operator in --print-manifests
    #[arg(long, value_name = "IMAGE", requires = "print_manifests")]
    image: Option<String>,
}

/// The lease, where nobody names another.
const LEASE: &str = "trainyard-operator";
/// The default addresses. `trainyard service` and the one of `trainyard up` have ports beside them.
const METRICS: &str = "127.0.0.1:6482";
const HEALTH: &str = "127.0.0.1:6483";
const CONFIGURATION_KEY: &str = "controller_config_file.yaml";
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let accelerators = accelerators::read(arguments.controller_config_file.as_deref())?;
    if arguments.leader_elect {
        election::check(&election::times(arguments))?;
    }
    if arguments.print_manifests {
        return printed::print(arguments);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(crate::up::workers())
        .thread_stack_size(crate::up::STACK)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(serve(arguments, surroundings, accelerators));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result.map(|()| ExitCode::SUCCESS)
}

async fn serve(arguments: &Arguments, surroundings: &Surroundings, accelerators: Accelerators) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for the stop signal")?;
    let connection = whereabouts(arguments, surroundings)
        .connect()
        .await
        .map_err(explain::connection)?;
    let mut options = options(arguments, &connection, accelerators);
    options.beside = beside(
        tasks(arguments)?,
        workflows(arguments, &options.operator.settings)?,
    );
    if let Some(object) = &arguments.controller_config_map {
        options.operator.settings.accelerators = read_config_map(&connection, object).await?;
    }
    let stop = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    // Whoever started it may have stopped reading, which is no reason to stop.
    let tell = |notice: operator::Notice| {
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout().lock(), "{notice}");
    };
    operator::run(&connection, options, stop, tell)
        .await
        .map_err(explain::process)
}

fn whereabouts(arguments: &Arguments, surroundings: &Surroundings) -> Whereabouts {
    whereabouts_of(
        arguments.kubeconfig.as_deref(),
        &arguments.kubeconfigs,
        surroundings,
    )
}

/// The cluster that a process of its own is for.
pub(crate) fn whereabouts_of(
    kubeconfig: Option<&Path>,
    kubeconfigs: &[PathBuf],
    surroundings: &Surroundings,
) -> Whereabouts {
    Whereabouts {
        kubeconfig: kubeconfig.map(Path::to_owned),
        kubeconfigs: kubeconfigs
            .iter()
            .filter(|path| !path.as_os_str().is_empty())
            .cloned()
            .collect(),
        is_pod: fs::exists(SERVICE_ACCOUNT).unwrap_or_default(),
        has_service_host: surroundings.service_host.is_some(),
        home_kubeconfig: surroundings.home.as_ref().map(|home| home.join(".kube/config")),
    }
}

fn options(arguments: &Arguments, connection: &Connection, accelerators: Accelerators) -> ProcessOptions {
    let kinds = kinds(arguments);
    let mut options = Options::new(settings(arguments, accelerators));
    if arguments.install_definitions {
        options.definitions = Definitions::Install;
    }
    options.namespaces = namespaces(arguments);
    if !arguments.kinds.is_empty() {
        options.kinds.clone_from(&kinds);
    }
    if let Some(threads) = arguments.controller_threads {
        options.workers = threads.into();
    }
    ProcessOptions {
        operator: options,
        are_kinds_named: !arguments.kinds.is_empty(),
        workflows: wants_workflows(arguments),
        gang: match &arguments.gang_scheduler_name {
            None => GangChoice::Detect,
            Some(choices::Gang(gang)) => GangChoice::Given(gang.clone()),
        },
        election: arguments
            .leader_elect
            .then(|| election::election(arguments, connection)),
        endpoints: endpoints(arguments),
        beside: None,
    }
}

/// The engine of tasks, which looks after the whole cluster or not at all: templates are the cluster's.
fn tasks(arguments: &Arguments) -> Result<Option<operator::Beside>> {
    if arguments.no_tasks || !namespaces(arguments).is_empty() {
        return Ok(None);
    }
    let options = tasks::Options {
        program: std::env::current_exe().context("cannot find this program")?,
        callbacks_to: arguments.callbacks_to.clone(),
        authorities: crate::up::read_authorities(&arguments.callback_authorities)?,
        has_autoscaler: true,
        logs: arguments.task_logs.clone(),
        installs: arguments.install_definitions,
    };
    Ok(Some(operator::Beside {
        name: "tasks",
        start: Arc::new(move |client, closing| tasks::start(client, options.clone(), closing)),
    }))
}

fn wants_workflows(arguments: &Arguments) -> bool {
    let mut kinds = arguments.kinds.iter();
    kinds.any(|kinds| matches!(kinds, choices::Kinds::Workflows))
}

fn check_workflows(arguments: &Arguments) -> Result<()> {
    if wants_workflows(arguments) && !namespaces(arguments).is_empty() {
        return Err(crate::advised(
            "workflows are looked after in the whole cluster, and --namespace names a part of it",
            "leave out either",
        ));
    }
    Ok(())
}

/// The engine of workflows, where they are named. It gives way to Argo's own controller.
fn workflows(arguments: &Arguments, settings: &Settings) -> Result<Option<operator::Beside>> {
    if !wants_workflows(arguments) {
        return Ok(None);
    }
    check_workflows(arguments)?;
    let options = pipelines::Options {
        settings: workflows::Settings {
            delivery: match &settings.delivery {
                Delivery::HostPath(path) => workflows::Delivery::HostPath(path.clone()),
                Delivery::Image(image) => workflows::Delivery::Image(image.clone()),
            },
            artifacts: match &arguments.artifacts_claim {
                Some(name) => workflows::Artifacts::Claim(name.clone()),
                // Pods of a workflow are on several nodes.
                None => workflows::Artifacts::OwnClaim {
                    class: None,
                    size: "10Gi".to_owned(),
                    access: "ReadWriteMany".to_owned(),
                },
            },
            is_plain: false,
        },
        installs: arguments.install_definitions,
        gives_way: true,
    };
    Ok(Some(operator::Beside {
        name: "workflows",
        start: Arc::new(move |client, closing| pipelines::start(client, options.clone(), closing)),
    }))
}

/// Several engines as one.
fn beside(tasks: Option<operator::Beside>, workflows: Option<operator::Beside>) -> Option<operator::Beside> {
    let (tasks, workflows) = match (tasks, workflows) {
        (Some(tasks), Some(workflows)) => (tasks, workflows),
        (one, other) => return one.or(other),
    };
    Some(operator::Beside {
        name: "tasks and workflows",
        start: Arc::new(move |client, closing| {
            let mut all = (tasks.start)(client.clone(), closing);
            let mut others = (workflows.start)(client, closing);
            all.spawn(async move { while others.join_next().await.is_some() {} });
            all
        }),
    })
}

fn kinds(arguments: &Arguments) -> Vec<&'static Kind> {
    let all = arguments.kinds.iter().flat_map(|kinds| match kinds {
        choices::Kinds::Jobs(kinds) => kinds.clone(),
        choices::Kinds::Workflows => Vec::new(),
    });
    let mut kinds: Vec<&'static Kind> = Vec::new();
    for kind in all {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

fn namespaces(arguments: &Arguments) -> Vec<String> {
    let mut names: Vec<String> = arguments.namespaces.clone();
    names.retain(|name| !name.is_empty());
    names.sort();
    names.dedup();
    names
}

fn settings(arguments: &Arguments, accelerators: Accelerators) -> Settings {
    let mut settings = Settings {
        cluster_domain: arguments
            .cluster_domain
            .clone()
            .filter(|domain| !domain.is_empty()),
        accelerators,
        ..Settings::default()
    };
    if let Some(image) = &arguments.tools_image {
        settings.delivery = Delivery::Image(image.clone());
    }
    if let Some(path) = &arguments.tools_path {
        settings.delivery = Delivery::HostPath(path.clone());
    }
    settings
}

fn endpoints(arguments: &Arguments) -> Vec<SocketAddr> {
    let mut all: Vec<SocketAddr> = [
        arguments.metrics_bind_address.0,
        arguments.health_probe_bind_address.0,
    ]
    .into_iter()
    .flatten()
    .collect();
    // The same port for both is one; ports that are picked differ.
    all.dedup_by(|one, other| one == other && one.port() != 0);
    all
}

async fn read_config_map(connection: &Connection, object: &choices::Object) -> Result<Accelerators> {
    let choices::Object { namespace, name } = object;
    let place = format!("ConfigMap {namespace}/{name}");
    let data = operator::config_map(&connection.client, namespace, name)
        .await
        .with_context(|| format!("cannot read {place}"))?;
    let text = data.get(CONFIGURATION_KEY);
    let text = text.with_context(|| format!("{place} has no key {CONFIGURATION_KEY}"))?;
    accelerators::parse(&format!("{place}, {CONFIGURATION_KEY}"), text)
}

/// The image of this program, where nobody names another.
pub(crate) fn default_image() -> String {
    match Delivery::default() {
        Delivery::Image(image) | Delivery::HostPath(image) => image,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// The arguments of an operator that is called with these words.
    pub(super) fn called(words: &[&str]) -> Result<Arguments, clap::Error> {
        let words = ["operator"].iter().chain(words);
        Command::try_parse_from(words).map(|command| command.arguments)
    }

    #[test]
    fn times_that_cannot_be_are_refused_before_any_cluster_is_asked() {
        let run = |times: &[&str]| {
            let words = [&["--kubeconfig=/nowhere"], times].concat();
            let error = super::run(&called(&words).unwrap(), &Surroundings::default());
            error.unwrap_err().to_string()
        };
        let refusal = run(&["--leader-elect-lease-duration=10s"]);
        assert!(refusal.contains("--leader-elect-renew-deadline"), "{refusal}");
        let unelected = run(&["--leader-elect-lease-duration=10s", "--leader-elect=false"]);
        assert!(unelected.contains("/nowhere"), "{unelected}");
    }
}
