//! From a data directory to a listening server.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use store::{OpenError, Store};
use tokio::{
    net::TcpListener,
    sync::watch,
    task::{JoinHandle, JoinSet},
};

use crate::{
    admission::{policies::Policies, webhooks},
    allocation::Allocations,
    api::Api,
    authorization::Authorizer,
    bootstrap, built_in, controllers,
    error::ApiError,
    in_flight::InFlight,
    limits::Limits,
    metrics::Metrics,
    nodes::Nodes,
    pki::{Pki, PkiError},
    receiving::Receiving,
    registry::Registry,
    server,
    streams::connections::Connections,
};

/// Where the server keeps its state and where it listens.
pub struct Options {
    pub data_dir: PathBuf,
    pub listen: SocketAddr,
    /// Starts without the stored records that fail their checksum, instead of not at all.
    pub drop_damaged: bool,
    pub limits: Limits,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot open the store")]
    Store(#[from] OpenError),
    #[error("cannot prepare certificates and keys")]
    Pki(#[from] PkiError),
    #[error("cannot listen on {address}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot create the objects every cluster has: {}", .0.message)]
    Bootstrap(ApiError),
}

/// A server that is up.
pub struct Running {
    pub api: Arc<Api>,
    pub address: SocketAddr,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
    controllers: JoinSet<()>,
}

impl Running {
    /// The cluster's certificate authority, in PEM form.
    pub fn ca_pem(&self) -> &str {
        &self.api.ca_pem
    }

    /// The token of the administrator.
    pub fn admin_token(&self) -> &str {
        &self.api.admin_token
    }

    /// Stops accepting, lets open requests finish, and closes the store.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let _ = self.serving.await;
        self.controllers.shutdown().await;
        self.api.store.close().await;
    }
}

#[cfg(test)]
impl Running {
    /// A server in a folder, for tests of one controller: nobody else acts on what is stored.
    pub(crate) async fn without_controllers(data_dir: &Path) -> Self {
        let options = Options {
            data_dir: data_dir.to_owned(),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            drop_damaged: false,
            limits: Limits::default(),
        };
        let mut running = Box::pin(start(options)).await.unwrap();
        running.controllers.shutdown().await;
        running
    }
}

/// Opens the store, makes what is missing, and listens. When this returns the server is ready.
pub async fn start(options: Options) -> Result<Running, StartError> {
    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(|source| StartError::Listen {
            address: options.listen,
            source,
        })?;
    let address = listener.local_addr().map_err(|source| StartError::Listen {
        address: options.listen,
        source,
    })?;
    let path = store_path(&options.data_dir);
    let store_options = store::Options {
        drop_damaged: options.drop_damaged,
        ..store::Options::default()
    };
    let store = tokio::task::spawn_blocking(move || Store::open(&path, store_options))
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
    let pki = Pki::open(&options.data_dir.join("pki"))?;
    // A server that cannot make certificates says so at once.
    pki.serving.at(Ipv4Addr::LOCALHOST.into())?;
    let (stop, stopping) = watch::channel(false);
    let api = Arc::new(Api {
        registry: Registry::new(built_in::kinds()),
        authorizer: Authorizer::new(),
        allocations: Allocations::load(&store),
        signer: pki.signer,
        admin_token: pki.admin_token,
        ca_pem: pki.ca_pem,
        metrics: Metrics::default(),
        nodes: Nodes::default(),
        in_flight: InFlight::new(&options.limits),
        connections: Connections::new(options.limits.connections),
        receiving: Receiving::new(options.limits.large_body),
        limits: options.limits,
        quota_turns: crate::admission::resource_quotas::Turns::new(),
        webhooks: webhooks::Caller::new(),
        policies: Policies::new(),
        stopping: stopping.clone(),
        store,
    });
    let definitions = controllers::definitions::load(&api);
    bootstrap::bootstrap(&api, address)
        .await
        .map_err(StartError::Bootstrap)?;
    let controllers = controllers::start(&api, address, definitions);
    let serving = tokio::spawn(server::serve(api.clone(), listener, pki.serving, stopping));
    Ok(Running {
        api,
        address,
        stop,
        serving,
        controllers,
    })
}

fn store_path(data_dir: &Path) -> PathBuf {
    data_dir.join("store.db")
}
