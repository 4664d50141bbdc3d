//! Looks after the versions in a folder: finds them by looking again and again, loads and tries them, lets go of those
//! that are replaced. What is to be done is `versions`' decision.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use saved_model::{Files as _, Model, Wanted};
use tokio::sync::oneshot;

use crate::{
    catalogue::{Catalogue, Version},
    folder::{self, Folder, Look},
    open_inference::{ONNX, TENSORFLOW},
    trial,
    versions::{Stage, plan},
    warm_up::warm_up,
};

/// A version that may be right later is tried again after this time, then after twice as long, and so on.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

pub(crate) struct Loader {
    pub(crate) base: PathBuf,
    pub(crate) wanted: Wanted,
    pub(crate) interval: Duration,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) refusals: BTreeMap<u64, Refusal>,
}

/// What the loader is told.
pub(crate) enum Order {
    /// Look at once, and say when that is done.
    Look(oneshot::Sender<()>),
    Stop,
}

/// Why a version was not taken, and when it is worth another try.
pub(crate) struct Refusal {
    why: String,
    look: Look,
    /// None where only other files can help.
    next: Option<Instant>,
    pause: Duration,
}

impl Loader {
    /// Looks until told to stop, or until nobody is there who could.
    pub(crate) fn run(mut self, first_round: impl FnOnce(), orders: &mpsc::Receiver<Order>) {
        self.round();
        first_round();
        loop {
            match orders.recv_timeout(self.interval) {
                Ok(Order::Look(looked)) => {
                    self.round();
                    // Whoever asked may be gone.
                    let _ = looked.send(());
                }
                Err(mpsc::RecvTimeoutError::Timeout) => self.round(),
                Ok(Order::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Brings what is served up to date with what is there.
    fn round(&mut self) {
        let found = match folder::versions(&self.base) {
            Ok(found) => found,
            Err(error) => {
                // A file server may be away for a while; what is loaded goes on.
                return tracing::warn!(folder = %self.base.display(), %error, "cannot look for versions");
            }
        };
        let present: BTreeSet<u64> = found.keys().copied().collect();
        self.refusals.retain(|version, _| {
            let is_there = present.contains(version);
            if !is_there {
                self.catalogue.forget(*version);
            }
            is_there
        });
        let mut tried = BTreeSet::new();
        loop {
            let stages = self.stages(&found);
            let plan = plan(&present, &stages, &self.catalogue.policy());
            for version in &plan.drop {
                tracing::info!(version, "drops a version that is replaced");
                self.catalogue.dropped(*version);
            }
            // One at a time, as each may change what is wanted; and once a round, as it may be changed all the time.
            let next = plan.load.into_iter().find(|version| tried.insert(*version));
            let Some((version, path)) = next.and_then(|version| Some((version, found.get(&version)?))) else {
                return;
            };
            self.take(version, path);
        }
    }

    fn stages(&self, found: &BTreeMap<u64, PathBuf>) -> BTreeMap<u64, Stage> {
        let now = Instant::now();
        let serving = self.catalogue.serving();
        let available = serving.iter().map(|version| (version.number, Stage::Available));
        let refused = self.refusals.iter().filter_map(|(version, refusal)| {
            let is_due = refusal.next.is_some_and(|next| next <= now)
                || folder::look(found.get(version)?) != refusal.look;
            Some((*version, Stage::Refused { is_due }))
        });
        refused.chain(available).collect()
    }

    fn take(&mut self, version: u64, path: &Path) {
        let look = folder::look(path);
        if !self.refusals.contains_key(&version) {
            self.catalogue.loading(version);
        }
        let started = Instant::now();
        match load(version, path, &self.wanted) {
            Ok(loaded) => {
                let milliseconds = started.elapsed().as_millis();
                tracing::info!(version, bytes = loaded.model.bytes(), %milliseconds, "a version is loaded");
                self.refusals.remove(&version);
                self.catalogue.available(Arc::new(loaded));
            }
            Err((why, may_pass)) => self.refuse(version, look, why, may_pass),
        }
    }

    fn refuse(&mut self, version: u64, look: Look, why: String, may_pass: bool) {
        let before = self.refusals.remove(&version);
        if before.as_ref().is_none_or(|before| before.why != why) {
            tracing::warn!(version, why, "a version is refused");
        }
        let pause = match &before {
            Some(before) if before.look == look => (before.pause * 2).min(LONGEST_PAUSE),
            _ => FIRST_PAUSE,
        };
        self.catalogue.refused(version, why.clone());
        let refusal = Refusal {
            why,
            look,
            next: may_pass.then(|| Instant::now() + pause),
            pause,
        };
        self.refusals.insert(version, refusal);
    }
}

/// Or why not, with everything behind it, and whether it may be right later.
fn load(number: u64, path: &Path, wanted: &Wanted) -> Result<Version, (String, bool)> {
    let files = Folder(path.to_owned());
    // A model is somebody else's program: what it makes of this one must not end the others.
    let loaded = catch_unwind(AssertUnwindSafe(|| {
        let (model, platform) = model(&files, wanted)?;
        warm_up(&files, &model).map_err(|error| (told(&error), error.may_pass()))?;
        let batchable = trial::batchable(&model);
        Ok(Version {
            number,
            platform,
            model,
            batchable,
        })
    }));
    match loaded {
        Ok(outcome) => outcome,
        Err(_) => Err(("the model cannot be loaded: the loader failed".to_owned(), false)),
    }
}

/// A model of either kind, and what the Open Inference Protocol calls the kind.
fn model(files: &Folder, wanted: &Wanted) -> Result<(Model, &'static str), (String, bool)> {
    let told_of = |error: saved_model::LoadError| (told(&error), error.may_pass());
    if !files.is_onnx() {
        return Ok((Model::load(files, wanted).map_err(told_of)?, TENSORFLOW));
    }
    let bytes = files
        .read(onnx_model::FILE)
        .map_err(|error| (format!("`{}` cannot be read: {error}", onnx_model::FILE), true))?;
    let translated = onnx_model::saved_model(bytes).map_err(|error| (told(&error), error.may_pass()))?;
    Ok((Model::load(&translated, wanted).map_err(told_of)?, ONNX))
}

fn told(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told += &format!(": {error}");
        cause = error.source();
    }
    told
}
