//! What a person who waits for a job is told: what it waits for, and once each what keeps it from starting, with what
//! to do about it.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use super::{
    job::Job,
    terminal::Waiting,
    why::{self, Cause},
};

/// The operator's own words are held back for so long: what keeps pods from starting says the same with a hint.
const HELD_BACK: Duration = Duration::from_millis(2500);

pub(crate) struct Patience {
    began: Instant,
    waiting: Waiting,
    told: HashSet<String>,
    /// Since when something that was told stands in the way.
    obstructed_since: Option<Instant>,
    held_back: Option<String>,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            waiting: Waiting::new(),
            told: HashSet::new(),
            obstructed_since: None,
            held_back: None,
        }
    }

    /// The job waits for this.
    pub(crate) fn wait(&mut self, what: String, job: &Job) {
        if self.obstructed_since.is_some() {
            return;
        }
        if !job.detail().is_empty() && self.began.elapsed() < HELD_BACK {
            self.held_back = Some(what);
        } else {
            self.waiting.tell(&what);
        }
    }

    /// The cluster is out of reach.
    pub(crate) fn lost(&mut self, why: &str) {
        self.waiting.tell(&format!("waiting for the cluster: {why}"));
    }

    /// This keeps pods from starting.
    pub(crate) fn obstacles(&mut self, causes: &[Cause]) {
        if causes.is_empty() {
            self.obstructed_since = None;
            if let Some(what) = self.held_back.take() {
                self.waiting.tell(&what);
            }
            return;
        }
        self.held_back = None;
        self.obstructed_since.get_or_insert_with(Instant::now);
        for cause in causes {
            if self.told.insert(cause.topic()) {
                self.waiting.clear();
                eprintln!("waiting: {}", why::sentence(cause));
                if let Some(advice) = &cause.advice {
                    eprintln!("hint: {advice}");
                }
            }
        }
    }

    /// How long something that was told has stood in the way without a break.
    pub(crate) fn obstructed_for(&self) -> Option<Duration> {
        self.obstructed_since.map(|since| since.elapsed())
    }

    /// There is nothing to wait for; makes room for what comes.
    pub(crate) fn clear(&mut self) {
        self.held_back = None;
        self.obstructed_since = None;
        self.waiting.clear();
    }
}
