//! `trainyard serve`: a model behind gRPC and HTTP.

mod external;

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde_json::json;
use serving::{Options, Policy, Running, ServerFiles, StartError};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{Answer, Output, advised};

/// Serve a model, a TensorFlow SavedModel or one in ONNX, over gRPC and HTTP, as TensorFlow Serving does
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard trainer --export-dir ./models/digits && trainyard serve ./models/digits
                                  train a small model and serve it
  trainyard serve ./models/digits --listen 0.0.0.0 --name digits
                                  for other machines, under a name
  mkdir -p ./models/mnist/1 && cp model.onnx ./models/mnist/1/ && trainyard serve ./models/mnist
                                  a model in ONNX, as PyTorch and others export it
  trainyard serve ./models/digits --listen 0.0.0.0 --tls-cert tls.crt --tls-key tls.key
                                  over TLS; with --tls-client-ca, only to those with a certificate
  trainyard serve ./models/digits --versions 2 --version-label stable=3
                                  the two highest versions, one of them under a label
  trainyard serve ./models/large --server-program tensorflow_model_server
                                  by another server, for what is not supported here
  curl localhost:8501/v1/models/digits
  curl -d '{\"instances\": [[0.0, 1.0]]}' localhost:8501/v1/models/NAME:predict

MODEL_DIR has a folder for each version, named by its number, with a SavedModel (saved_model.pb) or a model.onnx.
The highest is served; a higher one that appears is loaded, tried and takes over while requests go on. One that is
damaged is refused, and the one before stays. Certificate files are read again when they change.

Every port answers TensorFlow Serving's gRPC and REST APIs, the Open Inference Protocol v2 (gRPC and REST),
gRPC's health checks, /healthz, /readyz and /metrics.

Exit codes: 0 it was stopped; 2 it could not start, or no version can be served")]
pub(crate) struct Arguments {
    /// The folder with the versions of the model
    #[arg(value_name = "MODEL_DIR", env = "MODEL_DIR")]
    model_dir: PathBuf,

    /// What clients call the model; otherwise the name of the folder
    #[arg(long, value_name = "NAME", env = "MODEL_NAME", alias = "model_name")]
    name: Option<String>,

    /// Address to listen on; 0.0.0.0 is every one of this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    listen: IpAddr,

    /// Port to listen on; can be given several times; 0 picks a free one
    #[arg(long = "port", value_name = "PORT", default_values_t = [8500, 8501])]
    ports: Vec<u16>,

    /// Speak TLS on every port, with the certificate in this file, followed by those between it and its authority
    #[arg(long, value_name = "FILE", help_heading = "TLS", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The key of that certificate, in PEM and not encrypted
    #[arg(long, value_name = "FILE", help_heading = "TLS", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Answer only those with a certificate of one of the authorities in this file of PEM
    #[arg(long, value_name = "FILE", help_heading = "TLS", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,

    /// So many of the highest versions are served
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    versions: u16,

    /// Serve every version there is
    #[arg(long, conflicts_with_all = ["versions", "only"])]
    all_versions: bool,

    /// Serve this version and no other; can be given several times
    #[arg(
        long = "only-version",
        id = "only",
        value_name = "VERSION",
        conflicts_with = "versions"
    )]
    only: Vec<u64>,

    /// A name for a version; can be given several times
    #[arg(long = "version-label", value_name = "LABEL=VERSION", value_parser = label)]
    labels: Vec<(String, u64)>,

    /// Only this signature is needed; can be given several times. Without it, all of the model must be supported
    #[arg(long = "signature", value_name = "NAME")]
    signatures: Vec<String>,

    /// Listen even where there is no version that can be served, and wait for one
    #[arg(long)]
    wait: bool,

    /// How often versions, and changes of certificates, are looked for
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    poll_interval: f64,

    /// Threads that compute; otherwise as many as there are cores
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    workers: Option<u16>,

    /// Rows of several requests that are answered together; 1 answers each alone
    #[arg(long, value_name = "ROWS", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    max_batch: u32,

    /// Requests that may wait; what comes on top is asked to come again
    #[arg(long, value_name = "COUNT", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    max_queue: u32,

    /// The largest request
    #[arg(long, value_name = "MEGABYTES", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=2047))]
    max_request: u32,

    /// How long open requests get to end when the server is stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    grace: u64,

    /// Run this server instead and answer for it on the same ports; it is started again whenever it ends
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = OF_OUR_OWN)]
    server_program: Option<String>,

    /// What that server is told, after `--`: {grpc_port}, {rest_port}, {model_name} and {model_dir} stand for what
    /// they say; otherwise the options of TensorFlow Serving
    #[arg(last = true, value_name = "WORD", requires = "server_program")]
    server_words: Vec<String>,

    /// How long that server gets until it can be asked
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 300,
        requires = "server_program"
    )]
    start_timeout: u64,

    #[command(flatten)]
    answer: Answer,
}

/// Options that mean nothing to another server.
const OF_OUR_OWN: [&str; 10] = [
    "versions",
    "all_versions",
    "only",
    "labels",
    "signatures",
    "poll_interval",
    "workers",
    "max_batch",
    "max_queue",
    "max_request",
];

fn label(text: &str) -> Result<(String, u64), String> {
    let wrong = || "a label and a version are meant, such as stable=3".to_owned();
    let (label, version) = text.split_once('=').ok_or_else(wrong)?;
    let version = version.parse().map_err(|_| wrong())?;
    if label.is_empty() {
        return Err(wrong());
    }
    Ok((label.to_owned(), version))
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0.01 on is meant".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(crate::up::workers())
        .thread_stack_size(crate::up::STACK)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(serve(arguments));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result.map(|()| ExitCode::SUCCESS)
}

async fn serve(arguments: &Arguments) -> Result<()> {
    let mut stopped = Stopped {
        interrupt: signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?,
        terminate: signal(SignalKind::terminate()).context("cannot listen for the stop signal")?,
    };
    if let Some(program) = &arguments.server_program {
        return external::serve(arguments, program, &mut stopped).await;
    }
    let options = options(arguments)?;
    let name = options.name.clone();
    let running = tokio::select! {
        running = serving::start(options) => running.map_err(explained)?,
        // A large model takes a while; nobody must wait for it to stop.
        () = stopped.wait() => return Ok(()),
    };
    tell(&started(arguments, &name, &running));
    stopped.wait().await;
    if arguments.answer.output == Output::Text {
        tell("stopping");
    }
    running.stop().await;
    Ok(())
}

/// The signals by which it is stopped.
struct Stopped {
    interrupt: Signal,
    terminate: Signal,
}

impl Stopped {
    async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Whoever started it may have stopped reading, which is no reason to stop.
fn tell(words: &str) {
    use std::io::Write as _;
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{words}").and_then(|()| stdout.flush());
}

fn named(arguments: &Arguments, base: &Path) -> Result<String> {
    let name = arguments.name.clone().or_else(|| serving::model_name(base));
    name.filter(|name| !name.is_empty()).ok_or_else(|| {
        advised(
            format!("`{}` has no name that a model could have", base.display()),
            "give one with --name",
        )
    })
}

/// Where the certificates are; clap sees to it that there are both files or none.
fn tls(arguments: &Arguments) -> Option<ServerFiles> {
    Some(ServerFiles {
        certificate: arguments.tls_cert.clone()?,
        key: arguments.tls_key.clone()?,
        client_authorities: arguments.tls_client_ca.clone(),
    })
}

fn options(arguments: &Arguments) -> Result<Options> {
    let base = std::path::absolute(&arguments.model_dir)
        .with_context(|| format!("`{}` is no path", arguments.model_dir.display()))?;
    let name = named(arguments, &base)?;
    let addresses = arguments
        .ports
        .iter()
        .map(|port| SocketAddr::new(arguments.listen, *port));
    let mut options = Options::new(base, name, addresses.collect());
    options.tls = tls(arguments);
    options.policy = if arguments.all_versions {
        Policy::All
    } else if arguments.only.is_empty() {
        Policy::Latest(arguments.versions.into())
    } else {
        Policy::Only(arguments.only.iter().copied().collect())
    };
    options.labels = BTreeMap::from_iter(arguments.labels.clone());
    options.signatures.clone_from(&arguments.signatures);
    options.waits = arguments.wait;
    options.interval = Duration::from_secs_f64(arguments.poll_interval);
    options.limits.rows = arguments.max_batch as usize;
    options.limits.waiting = arguments.max_queue as usize;
    if let Some(workers) = arguments.workers {
        options.limits.workers = workers.into();
    }
    options.most_bytes = (arguments.max_request as usize) << 20;
    options.grace = Duration::from_secs(arguments.grace);
    Ok(options)
}

fn started(arguments: &Arguments, name: &str, running: &Running) -> String {
    let addresses: Vec<String> = running.addresses().iter().map(ToString::to_string).collect();
    let versions = running.versions();
    if arguments.answer.output == Output::Json {
        let versions = versions.iter().map(|status| {
            json!({
                "version": status.version,
                "state": status.state.name(),
                "error": status.error,
            })
        });
        let block = json!({
            "model": name,
            "addresses": addresses,
            "tls": arguments.tls_cert.is_some(),
            "versions": versions.collect::<Vec<_>>(),
        });
        return format!("{block:#}");
    }
    let mut words = String::new();
    for status in &versions {
        words += &match &status.error {
            None => format!(
                "version {} of `{name}` is {}\n",
                status.version,
                status.state.name().to_lowercase()
            ),
            Some(why) => format!("version {} of `{name}` is refused: {why}\n", status.version),
        };
    }
    words
        + &format!(
            "the model `{name}` answers gRPC and {} on {}",
            protocol(arguments),
            addresses.join(" and ")
        )
}

fn protocol(arguments: &Arguments) -> &'static str {
    if arguments.tls_cert.is_some() {
        "HTTPS"
    } else {
        "HTTP"
    }
}

fn explained(error: StartError) -> anyhow::Error {
    let hint = match &error {
        StartError::Folder { .. } => "MODEL_DIR is the folder with the versions of a model",
        StartError::NoVersions { .. } => {
            "export a model there (`trainyard trainer --export-dir DIR` makes one), or wait for one with --wait"
        }
        StartError::NotWanted { .. } => "--only-version names one of them; without it the highest is served",
        StartError::NothingToServe { .. } => {
            "docs/serving.md lists what is supported; --signature NAME serves a part of a model, --server-program another server"
        }
        StartError::Listen { .. } => "choose other ports with --port, such as --port 0 for any that is free",
        StartError::Unwilling { .. } => {
            "what it said is above; what it is told can be given after `--`, and more time with --start-timeout"
        }
        StartError::Tls(_) => {
            "--tls-cert and --tls-key name files of PEM that belong together, as `kubectl create secret tls` takes them"
        }
        StartError::Thread(_) => return error.into(),
    };
    let words = error.to_string();
    anyhow::Error::from(error).context(crate::Advised {
        message: words,
        hint: hint.to_owned(),
    })
}
