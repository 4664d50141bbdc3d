//! The operator as a process of its own, against any Kubernetes API: found, checked, elected, and handed
//! over in order.

mod authority;
mod connect;
mod election;
mod endpoints;
mod guarded;
mod lease;
mod notice;
mod survey;

use std::{
    fmt,
    future::Future,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use futures_util::future::{Either, select};
use kube::Client;
use tokio::{task::JoinSet, time::timeout};

use self::{
    authority::Authority,
    election::{Candidate, Leadership, Word},
    endpoints::{Readiness, State},
    guarded::guarded,
};
use crate::{Closing, Metrics, Options, metrics::IS_LEADER, start};

pub use connect::{ConnectError, Connection, Whereabouts};
pub use endpoints::ListenError;
pub use lease::Times;
pub use notice::Notice;
pub use survey::GangChoice;

/// What was begun has so long to be finished; the kubelet's own patience is thirty seconds.
const FINISHING: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
pub struct ProcessOptions {
    pub operator: Options,
    /// The kinds were named, so that each of them must be there.
    pub are_kinds_named: bool,
    /// The engine beside looks after workflows.
    pub workflows: bool,
    pub gang: GangChoice,
    /// Without it this process acts whoever else does.
    pub election: Option<Election>,
    /// Where metrics and health are served.
    pub endpoints: Vec<SocketAddr>,
    /// Another engine that acts while this process may.
    pub beside: Option<Beside>,
}

/// Starts the tasks of an engine.
pub(crate) type Start = dyn Fn(Client, &Closing) -> JoinSet<()> + Send + Sync;

/// An engine that shares the process: what it is called, and how it is started. It ends as the operator does.
#[derive(Clone)]
pub struct Beside {
    pub name: &'static str,
    pub start: Arc<Start>,
}

impl fmt::Debug for Beside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// The lease operators agree by.
#[derive(Clone, Debug)]
pub struct Election {
    pub namespace: String,
    pub name: String,
    /// Who this process is among them.
    pub identity: String,
    pub times: Times,
}

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("the cluster at {address} cannot be asked")]
    Cluster { address: String, source: kube::Error },
    #[error("the cluster at {address} lacks kinds of jobs: {}", reasons.join("; "))]
    NoKinds { address: String, reasons: Vec<String> },
    #[error("the cluster at {address} has no PodGroups of {scheduler}")]
    NoPodGroups { address: String, scheduler: String },
    #[error("this account may not {} {place}", what.join(", "))]
    Forbidden { what: Vec<String>, place: String },
}

/// Runs until `stop` resolves; then what was begun is finished, and the lease goes to the next.
pub async fn run(
    connection: &Connection,
    options: ProcessOptions,
    stop: impl Future<Output = ()>,
    tell: impl Fn(Notice) + Send + Sync,
) -> Result<(), ProcessError> {
    let (metrics, readiness, authority) = (Metrics::default(), Readiness::default(), Authority::default());
    let mut servers = JoinSet::new();
    for address in &options.endpoints {
        let listener = endpoints::listen(*address).await?;
        let address = listener.local_addr().unwrap_or(*address);
        tell(Notice::Serves { address });
        servers.spawn(endpoints::serve(listener, metrics.clone(), readiness.clone()));
    }
    let mut stop = pin!(stop);
    let beside = options.beside.clone();
    let prepared = match select(pin!(survey::prepare(connection, options, &tell)), stop.as_mut()).await {
        Either::Left((prepared, _)) => prepared?,
        Either::Right(_) => return Ok(()),
    };
    let process = Process {
        client: guarded(&connection.client, authority.clone(), metrics.clone()),
        candidate: prepared.election.map(|election| Candidate {
            client: connection.client.clone(),
            namespace: election.namespace,
            name: election.name,
            identity: election.identity,
            times: election.times,
            authority: authority.clone(),
        }),
        options: prepared.operator,
        beside,
        metrics,
        readiness,
        authority,
        tell: &tell,
    };
    while process.term(stop.as_mut()).await == Ended::Lost {}
    Ok(())
}

/// How a term ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Somebody else may act by now.
    Lost,
    Stopped,
}

struct Process<'a, Tell> {
    client: Client,
    /// None where nobody is elected.
    candidate: Option<Candidate>,
    options: Options,
    beside: Option<Beside>,
    metrics: Metrics,
    readiness: Readiness,
    authority: Authority,
    tell: &'a Tell,
}

impl<Tell: Fn(Notice)> Process<'_, Tell> {
    /// From being a candidate to having led.
    async fn term(&self, mut stop: Pin<&mut impl Future<Output = ()>>) -> Ended {
        self.readiness.set(State::Standby);
        let leadership = match &self.candidate {
            None => {
                self.authority.grant_for_good();
                None
            }
            Some(candidate) => match select(pin!(self.campaign(candidate)), stop.as_mut()).await {
                Either::Left((leadership, _)) => Some(leadership),
                Either::Right(_) => return Ended::Stopped,
            },
        };
        let ended = self.act(leadership.as_ref(), stop).await;
        self.metrics.forget_figures();
        match (ended, leadership) {
            (Ended::Lost, _) => (self.tell)(Notice::Lost),
            (Ended::Stopped, Some(leadership)) => leadership.release().await,
            (Ended::Stopped, None) => {}
        }
        ended
    }

    /// Acts until it may not or need not any more. Nothing of it is left when this returns.
    async fn act(&self, leadership: Option<&Leadership>, stop: Pin<&mut impl Future<Output = ()>>) -> Ended {
        let closing = Closing::default();
        let mut working = start(self.client.clone(), self.options.clone(), &self.metrics, &closing);
        if let Some(beside) = &self.beside {
            let mut other = (beside.start)(self.client.clone(), &closing);
            // It ends with those it is beside.
            working.spawn(async move { while other.join_next().await.is_some() {} });
        }
        self.lead();
        let lost = async {
            match leadership {
                Some(leadership) => leadership.lost().await,
                None => std::future::pending().await,
            }
        };
        let mut lost = pin!(lost);
        if let Either::Left(_) = select(lost.as_mut(), stop).await {
            working.shutdown().await;
            return Ended::Lost;
        }
        self.readiness.set(State::NotReady("stopping"));
        (self.tell)(Notice::Stops);
        closing.close();
        let finished = timeout(FINISHING, async { while working.join_next().await.is_some() {} });
        let ended = match select(pin!(finished), lost).await {
            Either::Left(_) => Ended::Stopped,
            Either::Right(_) => Ended::Lost,
        };
        working.shutdown().await;
        ended
    }

    fn lead(&self) {
        let readiness = self.readiness.clone();
        self.metrics.show(&IS_LEADER, move || {
            vec![(String::new(), f64::from(u8::from(readiness.is_leading())))]
        });
        self.readiness.set(State::Leading);
    }

    async fn campaign(&self, candidate: &Candidate) -> Leadership {
        let mut said = None;
        let leadership = candidate
            .campaign(|word| {
                let notice = match word {
                    Word::Led { by } => Notice::StandsBy { by },
                    Word::Trouble(error) => Notice::LeaseTrouble { error },
                };
                // The same is said once.
                if said.as_ref() != Some(&notice) {
                    (self.tell)(notice.clone());
                    said = Some(notice);
                }
            })
            .await;
        (self.tell)(Notice::Leads {
            identity: candidate.identity.clone(),
        });
        leadership
    }
}
