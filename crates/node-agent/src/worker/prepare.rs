//! What a pod needs before its first container: a sandbox, an address, its files.

use std::{error::Error, fs, io, net::IpAddr, net::Ipv4Addr, sync::Arc};

use containers::{client::Sandbox, tier::Tier};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{HostIP, Pod, PodIP};
use network::Namespace;

use super::{
    Happening, RETRY, Stage, Worker,
    volumes::{self, SetUp},
};
use crate::{
    admission::Rejection,
    agent::Agent,
    causes::with_causes,
    folders::PodFolder,
    gpus,
    sandbox::{self, Ground, is_on_host_network},
    shortfalls::{self, Abilities},
};

/// A sandbox that answers.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) sandbox: Sandbox,
    /// Its own; none on the host's network.
    pub(super) address: Option<Ipv4Addr>,
}

/// All that a pod needs before its first container.
#[derive(Debug)]
pub(super) struct Prepared {
    live: Live,
    volumes: SetUp,
    abilities: Abilities,
}

/// Why a pod has to wait, as an event says it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Trouble {
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// It will not get better: the node does not take the pod.
    pub(super) is_final: bool,
}

impl Trouble {
    /// What the pod was promised is not there.
    fn admission(problem: impl std::fmt::Display) -> Self {
        Self {
            reason: "UnexpectedAdmissionError",
            message: problem.to_string(),
            is_final: true,
        }
    }

    fn sandbox(problem: impl Into<Box<dyn Error>>) -> Self {
        let problem = with_causes(&*problem.into());
        Self {
            reason: "FailedCreatePodSandBox",
            message: format!("Failed to create pod sandbox: {problem}"),
            is_final: false,
        }
    }
}

impl Worker {
    pub(super) fn prepare(&mut self, now: Timestamp) {
        if self.stage != Stage::Open {
            return;
        }
        if self.not_before.is_some_and(|when| when > now) {
            return self.look_at(self.not_before);
        }
        self.stage = Stage::Preparing;
        let (agent, pod, folder) = (self.agent.clone(), self.pod.clone(), self.folder.clone());
        let tell = self.tell.clone();
        self.jobs.spawn(async move {
            let outcome = prepare(&agent, &pod, &folder).await;
            let _ = tell.send(Happening::Prepared(outcome));
        });
    }

    pub(super) fn prepared(&mut self, outcome: Result<Prepared, Trouble>) {
        self.stage = Stage::Open;
        match outcome {
            Ok(prepared) => {
                self.tell_of_shortfalls(prepared.abilities);
                self.adopt(prepared.live);
                self.refreshed(Ok(prepared.volumes));
            }
            Err(trouble) => {
                let events = &self.agent.events;
                events.warning(&self.pod, trouble.reason, trouble.message.clone());
                if trouble.is_final {
                    self.book.rejection = Some(Rejection {
                        reason: trouble.reason.to_owned(),
                        message: trouble.message,
                    });
                }
                self.not_before = Timestamp::now().saturating_add(RETRY).ok();
            }
        }
    }

    /// Once: a pod that runs without what it asked for says so.
    fn tell_of_shortfalls(&mut self, abilities: Abilities) {
        if std::mem::replace(&mut self.book.knows_shortfalls, true) {
            return;
        }
        if let Some(text) = shortfalls::shortfalls(&self.pod, abilities) {
            self.agent.events.warning(&self.pod, shortfalls::REASON, text);
        }
    }

    /// Pods outlive the network; a new one has to be told of them.
    pub(super) async fn attach_again(&mut self) {
        let Some(live) = &self.live else { return };
        match attach(&self.agent, &self.pod, &live.sandbox).await {
            Ok(address) => self.book.address = address,
            Err(trouble) => self
                .agent
                .events
                .warning(&self.pod, trouble.reason, trouble.message),
        }
    }
}

async fn prepare(agent: &Agent, pod: &Arc<Pod>, folder: &PodFolder) -> Result<Prepared, Trouble> {
    lease_gpus(agent, pod).await?;
    let volumes = volumes::set_up(agent, pod, folder).await?;
    let sandbox = match Sandbox::adopt(folder.path()).await {
        Ok(sandbox) => sandbox,
        Err(_) => start(agent, pod, folder, &volumes).await?,
    };
    let address = attach(agent, pod, &sandbox).await?;
    write_files(agent, pod, folder, address)
        .await
        .map_err(Trouble::sandbox)?;
    let abilities = abilities(agent.tier.tier, &sandbox).await?;
    Ok(Prepared {
        live: Live { sandbox, address },
        volumes,
        abilities,
    })
}

/// What this very sandbox can do.
async fn abilities(tier: Tier, sandbox: &Sandbox) -> Result<Abilities, Trouble> {
    let state = sandbox.state().await.map_err(Trouble::sandbox)?;
    let setgroups = || fs::read_to_string(format!("/proc/{}/setgroups", sandbox.pid()));
    Ok(Abilities {
        has_groups: match tier {
            Tier::Root => true,
            // Denied in a user namespace that holds one group only.
            Tier::Rootless => setgroups().is_ok_and(|answer| answer.trim() == "allow"),
            Tier::Process => rustix::process::geteuid().is_root(),
        },
        gives_files: tier != Tier::Rootless,
        has_limits: !state.control_groups.is_empty(),
        has_own_users: tier == Tier::Rootless,
    })
}

async fn lease_gpus(agent: &Agent, pod: &Pod) -> Result<(), Trouble> {
    let demands = gpus::demands(pod);
    let Some(pool) = agent.gpus.as_ref().filter(|_| !demands.is_empty()) else {
        return Ok(());
    };
    pool.survey().await.map_err(Trouble::admission)?;
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    pool.lease(uid, &demands).map_err(Trouble::admission)
}

async fn start(agent: &Agent, pod: &Pod, folder: &PodFolder, volumes: &SetUp) -> Result<Sandbox, Trouble> {
    let user_namespace = match agent.networking.get() {
        Ok(network) => network.user_namespace(),
        Err(problem) if agent.networking.is_possible() => return Err(Trouble::sandbox(problem)),
        Err(_) => None,
    };
    let ground = Ground {
        tier: agent.tier.tier,
        user_namespace,
        memory: crate::volumes::memory(&volumes.plan, &volumes::ground(agent, folder)),
    };
    let spec = sandbox::sandbox(pod, &ground);
    Sandbox::start(&agent.program, folder.path(), &spec)
        .await
        .map_err(Trouble::sandbox)
}

async fn attach(agent: &Agent, pod: &Pod, sandbox: &Sandbox) -> Result<Option<Ipv4Addr>, Trouble> {
    if is_on_host_network(pod, agent.tier.tier) {
        return Ok(None);
    }
    let namespace = Namespace::OfProcess(sandbox.pid().unsigned_abs());
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let attached = agent.networking.attach(uid, namespace).await;
    attached.map(Some).map_err(Trouble::sandbox)
}

async fn write_files(
    agent: &Agent,
    pod: &Pod,
    folder: &PodFolder,
    address: Option<Ipv4Addr>,
) -> io::Result<()> {
    let host = agent.host_files().await;
    let server = agent
        .networking
        .get()
        .ok()
        .map(|network| network.description().gateway);
    let hosts = sandbox::hosts(pod, address.map(IpAddr::V4), address.is_none().then_some(&host));
    // What the network cannot reach, its pods must not ask.
    let resolver = sandbox::resolver(pod, server, &host);
    for (name, text) in [
        ("hosts", hosts),
        ("resolv.conf", resolver),
        ("hostname", format!("{}\n", sandbox::hostname(pod))),
    ] {
        let file = folder.file(name);
        // A file that containers see is not touched without need.
        if fs::read(&file).is_ok_and(|known| known == text.as_bytes()) {
            continue;
        }
        fs::write(file, text)?;
    }
    Ok(())
}

/// The pod as its containers may know it: with its addresses, before the API has them.
pub(super) fn with_addresses(pod: &Pod, address: IpAddr, host: IpAddr) -> Arc<Pod> {
    let mut pod = pod.clone();
    let status = pod.status.get_or_insert_default();
    let (address, host) = (address.to_string(), host.to_string());
    status.pod_ip = Some(address.clone());
    status.pod_ips = Some(vec![PodIP { ip: address }]);
    status.host_ip = Some(host.clone());
    status.host_ips = Some(vec![HostIP { ip: host }]);
    Arc::new(pod)
}
