//! What the agent knows of the containers of one pod.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// By container name; a container without a record was never touched.
pub type Records = BTreeMap<String, Record>;

/// Written down by the agent, so that it survives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// How often it was started; the number of the next attempt.
    pub attempts: u32,
    /// How often in a row it ended soon after its start: what the back-off counts.
    pub streak: u32,
    pub state: State,
    /// How the attempt before the present one ended.
    pub previous: Option<Ended>,
    /// Whether the startup probe of the present attempt has passed; true without one.
    pub is_started: bool,
    /// Whether the readiness probe says so; true without one.
    pub is_ready: bool,
    /// Why the running attempt must end: a failed probe or hook, in words for an event.
    pub doom: Option<String>,
    /// The image as it was resolved, for the status.
    pub image_id: String,
    pub container_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum State {
    #[default]
    New,
    /// It could not even be tried: the image, a secret or a volume is missing. Tried again at `retry`.
    Refused {
        reason: String,
        message: String,
        retry: Timestamp,
    },
    Running {
        since: Timestamp,
    },
    /// Asked to end; killed at `kill`.
    Stopping {
        since: Timestamp,
        kill: Timestamp,
    },
    Ended(Ended),
}

/// The end of one attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub started: Option<Timestamp>,
    pub at: Timestamp,
    pub exit_code: i32,
    pub signal: Option<i32>,
    /// `Completed`, `Error`, `OOMKilled`, `StartError`, `ContainerStatusUnknown` …
    pub reason: String,
    pub message: String,
    pub container_id: String,
}

impl Record {
    pub fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. } | State::Stopping { .. })
    }

    pub fn ended(&self) -> Option<&Ended> {
        match &self.state {
            State::Ended(ended) => Some(ended),
            _ => None,
        }
    }

    /// How it last ended, now or before the attempt that is under way.
    pub fn last_end(&self) -> Option<&Ended> {
        self.ended().or(self.previous.as_ref())
    }

    pub fn has_succeeded(&self) -> bool {
        self.ended().is_some_and(|ended| ended.exit_code == 0)
    }

    /// Started and past its startup probe.
    pub fn is_up(&self) -> bool {
        matches!(self.state, State::Running { .. }) && self.is_started
    }
}
