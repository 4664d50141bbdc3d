//! The worker of one pod: observes, plans, acts, and tells the API how the pod does. Everything that
//! takes time is a job beside it, so that a pod can always be stopped.

mod book;
mod hooks;
mod last_words;
mod launch;
mod observe;
mod prepare;
mod probing;
mod reach;
mod release;
mod report;
mod sources;
mod stop;
mod storage;
mod volumes;

use std::{collections::BTreeMap, future::pending, sync::Arc};

use containers::client;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use reconcile::Cached as _;
use tokio::{
    sync::{Notify, mpsc, watch},
    task::JoinSet,
};

use crate::{
    admission::Rejection,
    agent::Agent,
    folders::PodFolder,
    lifecycle::{Action, plan},
    probes,
};
use book::Book;
use launch::{Launched, Launching};
pub(crate) use sources::Content;

use prepare::{Live, Prepared, Trouble};
use volumes::{SetUp, Volumes};

/// What the API says of the pod.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Pod(Arc<Pod>),
    /// It is no more; this is how it was last.
    Gone(Arc<Pod>),
}

/// What a job or the sandbox has to tell.
enum Happening {
    Prepared(Result<Prepared, Trouble>),
    Refreshed(Result<SetUp, Trouble>),
    State(containers::state::State),
    /// The sandbox with this process does not answer any more.
    Lost(i32),
    /// A container is about to be started from this image.
    Starting {
        container: String,
        image_id: String,
        stop_signal: i32,
    },
    Launched {
        container: String,
        attempt: u32,
        outcome: Launched,
    },
    /// Its preStop hook is over, and the container was asked to end.
    Asked {
        container: String,
    },
    Probed(probes::Report),
    /// What the pod keeps in its volumes was measured, and is too much.
    TooMuchStored(String),
    Released,
}

/// How a worker ends.
pub(crate) enum End {
    /// Nothing is left to do for the pod, ever.
    Done,
    /// The pod is over and waits to be deleted. A worker takes as much memory as its longest step, so none sits
    /// by it: the next one finds everything in the folder, when the API has something newer than this version.
    Rest(u64),
}

/// Where the pod is in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Known,
    /// We asked for its removal.
    Removed,
    Gone,
}

/// What is being done for the pod as a whole; nothing of it is broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    Preparing,
    Releasing,
}

/// How soon what failed is tried again.
const RETRY: SignedDuration = SignedDuration::from_secs(2);

pub(crate) struct Worker {
    agent: Arc<Agent>,
    seen: watch::Receiver<Seen>,
    /// Something that the pod's volumes are made from has changed.
    refresh: Arc<Notify>,
    pod: Arc<Pod>,
    presence: Presence,
    folder: PodFolder,
    book: Book,
    /// Nothing is known of how the pod came to be over: it only waits to be deleted.
    is_forgotten: bool,
    live: Option<Live>,
    volumes: Volumes,
    /// A job measures what the pod stores.
    is_storage_watched: bool,
    jobs: JoinSet<()>,
    tell: mpsc::UnboundedSender<Happening>,
    happenings: mpsc::UnboundedReceiver<Happening>,
    networks: watch::Receiver<u64>,
    stage: Stage,
    launching: Option<Launching>,
    /// The probes of the containers that run.
    probes: BTreeMap<String, probes::Watch>,
    /// Sandbox or volumes could not be made; not again before this.
    not_before: Option<Timestamp>,
    /// When to look again, for reasons the plan does not know.
    look_again: Option<Timestamp>,
}

impl Worker {
    /// The worker of a pod that the node takes, or one that only says why it does not.
    pub(crate) fn new(
        agent: Arc<Agent>,
        seen: watch::Receiver<Seen>,
        refresh: Arc<Notify>,
        rejection: Option<Rejection>,
    ) -> Self {
        let pod = seen.borrow().pod().clone();
        let (tell, happenings) = mpsc::unbounded_channel();
        Self {
            folder: agent.folders.pod(&pod),
            networks: agent.networking.generations(),
            agent,
            seen,
            refresh,
            pod,
            presence: Presence::Known,
            book: Book::new(rejection),
            is_forgotten: false,
            live: None,
            volumes: Volumes::default(),
            is_storage_watched: false,
            jobs: JoinSet::new(),
            tell,
            happenings,
            stage: Stage::Open,
            launching: None,
            probes: BTreeMap::new(),
            not_before: None,
            look_again: None,
        }
    }

    pub(crate) async fn run(mut self) -> End {
        self.recover().await;
        loop {
            self.look_again = None;
            self.follow_plan().await;
            self.keep_volumes();
            self.watch_storage();
            self.book.save(&self.folder);
            self.report().await;
            if self.is_finished().await {
                return End::Done;
            }
            if self.rests() {
                return End::Rest(self.pod.version());
            }
            self.wait().await;
        }
    }

    async fn follow_plan(&mut self) {
        if self.is_over() {
            return;
        }
        if self.book.rejection.is_some() {
            return self.release();
        }
        let (pod, now) = (self.pod.clone(), Timestamp::now());
        let plan = plan(&pod, &self.book.records, self.book.eviction.as_deref(), now);
        self.look_at(plan.look_again);
        for action in plan.actions {
            match action {
                Action::Start {
                    container, attempt, ..
                } => self.start(container, attempt, now),
                Action::Stop {
                    container,
                    grace,
                    why,
                } => self.stop(container, grace, why, now),
                Action::Kill { container } => self.kill(container).await,
                Action::Release => self.release(),
            }
        }
    }

    /// Nothing runs, and nothing will.
    fn is_over(&self) -> bool {
        self.book.released || self.is_forgotten
    }

    /// All is done and told, and nobody wants the pod gone yet.
    fn rests(&self) -> bool {
        let is_wanted = self.pod.metadata.deletion_timestamp.is_none();
        self.is_over() && is_wanted && self.presence == Presence::Known && self.look_again.is_none()
    }

    /// Finds what an agent before us has left of the pod.
    async fn recover(&mut self) {
        self.look();
        match Book::load(&self.folder) {
            Some(book) => self.book = book,
            None => self.is_forgotten = is_terminal(&self.pod),
        }
        self.tell_of_rejection();
        if self.is_over() {
            return;
        }
        if let Ok(state) = client::last_state(self.folder.path()).await {
            self.absorb(&state);
        }
        match client::Sandbox::adopt(self.folder.path()).await {
            Ok(sandbox) => {
                let address = self.book.address;
                self.adopt(Live { sandbox, address });
                self.resume();
                // Whatever step the agent before us had come to, all of them are taken again.
                if self.pod.metadata.deletion_timestamp.is_none() {
                    self.prepare(Timestamp::now());
                }
            }
            Err(_) => self.bury().await,
        }
    }

    fn tell_of_rejection(&self) {
        if let Some(rejection) = &self.book.rejection
            && !is_terminal(&self.pod)
        {
            let events = &self.agent.events;
            events.warning(&self.pod, &rejection.reason, rejection.message.clone());
        }
    }

    fn adopt(&mut self, live: Live) {
        self.book.address = live.address;
        let known = self.live.replace(live.clone());
        if known.is_some_and(|known| known.sandbox.pid() == live.sandbox.pid()) {
            return;
        }
        let (sandbox, tell) = (live.sandbox, self.tell.clone());
        self.jobs.spawn(async move {
            if let Ok(mut states) = sandbox.states().await {
                while let Ok(state) = states.next().await {
                    let _ = tell.send(Happening::State(state));
                }
            }
            let _ = tell.send(Happening::Lost(sandbox.pid()));
        });
    }

    fn look_at(&mut self, when: Option<Timestamp>) {
        self.look_again = self.look_again.into_iter().chain(when).min();
    }

    /// Takes in what the API says now.
    fn look(&mut self) {
        let seen = self.seen.borrow_and_update().clone();
        match seen {
            Seen::Pod(pod) => {
                let is_described_anew = pod.metadata.labels != self.pod.metadata.labels
                    || pod.metadata.annotations != self.pod.metadata.annotations;
                self.pod = pod;
                self.tell_probes_of_ending();
                if is_described_anew {
                    self.refresh_volumes();
                }
            }
            Seen::Gone(pod) => {
                self.presence = Presence::Gone;
                self.pod = release::deleted(pod);
            }
        }
    }

    async fn wait(&mut self) {
        let timer = until(self.look_again);
        tokio::select! {
            Ok(()) = self.seen.changed() => self.look(),
            () = self.refresh.notified() => {
                self.not_before = None;
                self.refresh_volumes();
            }
            Ok(()) = self.networks.changed() => self.attach_again().await,
            Some(happening) = self.happenings.recv() => self.react(happening).await,
            Some(job) = self.jobs.join_next() => pass_on_panic(job),
            () = timer => {}
        }
        while let Ok(happening) = self.happenings.try_recv() {
            self.react(happening).await;
        }
    }

    async fn react(&mut self, happening: Happening) {
        match happening {
            Happening::Prepared(outcome) => self.prepared(outcome),
            Happening::Refreshed(outcome) => self.refreshed(outcome),
            Happening::State(state) => self.absorb(&state),
            Happening::Lost(pid) => self.lost(pid).await,
            Happening::Starting {
                container,
                image_id,
                stop_signal,
            } => self.starting(&container, image_id, stop_signal),
            Happening::Launched {
                container,
                attempt,
                outcome,
            } => self.launched(&container, attempt, outcome),
            Happening::Asked { container } => self.asked(&container),
            Happening::Probed(report) => self.probed(report),
            Happening::TooMuchStored(why) => self.evict(why),
            Happening::Released => {
                self.book.released = true;
            }
        }
    }

    /// The sandbox has died under its pod: what ran is lost, and what should run needs another.
    async fn lost(&mut self, pid: i32) {
        if self.stage == Stage::Releasing || self.live.as_ref().is_none_or(|live| live.sandbox.pid() != pid) {
            return;
        }
        if let Ok(state) = client::last_state(self.folder.path()).await {
            self.absorb(&state);
        }
        self.agent.events.normal(
            &self.pod,
            "SandboxChanged",
            "Pod sandbox changed, it will be killed and re-created.",
        );
        self.bury().await;
    }

    /// Clears away a dead sandbox. What it ran counts as killed.
    async fn bury(&mut self) {
        self.live = None;
        self.probes.clear();
        if let Some(launching) = self.launching.take() {
            launching.abort();
        }
        // Without a state there never was one.
        let _ = client::bury(self.folder.path()).await;
        observe::lose(&mut self.book.records, Timestamp::now());
    }
}

/// Whether the API says that the pod is over.
pub(crate) fn is_terminal(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

async fn until(when: Option<Timestamp>) {
    let Some(when) = when else {
        return pending().await;
    };
    let left = when.duration_since(Timestamp::now());
    // A clock counts in larger steps than a timestamp: never wake before it is time.
    let left = left.saturating_add(SignedDuration::from_millis(1));
    tokio::time::sleep(left.try_into().unwrap_or_default()).await;
}

/// A bug in a job is one in its worker, who is replaced.
fn pass_on_panic(job: Result<(), tokio::task::JoinError>) {
    if let Err(error) = job
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
