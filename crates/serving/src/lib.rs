//! Models behind gRPC and HTTP. The server answers clients of TensorFlow Serving and of the Open Inference Protocol
//! from SavedModels; the client measures any server that speaks TensorFlow Serving's gRPC. They share the messages.

mod app;
pub mod bench;
mod body;
mod catalogue;
mod compression;
mod examples;
mod external;
mod failure;
mod folder;
mod grpc;
mod loader;
mod metrics;
mod open_inference;
pub mod proto;
mod queue;
mod rest;
mod server;
mod tls;
mod trial;
mod versions;
mod warm_up;

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use saved_model::Wanted;
use tokio::{
    sync::{oneshot, watch},
    task::JoinSet,
    time::timeout,
};

use crate::{
    app::{App, Memory},
    catalogue::{Catalogue, Wishes},
    loader::{Loader, Order},
    metrics::Metrics,
    queue::Queue,
    server::{Front, Sockets},
};

pub use catalogue::{State, VersionStatus};
pub use external::{External, ExternalRunning, start as start_external};
pub use failure::{Code, Failure};
pub use folder::model_name;
pub use queue::Limits;
pub use tls::{ClientFiles, ClientTls, ServerFiles, TlsError};
pub use versions::Policy;

/// What to serve, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder with the versions.
    pub base: PathBuf,
    /// What clients call the model.
    pub name: String,
    pub listen: Vec<SocketAddr>,
    /// Every address speaks TLS.
    pub tls: Option<ServerFiles>,
    pub policy: Policy,
    pub labels: BTreeMap<String, u64>,
    /// The signatures that must be supported; none: all of the model.
    pub signatures: Vec<String>,
    /// How often versions and certificates are looked for.
    pub interval: Duration,
    /// Serve from the start, and wait for a version that can be served.
    pub waits: bool,
    pub limits: Limits,
    /// Bytes of one request.
    pub most_bytes: usize,
    /// How long open requests get to end when the server stops.
    pub grace: Duration,
}

impl Options {
    pub fn new(base: PathBuf, name: String, listen: Vec<SocketAddr>) -> Self {
        let cores = thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            base,
            name,
            listen,
            tls: None,
            policy: Policy::Latest(1),
            labels: BTreeMap::new(),
            signatures: Vec::new(),
            interval: Duration::from_secs(1),
            waits: false,
            limits: Limits {
                waiting: 1024,
                rows: 256,
                workers: cores,
            },
            most_bytes: 256 << 20,
            grace: Duration::from_secs(20),
        }
    }
}

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("`{folder}` is no folder that can be read")]
    Folder {
        folder: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("`{folder}` has no version of a model: no folder whose name is a number, and no saved_model.pb")]
    NoVersions { folder: PathBuf },
    #[error("`{folder}` has none of the versions that are wanted, but {}", numbers(found))]
    NotWanted { folder: PathBuf, found: Vec<u64> },
    #[error("no version of the model in `{folder}` can be served: {}", told(refused))]
    NothingToServe {
        folder: PathBuf,
        refused: Vec<VersionStatus>,
    },
    #[error("cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        cause: io::Error,
    },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the server `{program}` {what}")]
    Unwilling { program: String, what: String },
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

fn numbers(versions: &[u64]) -> String {
    let each: Vec<String> = versions.iter().map(u64::to_string).collect();
    each.join(", ")
}

fn told(refused: &[VersionStatus]) -> String {
    let each = refused.iter().filter_map(|status| {
        let why = status.error.as_ref()?;
        Some(format!("version {}: {why}", status.version))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// A server that runs until it is stopped or dropped.
pub struct Running {
    app: Arc<App>,
    addresses: Vec<SocketAddr>,
    stop: watch::Sender<bool>,
    servers: JoinSet<()>,
    workers: Vec<JoinHandle<()>>,
    grace: Duration,
}

/// Listens, loads what is there, and returns once it answers; or, where it waits for a version, at once.
pub async fn start(options: Options) -> Result<Running, StartError> {
    let base = options.base.clone();
    folder::versions(&base).map_err(|cause| StartError::Folder {
        folder: base.clone(),
        cause,
    })?;
    let sockets = Sockets::open(&options.listen, options.tls).await?;
    let metrics = Arc::new(Metrics::new());
    let (orders, receiver) = mpsc::channel();
    let app = Arc::new(App {
        catalogue: Arc::new(Catalogue::new(
            options.name,
            Wishes {
                policy: options.policy,
                labels: options.labels,
            },
        )),
        base: base.clone(),
        loader: orders,
        queue: Queue::new(options.limits, metrics.clone()),
        metrics,
        is_stopping: AtomicBool::new(false),
        most_bytes: options.most_bytes,
        memory: Memory::new(options.most_bytes.saturating_mul(4)),
    });
    let workers = app.queue.start().map_err(StartError::Thread)?;
    let (stop, stopped) = watch::channel(false);
    let addresses = sockets.addresses();
    let front = Front::Model(app.clone());
    let servers = sockets.serve(&front, &stopped, options.interval, options.grace);
    let loader = Loader {
        base: base.clone(),
        wanted: if options.signatures.is_empty() {
            Wanted::All
        } else {
            Wanted::Named(options.signatures)
        },
        interval: options.interval,
        catalogue: app.catalogue.clone(),
        refusals: BTreeMap::new(),
    };
    let (first, looked) = oneshot::channel();
    thread::Builder::new()
        .name("model-loader".to_owned())
        .spawn(move || {
            let told = || {
                // Whoever started it may not wait for this.
                let _ = first.send(());
            };
            loader.run(told, &receiver);
        })
        .map_err(StartError::Thread)?;
    let running = Running {
        app,
        addresses,
        stop,
        servers,
        workers,
        grace: options.grace,
    };
    if !options.waits {
        // It never fails to say so.
        let _ = looked.await;
        if !running.app.catalogue.is_ready() {
            let refused = running.versions();
            running.stop().await;
            return Err(nothing(base, refused));
        }
    }
    Ok(running)
}

/// Why there is nothing to serve in a folder.
fn nothing(folder: PathBuf, refused: Vec<VersionStatus>) -> StartError {
    let found: Vec<u64> = folder::versions(&folder)
        .unwrap_or_default()
        .into_keys()
        .collect();
    match (refused.is_empty(), found.is_empty()) {
        (false, _) => StartError::NothingToServe { folder, refused },
        (true, false) => StartError::NotWanted { folder, found },
        (true, true) => StartError::NoVersions { folder },
    }
}

impl Running {
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What is known of each version, the highest first.
    pub fn versions(&self) -> Vec<VersionStatus> {
        self.app.catalogue.status()
    }

    /// Takes no new requests, answers those it has, and ends.
    pub async fn stop(mut self) {
        self.app.is_stopping.store(true, Ordering::Relaxed);
        // It may have ended already.
        let _ = self.app.loader.send(Order::Stop);
        let _ = self.stop.send(true);
        let ended = async { while self.servers.join_next().await.is_some() {} };
        let _ = timeout(self.grace + Duration::from_secs(1), ended).await;
        self.app.queue.close();
        let workers = std::mem::take(&mut self.workers);
        let joined =
            tokio::task::spawn_blocking(move || workers.into_iter().for_each(|worker| drop(worker.join())));
        let _ = timeout(Duration::from_secs(5), joined).await;
    }
}
