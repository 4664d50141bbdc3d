//! The pods' network as the agent has it: found or started, and started again when it dies.

use std::{path::PathBuf, sync::Arc, time::Duration};

use containers::tier::Tier;
use network::{Network, Options};
use parking_lot::RwLock;
use tokio::sync::watch;

use crate::{agent::Agent, folders::Folders};

/// How often the network is asked whether it lives.
const LOOK: Duration = Duration::from_secs(5);

pub(crate) struct Networking {
    program: PathBuf,
    tier: Tier,
    present: RwLock<Result<Network, String>>,
    /// Counts the networks there were; pods must be attached to each anew.
    generation: watch::Sender<u64>,
}

impl Networking {
    pub(crate) fn new(tier: Tier, program: &std::path::Path) -> Self {
        Self {
            program: program.to_owned(),
            tier,
            present: RwLock::new(Err("it has not been started yet".to_owned())),
            generation: watch::Sender::new(0),
        }
    }

    /// Whether pods can have a network of their own at all.
    pub(crate) fn is_possible(&self) -> bool {
        self.tier != Tier::Process
    }

    /// The network, or why there is none.
    pub(crate) fn get(&self) -> Result<Network, String> {
        self.present.read().clone()
    }

    pub(crate) fn generations(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Finds the network that an agent before us has left, or starts one.
    pub(crate) async fn start(&self, folders: &Folders) {
        if !self.is_possible() {
            *self.present.write() = Err("the host's network is the only one".to_owned());
            self.generation.send_modify(|generation| *generation += 1);
            return;
        }
        let folder = folders.network();
        let found = if let Ok(network) = Network::adopt(&folder).await {
            Ok(network)
        } else {
            let options = Options {
                user_namespace: self.surviving_user_namespace(folders).await,
                ..Options::default()
            };
            Network::start(&self.program, &folder, &options).await
        };
        if let Err(error) = &found {
            tracing::error!(%error, "pods have no network");
        }
        *self.present.write() = found.map_err(|error| error.to_string());
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Without root all pods live in the network's user namespace. When the network dies before them,
    /// they keep it alive, and the next network must join it.
    async fn surviving_user_namespace(&self, folders: &Folders) -> Option<PathBuf> {
        if self.tier == Tier::Root {
            return None;
        }
        let pods = std::fs::read_dir(folders.pods()).ok()?;
        for pod in pods.flatten() {
            if let Ok(sandbox) = containers::client::Sandbox::adopt(&pod.path()).await {
                return Some(PathBuf::from(format!("/proc/{}/ns/user", sandbox.pid())));
            }
        }
        None
    }
}

/// Looks after the network for as long as the agent runs.
pub(crate) async fn keep(agent: Arc<Agent>) {
    if !agent.networking.is_possible() {
        return;
    }
    loop {
        tokio::time::sleep(LOOK).await;
        let is_well = match agent.networking.get() {
            Ok(network) => network.describe().await.is_ok(),
            Err(_) => false,
        };
        if !is_well {
            agent.networking.start(&agent.folders).await;
        }
    }
}
