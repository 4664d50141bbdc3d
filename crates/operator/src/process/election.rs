//! Who of several operators acts: the one that holds a Lease.
//!
//! - A holder acts until `renew_within` after the moment *before* its last successful renewal was sent; a
//!   candidate takes over when `lease` has passed since the moment *after* it saw that renewal. As the first
//!   is the shorter, there is a time in which nobody acts and none in which two do.
//! - Every change is sent through [`Authority`](super::authority::Authority), which knows the end by itself:
//!   a process that was stopped for a minute changes nothing when it wakes.
//! - What was sent before may arrive after. It does no harm: pods are made under names that are taken by
//!   then, deletions name a uid, statuses a version.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Client, Resource as _};
use reconcile::requests;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    authority::{Authority, Moment},
    lease::{Record, Times, Verdict, first},
};

/// One who would lead.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub client: Client,
    pub namespace: String,
    pub name: String,
    pub identity: String,
    pub times: Times,
    pub authority: Authority,
}

/// What a candidate has to tell while it waits.
#[derive(Debug)]
pub(crate) enum Word {
    /// Somebody else leads.
    Led { by: String },
    /// The lease cannot be read or written.
    Trouble(String),
}

/// The lease is ours, and is renewed until this is released or dropped.
pub(crate) struct Leadership {
    candidate: Candidate,
    renewing: JoinHandle<Record>,
    is_over: watch::Receiver<bool>,
    stop: watch::Sender<bool>,
}

impl Candidate {
    /// Waits until the lease is ours.
    pub(crate) async fn campaign(&self, mut tell: impl FnMut(Word)) -> Leadership {
        let mut seen: Option<(Record, Moment)> = None;
        loop {
            let before = Moment::now();
            match timeout(self.times.renew_within, self.attempt(&mut seen)).await {
                Ok(Ok(Some(record))) => return self.lead(record, before),
                Ok(Ok(None)) => {
                    if let Some((record, _)) = &seen {
                        let by = record.holder.clone();
                        tell(Word::Led { by });
                    }
                }
                Ok(Err(error)) => tell(Word::Trouble(error.to_string())),
                Err(_) => tell(Word::Trouble("the server does not answer".to_owned())),
            }
            sleep(self.pause()).await;
        }
    }

    /// One look at the lease: the record by which it is ours, if it is.
    async fn attempt(&self, seen: &mut Option<(Record, Moment)>) -> kube::Result<Option<Record>> {
        let Some(found) = self.get().await? else {
            let made = self.create().await?;
            return Ok(made.map(|made| Record::read(&made)));
        };
        let record = Record::read(&found);
        let unchanged = match seen {
            Some((known, since)) if known.version == record.version => since.elapsed(),
            _ => {
                *seen = Some((record.clone(), Moment::now()));
                Duration::ZERO
            }
        };
        if record.verdict(&self.identity, unchanged, &self.times) == Verdict::Wait {
            return Ok(None);
        }
        let spec = record.taken_by(&self.identity, &self.times, Timestamp::now());
        self.replace(&record, spec).await
    }

    fn lead(&self, record: Record, since: Moment) -> Leadership {
        self.authority.extend(since, self.times.renew_within);
        let (over, is_over) = watch::channel(false);
        let stop = watch::Sender::new(false);
        let (candidate, stopped) = (self.clone(), stop.subscribe());
        let renewing = tokio::spawn(async move { candidate.keep(record, &over, stopped).await });
        Leadership {
            candidate: self.clone(),
            renewing,
            is_over,
            stop,
        }
    }

    /// Renews the lease until it is lost or enough; returns the record as last known.
    async fn keep(
        &self,
        mut record: Record,
        over: &watch::Sender<bool>,
        mut stopped: watch::Receiver<bool>,
    ) -> Record {
        loop {
            tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => return record,
                () = sleep(self.times.look_every.min(self.authority.left())) => {}
            }
            if !self.authority.holds() {
                break;
            }
            let before = Moment::now();
            match timeout(self.authority.left(), self.renew(&mut record)).await {
                Ok(Ok(true)) => self.authority.extend(before, self.times.renew_within),
                Ok(Ok(false)) | Err(_) => break,
                Ok(Err(error)) => tracing::warn!(%error, "cannot renew the lease, will be tried again"),
            }
        }
        self.authority.withdraw();
        over.send_replace(true);
        record
    }

    /// Whether the lease is still ours.
    async fn renew(&self, record: &mut Record) -> kube::Result<bool> {
        for _ in 0..2 {
            let spec = record.taken_by(&self.identity, &self.times, Timestamp::now());
            if let Some(written) = self.replace(record, spec).await? {
                *record = written;
                return Ok(true);
            }
            // Somebody wrote to it: it may be a label, or a write of our own that seemed to fail.
            let Some(found) = self.get().await? else {
                return Ok(false);
            };
            *record = Record::read(&found);
            if record.holder != self.identity {
                return Ok(false);
            }
        }
        Ok(false)
    }

    fn pause(&self) -> Duration {
        // Candidates that were started together do not stay together.
        self.times.look_every.mul_f64(1.0 + 0.2 * fastrand::f64())
    }

    fn folder(&self) -> String {
        Lease::url_path(&(), Some(&self.namespace))
    }

    async fn get(&self) -> kube::Result<Option<Value>> {
        match requests::get(&self.client, &self.folder(), &self.name).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// The lease; none where somebody was faster.
    async fn create(&self) -> kube::Result<Option<Value>> {
        let spec = first(&self.identity, &self.times, Timestamp::now());
        let lease = self.lease(json!({"name": self.name}), spec);
        match requests::create(&self.client, &self.folder(), &lease).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// The new record; none where it was not the one we knew.
    async fn replace(&self, record: &Record, spec: Value) -> kube::Result<Option<Record>> {
        let meta = json!({"name": self.name, "resourceVersion": record.version});
        let lease = self.lease(meta, spec);
        match requests::replace::<Value>(&self.client, &self.folder(), &self.name, &lease).await {
            Ok(written) => Ok(Some(Record::read(&written))),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn lease(&self, mut meta: Value, spec: Value) -> Value {
        meta["namespace"] = json!(self.namespace);
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec})
    }
}

impl Leadership {
    /// Resolves when the lease is lost.
    pub(crate) async fn lost(&self) {
        let mut is_over = self.is_over.clone();
        // The task that renews says so before it ends.
        let _ = is_over.wait_for(|over| *over).await;
    }

    /// Gives the lease to whoever wants it. Nothing may be changed any more by then.
    pub(crate) async fn release(mut self) {
        self.stop.send_replace(true);
        let Ok(record) = (&mut self.renewing).await else {
            return;
        };
        let candidate = &self.candidate;
        candidate.authority.withdraw();
        if *self.is_over.borrow() || record.holder != candidate.identity {
            return;
        }
        let spec = record.released(Timestamp::now());
        match timeout(candidate.times.look_every, candidate.replace(&record, spec)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the lease was not released; it ends by itself"),
            Err(_) => tracing::warn!("the lease was not released in time; it ends by itself"),
        }
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        self.renewing.abort();
        self.candidate.authority.withdraw();
    }
}
