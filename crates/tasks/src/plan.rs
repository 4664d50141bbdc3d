//! What becomes of a task: from the task and what is there of it to what is to be done and told. Pure.
//!
//! Whoever carries out a [`Plan`] writes the status first, then takes the steps in order, then asks again. So what is
//! done was intended in writing, and a process may end anywhere: the next one asks again and goes on.

mod deletion;
mod outcome;
pub mod pods;
pub mod runs;
mod stored;
mod verdict;
pub mod waiting;

#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};
use resources::tasks::{Attempt, Child, Phase, Pinned, TaskEvent, TaskStatus};

pub use pods::Pod;
pub use runs::{Run, RunState, runs};
pub use stored::{APPLIED, Endpoint, Task, endpoints, without_headers};
pub use waiting::{Hint, NodeGroup};

/// Attempts that a status tells of.
const ATTEMPTS: usize = 20;
/// Events that a status keeps; deliveries of earlier ones are objects of their own by then.
const EVENTS: usize = 50;
/// What nobody tells us of is looked at again after this time.
const RECHECK: SignedDuration = SignedDuration::from_secs(15);

/// What is there of a task beside itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Objects that run, of any attempt, and whatever has the name of one.
    pub runs: Vec<Run>,
    /// Objects that are gone, and had ended before that.
    pub ended: Vec<Run>,
    /// Their pods.
    pub pods: Vec<Pod>,
    /// What came of [`Step::Prepare`].
    pub prepared: Option<Prepared>,
    /// What came of [`Step::Make`].
    pub made: Option<Made>,
    /// Up to which event there are deliveries, by [`Step::Announce`].
    pub announced: i64,
    pub groups: Vec<NodeGroup>,
    /// What autoscalers and the scheduler say of its pods.
    pub hints: Vec<Hint>,
}

/// What a task would be made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Prepared {
    Ready {
        pinned: Pinned,
        children: Vec<Child>,
    },
    /// Something it refers to is not there, and may come.
    Waits {
        reason: String,
        message: String,
    },
    /// It never will be.
    Broken {
        reason: String,
        message: String,
    },
}

/// What came of making the objects of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    All,
    /// For now, such as by a quota.
    NotYet {
        reason: String,
        message: String,
    },
    Refused {
        reason: String,
        message: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// As it should be written, first of all, unless it is that already.
    pub status: TaskStatus,
    pub steps: Vec<Step>,
    /// When to look again though nothing has changed.
    pub wake_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The task must not go before what it has made.
    Hold,
    /// Headers of callbacks are in the values, and belong into a Secret.
    HideHeaders,
    /// Find the definition and the template, or the revisions that are pinned, and render them.
    Prepare,
    /// Make the objects that were prepared, where they are not there.
    Make,
    /// End objects that run, and wait until they are gone.
    Stop(Vec<Target>),
    /// Make deliveries of the events from this one on.
    Announce { from: i64 },
    /// Everything is told and stopped: claims go or stay, and the task goes.
    Release { keep_claims: bool },
    /// The task's time is over.
    Delete,
}

/// An object, and no other of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub child: Child,
    pub uid: String,
}

/// Decides what becomes of a task.
pub fn plan(task: &Task, seen: &Seen, now: Timestamp) -> Plan {
    let mut draft = Draft::of(task, now);
    draft.status.announced = draft.status.announced.max(seen.announced);
    if task.is_deleting() {
        deletion::plan(&mut draft, task, seen);
    } else if !task.is_held() {
        draft.steps.push(Step::Hold);
    } else if task.shows_headers() {
        draft.steps.push(Step::HideHeaders);
    } else {
        live(&mut draft, task, seen);
    }
    draft.finish(task)
}

fn live(draft: &mut Draft, task: &Task, seen: &Seen) {
    let wanted = task.spec.attempt.unwrap_or(1).max(1);
    let is_new = draft.status.attempt == 0;
    if (is_new || draft.status.phase.is_final()) && draft.status.attempt < wanted && !task.spec.cancelled {
        draft.begin(wanted);
    } else if is_new {
        // Cancelled before it was seen for the first time.
        draft.begin(wanted);
    }
    if draft.status.phase.is_final() {
        return ended(draft, task, seen);
    }
    if task.spec.cancelled {
        return cancel(draft, seen);
    }
    let old = targets(
        seen.runs
            .iter()
            .filter(|run| run.is_ours && run.attempt < draft.status.attempt),
    );
    if !old.is_empty() {
        draft.pending(
            "Restarting",
            "waits until the objects of the last attempt are gone".to_owned(),
        );
        draft.steps.push(Step::Stop(old));
        return;
    }
    if draft.status.made == draft.status.attempt {
        verdict::follow(draft, seen);
    } else {
        make(draft, seen);
    }
}

/// From values to objects.
fn make(draft: &mut Draft, seen: &Seen) {
    match &seen.made {
        Some(Made::All) => {
            draft.status.made = draft.status.attempt;
            return verdict::follow(draft, seen);
        }
        Some(Made::NotYet { reason, message }) => {
            draft.pending(reason, message.clone());
            draft.wake(RECHECK);
            return;
        }
        Some(Made::Refused { reason, message }) => {
            return draft.end(Phase::Failed, reason, message.clone());
        }
        None => {}
    }
    match &seen.prepared {
        None => draft.steps.push(Step::Prepare),
        Some(Prepared::Waits { reason, message }) => {
            draft.pending(reason, message.clone());
            draft.wake(RECHECK);
        }
        Some(Prepared::Broken { reason, message }) => draft.end(Phase::Failed, reason, message.clone()),
        Some(Prepared::Ready { pinned, children }) => {
            draft.status.pinned.get_or_insert_with(|| pinned.clone());
            draft.status.children.clone_from(children);
            draft.status.outputs = outcome::claims(children);
            draft.pending("Creating", "its objects are being made".to_owned());
            draft.steps.push(Step::Make);
        }
    }
}

fn cancel(draft: &mut Draft, seen: &Seen) {
    let running = targets(seen.runs.iter().filter(|run| run.is_ours));
    if running.is_empty() {
        draft.end(Phase::Cancelled, "Cancelled", "cancelled on request".to_owned());
    } else {
        draft.say("Cancelling", "what it runs is being stopped");
        draft.status.waiting = None;
        draft.steps.push(Step::Stop(running));
    }
}

/// What is left to do for a task that has ended.
fn ended(draft: &mut Draft, task: &Task, seen: &Seen) {
    if draft.status.phase != Phase::Succeeded {
        // What still runs of a task that failed in one of its parts would run for nothing.
        let is_active = |run: &&Run| run.is_ours && !run.state.is_over();
        let running = targets(seen.runs.iter().filter(is_active));
        if !running.is_empty() {
            draft.steps.push(Step::Stop(running));
        }
    }
    let Some(seconds) = task.spec.ttl_seconds_after_finished else {
        return;
    };
    let ended = draft.status.completion_time.unwrap_or(draft.now);
    // A time beyond the calendar never comes.
    let Ok(over) = ended.checked_add(SignedDuration::from_secs(seconds)) else {
        return;
    };
    if over > draft.now {
        draft.wake_at = Some(over);
    } else if draft.status.announced >= draft.last_sequence() || !task.has_callbacks() {
        draft.steps.push(Step::Delete);
    }
}

fn targets<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<Target> {
    runs.map(|run| Target {
        child: run.child.clone(),
        uid: run.uid.clone(),
    })
    .collect()
}

/// A plan that is being made.
struct Draft {
    status: TaskStatus,
    steps: Vec<Step>,
    wake_at: Option<Timestamp>,
    now: Timestamp,
}

impl Draft {
    fn of(task: &Task, now: Timestamp) -> Self {
        let mut status = task.status.clone();
        status.observed_generation = task.generation;
        Self {
            status,
            steps: Vec::new(),
            wake_at: None,
            now,
        }
    }

    /// Begins an attempt.
    fn begin(&mut self, number: i32) {
        let status = &mut self.status;
        status.attempt = number;
        status.completion_time = None;
        status.waiting = None;
        status.attempts.push(Attempt {
            number,
            created_at: Some(self.now),
            ..Attempt::default()
        });
        let surplus = status.attempts.len().saturating_sub(ATTEMPTS);
        status.attempts.drain(..surplus);
        let message = if number == 1 {
            "submitted"
        } else {
            "submitted once more"
        };
        (status.phase, status.reason, status.message) =
            (Phase::Pending, "Submitted".to_owned(), message.to_owned());
        self.tell("task.pending");
    }

    /// Tells of something that does not change the phase.
    fn say(&mut self, reason: &str, message: &str) {
        reason.clone_into(&mut self.status.reason);
        message.clone_into(&mut self.status.message);
    }

    fn pending(&mut self, reason: &str, message: String) {
        self.enter(Phase::Pending, reason, message);
        self.status.waiting = None;
    }

    /// Goes into a phase; a change of it is an event.
    fn enter(&mut self, phase: Phase, reason: &str, message: String) {
        let is_change = self.status.phase != phase;
        self.status.phase = phase;
        reason.clone_into(&mut self.status.reason);
        self.status.message = message;
        if phase != Phase::Pending {
            self.status.waiting = None;
        }
        if is_change {
            self.tell(match phase {
                Phase::Pending => "task.pending",
                Phase::Running => "task.running",
                Phase::Succeeded => "task.succeeded",
                Phase::Failed => "task.failed",
                Phase::Cancelled => "task.cancelled",
            });
        }
    }

    fn end(&mut self, phase: Phase, reason: &str, message: String) {
        self.status.completion_time.get_or_insert(self.now);
        self.enter(phase, reason, message);
    }

    fn tell(&mut self, kind: &str) {
        let event = TaskEvent {
            sequence: self.last_sequence() + 1,
            kind: kind.to_owned(),
            attempt: self.status.attempt,
            time: Some(self.now),
            reason: self.status.reason.clone(),
            message: self.status.message.clone(),
        };
        self.status.events.push(event);
    }

    fn last_sequence(&self) -> i64 {
        self.status
            .events
            .last()
            .map_or(self.status.announced, |event| event.sequence)
    }

    fn wake(&mut self, after: SignedDuration) {
        self.wake_at = self.now.checked_add(after).ok();
    }

    /// The attempt's own line, and what callbacks are due.
    fn finish(mut self, task: &Task) -> Plan {
        let status = &mut self.status;
        if let Some(attempt) = status
            .attempts
            .last_mut()
            .filter(|last| last.number == status.attempt)
        {
            attempt.phase = status.phase;
            attempt.reason.clone_from(&status.reason);
            attempt.message.clone_from(&status.message);
            if status.phase.is_final() {
                attempt.ended_at = attempt.ended_at.or(status.completion_time);
            }
        }
        let last = self.last_sequence();
        let status = &mut self.status;
        if task.has_callbacks() {
            let announced = status.announced;
            let written = task.status.events.last().map_or(0, |event| event.sequence);
            if announced < written.min(last) {
                // Only what is written down is told of.
                self.steps.insert(0, Step::Announce { from: announced + 1 });
            }
        } else {
            status.announced = last;
        }
        // Events that are announced are in their deliveries.
        let announced = status.announced;
        let surplus = status.events.len().saturating_sub(EVENTS);
        let told = status
            .events
            .iter()
            .take_while(|event| event.sequence <= announced)
            .count();
        status.events.drain(..surplus.min(told));
        Plan {
            status: self.status,
            steps: self.steps,
            wake_at: self.wake_at,
        }
    }
}
