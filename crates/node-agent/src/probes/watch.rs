//! Asks at the right times. One task a container; each of its probes sleeps until it is due, and those
//! that wait for startup sleep until it has passed.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::core::v1::{Container, Probe};
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, watch as latest},
    task::AbortHandle,
    time::{Instant, MissedTickBehavior, interval_at},
};

use super::{
    check::Check,
    exec, grpc, http,
    machine::{Kind, Machine, Standing},
    reach::Reach,
    tcp,
    verdict::Verdict,
};

/// How often a probe that could not be made is tried before that is told.
const TRIES: usize = 3;

/// One run of a container.
#[derive(Clone, Debug)]
pub struct Subject {
    pub container: Container,
    pub attempt: u32,
    /// The pod's address, for messages and as the host of requests.
    pub pod_address: String,
    /// For how long it runs already.
    pub age: Duration,
    /// What is known: [`Standing::new`] for a new run, the last report for one that was adopted.
    pub standing: Standing,
    /// Whether the agent found it running: probes of many such containers then begin spread out.
    pub is_adopted: bool,
}

/// Something to tell about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub container: String,
    pub attempt: u32,
    pub news: News,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A warning to record as an event about the container.
    Event {
        reason: &'static str,
        message: String,
    },
    Standing(Standing),
}

/// Probing that goes on; it ends when this is dropped.
#[derive(Debug)]
pub struct Watch {
    task: AbortHandle,
    is_ending: latest::Sender<bool>,
}

impl Watch {
    /// The pod is asked to end: from now on only readiness is probed.
    pub fn pod_is_ending(&self) {
        self.is_ending.send_replace(true);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Begins probing a run; nothing if it has no probes.
pub fn watch<R: Reach>(subject: Subject, reach: Arc<R>, reports: mpsc::Sender<Report>) -> Option<Watch> {
    Kind::ALL.iter().find_map(|kind| kind.of(&subject.container))?;
    let (is_ending, ending) = latest::channel(false);
    let machine = Machine::new(&subject.container, subject.standing);
    let prober = Prober {
        standing: latest::Sender::new(machine.standing()),
        machine: Mutex::new(machine),
        started: Instant::now().checked_sub(subject.age),
        subject,
        reach,
        reports,
        ending,
    };
    let task = tokio::spawn(async move { prober.run().await });
    Some(Watch {
        task: task.abort_handle(),
        is_ending,
    })
}

struct Prober<R> {
    subject: Subject,
    reach: Arc<R>,
    reports: mpsc::Sender<Report>,
    machine: Mutex<Machine>,
    /// What the machine says, for those who wait for it.
    standing: latest::Sender<Standing>,
    /// Unknown where the clock does not go back that far.
    started: Option<Instant>,
    ending: latest::Receiver<bool>,
}

impl<R: Reach> Prober<R> {
    async fn run(&self) {
        let [startup, readiness, liveness] = Kind::ALL;
        tokio::join!(
            self.unless_ending(startup),
            self.repeat(readiness),
            self.unless_ending(liveness)
        );
    }

    async fn unless_ending(&self, kind: Kind) {
        let mut ending = self.ending.clone();
        tokio::select! {
            () = self.repeat(kind) => {}
            _ = ending.wait_for(|is_ending| *is_ending) => {}
        }
    }

    /// One probe, from when it has something to say until it never will again.
    async fn repeat(&self, kind: Kind) {
        let Some(probe) = kind.of(&self.subject.container) else {
            return;
        };
        let mut standing = self.standing.subscribe();
        let wanted = standing.wait_for(|_| self.machine.lock().listens_to(kind));
        if wanted.await.is_err() {
            return;
        }
        let check = Check::of(probe, &self.subject.container);
        let period = seconds(probe.period_seconds, 10);
        let mut ticks = interval_at(self.first(kind, probe, period), period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while self.machine.lock().listens_to(kind) {
            ticks.tick().await;
            let way = self.reach.way();
            let verdict = match &check {
                Ok(check) => self.ask(check, seconds(probe.timeout_seconds, 1)).await,
                Err(reason) => Verdict::Errored(reason.clone()),
            };
            let is_of_network = matches!(&check, Ok(check) if !matches!(check, Check::Exec(_)));
            let is_way_whole = way.is_some() && way == self.reach.way();
            // What failed may be the way and not the pod.
            if is_way_whole || !is_of_network || verdict.has_passed() == Some(true) {
                self.tell(kind, verdict).await;
            }
        }
    }

    fn first(&self, kind: Kind, probe: &Probe, period: Duration) -> Instant {
        let now = Instant::now();
        let delay = Duration::from_secs(
            probe
                .initial_delay_seconds
                .and_then(|delay| u64::try_from(delay).ok())
                .unwrap_or_default(),
        );
        let due = self.started.map_or(now, |started| (started + delay).max(now));
        if self.subject.is_adopted {
            due + self.spread(kind, period)
        } else {
            due
        }
    }

    /// A part of the period that differs from probe to probe.
    fn spread(&self, kind: Kind, period: Duration) -> Duration {
        let mut hasher = DefaultHasher::new();
        (
            &self.subject.pod_address,
            &self.subject.container.name,
            kind.name(),
        )
            .hash(&mut hasher);
        period.mul_f64((hasher.finish() % 1000) as f64 / 1000.0)
    }

    async fn ask(&self, check: &Check, limit: Duration) -> Verdict {
        let mut verdict = self.ask_once(check, limit).await;
        for _ in 1..TRIES {
            if !matches!(verdict, Verdict::Errored(_)) {
                break;
            }
            verdict = self.ask_once(check, limit).await;
        }
        verdict
    }

    async fn ask_once(&self, check: &Check, limit: Duration) -> Verdict {
        let (reach, pod) = (&*self.reach, self.subject.pod_address.as_str());
        match check {
            Check::Exec(argv) => exec::ask(reach, &self.subject.container.name, argv, limit).await,
            Check::Http(get) => http::get(reach, get, pod, limit).await,
            Check::Tcp { host, port } => {
                let address = tcp::address(host.as_deref().unwrap_or(pod), *port);
                tcp::ask(reach, host.as_deref(), *port, &address, limit).await
            }
            Check::Grpc { port, service } => grpc::ask(reach, pod, *port, service, limit).await,
        }
    }

    async fn tell(&self, kind: Kind, verdict: Verdict) {
        let change = verdict
            .has_passed()
            .and_then(|has_passed| self.machine.lock().hear(kind, has_passed));
        if let Some(event) = event(kind, verdict) {
            self.report(event).await;
        }
        if let Some(standing) = change {
            self.report(News::Standing(standing)).await;
            self.standing.send_replace(standing);
        }
    }

    async fn report(&self, news: News) {
        let report = Report {
            container: self.subject.container.name.clone(),
            attempt: self.subject.attempt,
            news,
        };
        // Whoever no longer listens has dropped the watch, too, or is about to.
        let _ = self.reports.send(report).await;
    }
}

fn event(kind: Kind, verdict: Verdict) -> Option<News> {
    let title = kind.title();
    let (reason, message) = match verdict {
        Verdict::Passed => return None,
        Verdict::Warned(text) => ("ProbeWarning", format!("{title} probe warning: {text}")),
        Verdict::Failed(text) => ("Unhealthy", format!("{title} probe failed: {text}")),
        Verdict::Errored(text) => (
            "Unhealthy",
            format!("{title} probe errored and resulted in unknown state: {text}"),
        ),
    };
    Some(News::Event { reason, message })
}

fn seconds(given: Option<i32>, usual: u64) -> Duration {
    let given = given.and_then(|given| u64::try_from(given).ok());
    Duration::from_secs(given.filter(|given| *given > 0).unwrap_or(usual))
}

#[cfg(test)]
mod tests;
