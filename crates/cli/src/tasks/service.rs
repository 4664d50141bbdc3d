//! `trainyard service`: the task service as a process of its own, for any Kubernetes cluster.

use std::{fs, net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context as _, Result};
use operator::Whereabouts;
use service::{Deployment, Rate};
use tokio::signal::unix::{SignalKind, signal};

use crate::{Advised, Surroundings, operator as operator_command};

/// Serve templates, definitions and tasks over HTTP for a Kubernetes cluster
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard service --kubeconfig ~/.kube/config --listen 127.0.0.1:6481
                                  serve the cluster of a kubeconfig on this machine
  trainyard service --kubeconfig ~/.kube/config --admin-token-file token
                                  the same, with a token of the service's own that may do everything
  trainyard service --kubeconfig ~/.kube/config --task-logs /srv/task-logs
                                  with logs of pods that are gone, kept by `trainyard operator --task-logs`
  trainyard service --print-manifests --image registry/trainyard:1 | kubectl apply --server-side -f -
                                  run it in the cluster, two of it, of which each answers

It speaks HTTP without TLS; in a cluster an ingress is in front of it.
Users send tokens of the service (`trainyard token create`) or of the cluster, whose rights on tasks,
taskdefinitions, tasktemplates and callbackdeliveries of trainyard.dev then count.

Exit codes: 0 it was stopped; 2 it could not start")]
pub(crate) struct Arguments {
    /// The cluster; otherwise that of KUBECONFIG, of the pod this runs in, or of ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Files that say which cluster it is, the first of them first
    #[arg(long, hide = true, env = "KUBECONFIG", value_delimiter = ':')]
    kubeconfigs: Vec<PathBuf>,

    /// Address to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6481")]
    listen: SocketAddr,

    /// Where the service keeps tokens and the audit log
    #[arg(long, value_name = "NAMESPACE", default_value = service::SYSTEM_NAMESPACE)]
    system_namespace: String,

    /// Make a token that may do everything, and write it into this file; one that is there is kept
    #[arg(long, value_name = "FILE")]
    admin_token_file: Option<PathBuf>,

    /// So many changes a second one user may make; 0 sets no limit
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    writes_per_second: u32,

    /// So many reads a second one user may make; 0 sets no limit
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    reads_per_second: u32,

    /// So long records of changes are kept
    #[arg(long, value_name = "DAYS", default_value_t = 90)]
    audit_days: u32,

    /// Where the operator keeps logs of tasks whose pods are gone, with its own `--task-logs`: show those, too
    #[arg(long, value_name = "FOLDER", conflicts_with = "print_manifests")]
    task_logs: Option<PathBuf>,

    /// Print the objects by which the service runs in a cluster, and do nothing else
    #[arg(long)]
    print_manifests: bool,

    /// The image of the service in --print-manifests
    #[arg(long, value_name = "IMAGE", requires = "print_manifests")]
    image: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    if arguments.print_manifests {
        print_manifests(arguments);
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(crate::up::workers())
        .thread_stack_size(crate::up::STACK)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(serve(arguments, surroundings));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result.map(|()| ExitCode::SUCCESS)
}

async fn serve(arguments: &Arguments, surroundings: &Surroundings) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for the stop signal")?;
    let connection = whereabouts(arguments, surroundings)
        .connect()
        .await
        .map_err(operator_command::explain_connection)?;
    let client = connection.client.clone();
    if let Some(file) = &arguments.admin_token_file {
        AdminToken::new(client.clone(), arguments.system_namespace.clone(), file.clone())
            .keep()
            .await?;
    }
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut options = service::Options::new(arguments.listen, program);
    options.system_namespace.clone_from(&arguments.system_namespace);
    options.reads = Rate::per_second(arguments.reads_per_second);
    options.writes = Rate::per_second(arguments.writes_per_second);
    options.audit_days = arguments.audit_days;
    options.logs.clone_from(&arguments.task_logs);
    if let Some(folder) = arguments.task_logs.as_deref().filter(|folder| !folder.is_dir()) {
        tracing::warn!(
            folder = %folder.display(),
            "there is no folder of kept logs yet; the operator makes it with `--task-logs`"
        );
    }
    let running = service::start(client, options).await.map_err(|error| {
        let message = error.to_string();
        let hint = "choose another address with `--listen ADDRESS:PORT`; port 0 picks a free one".to_owned();
        anyhow::Error::from(error).context(Advised { message, hint })
    })?;
    tell(&format!(
        "the task service of {} answers on http://{}",
        connection.address,
        running.address()
    ));
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tell("stopping");
    running.stop().await;
    Ok(())
}

/// Whoever started it may have stopped reading, which is no reason to stop.
fn tell(words: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout().lock(), "{words}");
}

/// A file with a token that may do everything, readable by its owner only.
pub(crate) struct AdminToken {
    client: kube::Client,
    namespace: String,
    file: PathBuf,
    /// One that was made and could not be written: nobody needs a second.
    made: Option<String>,
}

impl AdminToken {
    pub(crate) fn new(client: kube::Client, namespace: String, file: PathBuf) -> Self {
        Self {
            client,
            namespace,
            file,
            made: None,
        }
    }

    /// Sees to it that the file has one that holds.
    pub(crate) async fn keep(&mut self) -> Result<()> {
        let written = fs::read_to_string(&self.file).ok();
        let written = written.as_deref().map(str::trim);
        let known = self.made.as_deref().or(written);
        let token = service::admin_token(self.client.clone(), &self.namespace, known).await?;
        if written == Some(&*token) {
            return Ok(());
        }
        let text = format!("{token}\n");
        self.made = Some(token);
        crate::kubeconfig::write_private(&self.file, &text)
    }
}

fn whereabouts(arguments: &Arguments, surroundings: &Surroundings) -> Whereabouts {
    operator_command::whereabouts_of(
        arguments.kubeconfig.as_deref(),
        &arguments.kubeconfigs,
        surroundings,
    )
}

fn print_manifests(arguments: &Arguments) {
    let mut further = Vec::new();
    let mut add = |name: &str, value: u32, usual: u32| {
        if value != usual {
            further.push(format!("--{name}={value}"));
        }
    };
    add("writes-per-second", arguments.writes_per_second, 500);
    add("reads-per-second", arguments.reads_per_second, 1000);
    add("audit-days", arguments.audit_days, 90);
    let objects = service::manifests(&Deployment {
        namespace: arguments.system_namespace.clone(),
        image: arguments
            .image
            .clone()
            .unwrap_or_else(operator_command::default_image),
        arguments: further,
    });
    for object in objects {
        println!("---\n{}", manifests::yaml::to_string(&object).trim_end());
    }
}
