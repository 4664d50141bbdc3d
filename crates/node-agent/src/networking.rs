//! The pods' network as the agent has it: found or started, and started again when it dies. Each death is reported.

use std::{
    collections::HashMap,
    io,
    net::{Ipv4Addr, SocketAddrV4},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use containers::tier::Tier;
use network::{Namespace, Network, Options};
use parking_lot::{Mutex, RwLock};
use reconcile::deaths;
use this_program::Program;
use tokio::{
    net::TcpStream,
    sync::{Notify, watch},
};

use crate::{agent::Agent, causes::with_causes, folders::Folders};

/// How often the network is asked whether it lives.
const LOOK: Duration = Duration::from_secs(2);

/// Why there is no network in the first moments.
pub(crate) const NOT_STARTED: &str = "it has not been started yet";

/// As reports name it.
pub(crate) const PROCESS: &str = "the network process";

pub(crate) struct Networking {
    program: Program,
    tier: Tier,
    present: RwLock<Result<Network, String>>,
    /// Counts the networks there were; pods must be attached to each anew.
    generation: watch::Sender<u64>,
    /// By which of them each pod was last attached, or refused.
    attached: Mutex<HashMap<String, u64>>,
    /// It did not answer somebody, and nobody has looked yet why.
    is_doubted: AtomicBool,
    doubt: Notify,
}

impl Networking {
    pub(crate) fn new(tier: Tier, program: Program) -> Self {
        Self {
            program,
            tier,
            present: RwLock::new(Err(NOT_STARTED.to_owned())),
            generation: watch::Sender::new(0),
            attached: Mutex::default(),
            is_doubted: AtomicBool::new(false),
            doubt: Notify::new(),
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

    /// Gives a pod its address.
    pub(crate) async fn attach(&self, uid: &str, namespace: Namespace<'_>) -> Result<Ipv4Addr, String> {
        let (network, generation) = {
            let present = self.present.read();
            (present.clone()?, *self.generation.borrow())
        };
        let attached = network.attach(uid, namespace).await;
        if attached.as_ref().is_err_and(network::Error::is_of_process) {
            self.doubt();
        }
        self.attached.lock().insert(uid.to_owned(), generation);
        attached.map_err(|error| error.to_string())
    }

    /// Takes a pod's address back.
    pub(crate) async fn detach(&self, uid: &str) -> Result<(), network::Error> {
        self.attached.lock().remove(uid);
        match self.get() {
            Ok(network) => network.detach(uid).await,
            Err(_) => Ok(()),
        }
    }

    /// Which network leads to the pod now; none while it is being replaced, or the new one has not been
    /// told of the pod yet. One we have not attached was there before us.
    pub(crate) fn way_to(&self, uid: &str) -> Option<u64> {
        let present = self.present.read();
        let generation = *self.generation.borrow();
        let is_whole = present.is_ok() && !self.is_doubted.load(Ordering::Acquire);
        let attached = self.attached.lock().get(uid).copied();
        (is_whole && attached.is_none_or(|attached| attached == generation)).then_some(generation)
    }

    /// Connects to a pod or a service.
    pub(crate) async fn dial(&self, network: &Network, to: SocketAddrV4) -> io::Result<TcpStream> {
        network.dial(to).await.map_err(|error| {
            if error.is_of_process() {
                self.doubt();
            }
            match error.kind() {
                Some(kind) => io::Error::new(kind, error),
                None => io::Error::other(error),
            }
        })
    }

    /// Requests a check of the network process at once.
    fn doubt(&self) {
        self.is_doubted.store(true, Ordering::Release);
        self.doubt.notify_one();
    }

    pub(crate) fn generations(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Finds the network that an agent before us has left, or starts one.
    pub(crate) async fn start(&self, folders: &Folders) {
        if !self.is_possible() {
            return self.replace(Err("the host's network is the only one".to_owned()));
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
            tracing::error!(error = with_causes(error), "pods have no network");
            if let network::Error::Died { .. } = error {
                deaths::report(PROCESS, with_causes(error));
            }
        }
        self.replace(found.map_err(|error| with_causes(&error)));
    }

    /// Nobody sees the new network under the number of the old one.
    fn replace(&self, found: Result<Network, String>) {
        let mut present = self.present.write();
        *present = found;
        self.generation.send_modify(|generation| *generation += 1);
        self.is_doubted.store(false, Ordering::Release);
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
    // In a row: a network that has lived for some looks is a good one.
    let mut failures = 0;
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK.max(deaths::pause(failures))) => {}
            () = agent.networking.doubt.notified() => {}
        }
        let is_well = match agent.networking.get() {
            Ok(network) => is_well(&network).await,
            Err(_) => false,
        };
        if is_well {
            failures = 0;
            agent.networking.is_doubted.store(false, Ordering::Release);
            continue;
        }
        failures += 1;
        agent.networking.start(&agent.folders).await;
    }
}

/// Whether a network answers. The death of one that did is reported.
async fn is_well(network: &Network) -> bool {
    let Err(error) = network.describe().await else {
        return true;
    };
    if network.is_alive() {
        tracing::error!(error = with_causes(&error), "the network does not answer");
    } else {
        let last_words = match network.last_words().as_str() {
            "" => "it wrote nothing into its log; a signal may have ended it".to_owned(),
            words => words.to_owned(),
        };
        deaths::report(PROCESS, last_words);
    }
    false
}
