//! From what the process was given to a client of a cluster that answers.

use std::{path::PathBuf, time::Duration};

use kube::{
    Client, Config,
    config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(10);

/// Where the cluster is. The first that is given counts.
#[derive(Clone, Debug, Default)]
pub struct Whereabouts {
    /// `--kubeconfig`.
    pub kubeconfig: Option<PathBuf>,
    /// Those of `KUBECONFIG`; what the first says counts.
    pub kubeconfigs: Vec<PathBuf>,
    /// Whether this is a pod: it has a service account.
    pub is_pod: bool,
    /// `KUBERNETES_SERVICE_HOST` is set.
    pub has_service_host: bool,
    /// `~/.kube/config`.
    pub home_kubeconfig: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(
        "no cluster is named: there is no --kubeconfig, no KUBECONFIG, no ~/.kube/config, and this is no pod"
    )]
    Nowhere,
    #[error("the kubeconfig `{}` cannot be used", path.display())]
    Kubeconfig { path: PathBuf, source: KubeconfigError },
    #[error("the service account of this pod cannot be used")]
    ServiceAccount(#[source] InClusterError),
    #[error("no client can be made for {address}")]
    Client { address: String, source: kube::Error },
    #[error("no cluster answers at {address}")]
    Unreachable { address: String, source: kube::Error },
    #[error("no cluster answered at {address} within {} seconds", PATIENCE.as_secs())]
    Silent { address: String },
    #[error("the cluster at {address} does not accept these credentials: {message}")]
    Unauthorized { address: String, message: String },
}

/// A cluster that has answered.
#[derive(Clone)]
pub struct Connection {
    pub client: Client,
    pub address: String,
    /// The namespace of the kubeconfig's context, or of this pod.
    pub namespace: String,
}

impl Whereabouts {
    pub async fn connect(&self) -> Result<Connection, ConnectError> {
        let mut config = self.config().await?;
        // Clients of watches wait long; nobody waits long to be let in.
        config.connect_timeout = Some(PATIENCE);
        // A change that waited here would be sent later without asking whether this process still leads.
        config.default_retry = false;
        let (address, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
        let address = address.trim_end_matches('/').to_owned();
        let client = Client::try_from(config).map_err(|source| ConnectError::Client {
            address: address.clone(),
            source,
        })?;
        match timeout(PATIENCE, client.apiserver_version()).await {
            Err(_) => Err(ConnectError::Silent { address }),
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 401 | 403) => {
                let message = status.message.clone();
                Err(ConnectError::Unauthorized { address, message })
            }
            Ok(Err(source)) => Err(ConnectError::Unreachable { address, source }),
            Ok(Ok(_)) => Ok(Connection {
                client,
                address,
                namespace,
            }),
        }
    }

    async fn config(&self) -> Result<Config, ConnectError> {
        if let Some(path) = &self.kubeconfig {
            return from_files(std::slice::from_ref(path)).await;
        }
        if !self.kubeconfigs.is_empty() {
            return from_files(&self.kubeconfigs).await;
        }
        if self.is_pod {
            // Where the variable is missing, the name of the service leads there too.
            let config = if self.has_service_host {
                Config::incluster_env()
            } else {
                Config::incluster_dns()
            };
            return config.map_err(ConnectError::ServiceAccount);
        }
        match &self.home_kubeconfig {
            Some(path) if path.is_file() => from_files(std::slice::from_ref(path)).await,
            _ => Err(ConnectError::Nowhere),
        }
    }
}

async fn from_files(paths: &[PathBuf]) -> Result<Config, ConnectError> {
    let mut merged: Option<Kubeconfig> = None;
    for path in paths {
        let failed = |source| ConnectError::Kubeconfig {
            path: path.clone(),
            source,
        };
        let read = Kubeconfig::read_from(path).map_err(failed)?;
        merged = Some(match merged.take() {
            Some(first) => first.merge(read).map_err(failed)?,
            None => read,
        });
    }
    let path = paths.first().cloned().unwrap_or_default();
    Config::from_custom_kubeconfig(merged.unwrap_or_default(), &KubeConfigOptions::default())
        .await
        .map_err(|source| ConnectError::Kubeconfig { path, source })
}
