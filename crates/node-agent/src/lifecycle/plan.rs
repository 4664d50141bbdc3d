//! What to do next for a pod.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod};

use super::{
    backoff,
    ending::{self, Ending},
    record::{Record, Records, State},
    roles::{self, Restart},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// Start the next attempt of a container; `streak` is what its record must say afterwards.
    Start {
        container: &'a str,
        attempt: u32,
        streak: u32,
    },
    /// Run its preStop hook, ask it to end, and kill it when the grace period is over.
    Stop {
        container: &'a str,
        grace: Duration,
        why: String,
    },
    /// Nothing runs and nothing will: give back what the pod holds.
    Release,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<'a> {
    pub actions: Vec<Action<'a>>,
    /// Why the pod is coming to its end, if it is.
    pub ending: Option<Ending>,
    /// When to look again although nothing has happened.
    pub look_again: Option<Timestamp>,
}

pub fn plan<'a>(pod: &'a Pod, records: &Records, now: Timestamp) -> Plan<'a> {
    let mut plan = Plan {
        actions: Vec::new(),
        ending: ending::ending(pod, records, now),
        look_again: None,
    };
    if let Some(ending) = plan.ending.clone() {
        wind_down(pod, records, &ending, &mut plan);
        return plan;
    }
    plan.look_at(ending::deadline(pod));
    doomed(pod, records, &mut plan);
    if initialize(pod, records, now, &mut plan) {
        for container in roles::work(pod) {
            keep_up(container, Restart::of(roles::spec(pod)), records, now, &mut plan);
        }
    }
    plan
}

impl Plan<'_> {
    fn look_at(&mut self, when: Option<Timestamp>) {
        self.look_again = match (self.look_again, when) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

/// Starts what comes before the work, in order. True when the work itself may run.
fn initialize<'a>(pod: &'a Pod, records: &Records, now: Timestamp, plan: &mut Plan<'a>) -> bool {
    // Once the work has begun first steps are not repeated, and helpers are kept up whatever their order.
    let has_begun = roles::work(pod).iter().any(|container| {
        records
            .get(&container.name)
            .is_some_and(|record| record.state != State::New)
    });
    for container in roles::init(pod) {
        let record = records.get(&container.name);
        if roles::is_sidecar(container) {
            keep_up(container, Restart::Always, records, now, plan);
            if !has_begun && !record.is_some_and(Record::is_up) {
                return false;
            }
        } else if !has_begun && !record.is_some_and(Record::has_succeeded) {
            // A step that succeeded is done whatever the policy; one that failed follows it.
            keep_up(container, Restart::OnFailure, records, now, plan);
            return false;
        }
    }
    true
}

/// Starts a container that should run and does not.
fn keep_up<'a>(
    container: &'a Container,
    restart: Restart,
    records: &Records,
    now: Timestamp,
    plan: &mut Plan<'a>,
) {
    let fresh = Record::default();
    let record = records.get(&container.name).unwrap_or(&fresh);
    let when = match &record.state {
        State::Running { .. } | State::Stopping { .. } => return,
        State::New => now,
        State::Refused { retry, .. } => *retry,
        State::Ended(ended) if !restart.after(ended.exit_code) => return,
        State::Ended(ended) => backoff::ready_at(record, ended),
    };
    if when > now {
        plan.look_at(Some(when));
        return;
    }
    plan.actions.push(Action::Start {
        container: &container.name,
        attempt: record.attempts,
        streak: match record.state {
            State::Ended(_) => backoff::next_streak(record),
            _ => record.streak,
        },
    });
}

/// Stops what a probe or a hook has condemned; its restart policy decides what comes after.
fn doomed<'a>(pod: &'a Pod, records: &Records, plan: &mut Plan<'a>) {
    for container in roles::init(pod).iter().chain(roles::work(pod)) {
        let Some(record) = records.get(&container.name) else {
            continue;
        };
        if let (State::Running { .. }, Some(why)) = (&record.state, &record.doom) {
            plan.actions.push(Action::Stop {
                container: &container.name,
                grace: probe_grace(container).unwrap_or_else(|| ending::own_grace(pod)),
                why: why.clone(),
            });
        }
    }
}

/// A liveness probe may shorten the grace period of what it condemns.
fn probe_grace(container: &Container) -> Option<Duration> {
    let seconds = container
        .liveness_probe
        .as_ref()?
        .termination_grace_period_seconds?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
}

/// Stops the work, then the helpers from the last to the first, then gives everything back.
fn wind_down<'a>(pod: &'a Pod, records: &Records, ending: &Ending, plan: &mut Plan<'a>) {
    let grace = ending.grace(pod);
    let is_running = |container: &&Container| records.get(&container.name).is_some_and(Record::is_running);
    let first: Vec<&Container> = roles::steps(pod)
        .chain(roles::work(pod))
        .filter(is_running)
        .collect();
    let next = if first.is_empty() {
        roles::sidecars(pod).rev().find(is_running).into_iter().collect()
    } else {
        first
    };
    if next.is_empty() {
        plan.actions.push(Action::Release);
    }
    for container in next {
        let is_asked = matches!(records[&container.name].state, State::Stopping { .. });
        if !is_asked {
            plan.actions.push(Action::Stop {
                container: &container.name,
                grace,
                why: format!("Stopping container {}", container.name),
            });
        }
    }
}

#[cfg(test)]
mod tests;
