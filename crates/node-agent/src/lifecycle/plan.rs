//! What to do next for a pod.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
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
    /// Run its preStop hook and ask it to end; or, if it was asked before, shorten its grace period.
    Stop {
        container: &'a str,
        grace: Duration,
        why: String,
    },
    /// Its grace period is over.
    Kill { container: &'a str },
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

/// `eviction` is why the node cannot keep the pod, if it cannot.
pub fn plan<'a>(pod: &'a Pod, records: &Records, eviction: Option<&str>, now: Timestamp) -> Plan<'a> {
    let mut plan = Plan {
        actions: Vec::new(),
        ending: ending::ending(pod, records, eviction, now),
        look_again: None,
    };
    overdue(pod, records, now, &mut plan);
    if let Some(ending) = plan.ending.clone() {
        wind_down(pod, records, &ending, now, &mut plan);
        return plan;
    }
    plan.look_at(ending::deadline(pod));
    doomed(pod, records, &mut plan);
    if initialize(pod, records, now, &mut plan) {
        for container in roles::work(pod) {
            keep_up(
                &container.name,
                Restart::of(roles::spec(pod)),
                records,
                now,
                &mut plan,
            );
        }
        for visitor in roles::visitors(pod) {
            keep_up(&visitor.name, Restart::Never, records, now, &mut plan);
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
            keep_up(&container.name, Restart::Always, records, now, plan);
            if !has_begun && !record.is_some_and(Record::is_up) {
                return false;
            }
        } else if !has_begun && !record.is_some_and(Record::has_succeeded) {
            // A step that succeeded is done whatever the policy; one that failed follows it.
            keep_up(&container.name, Restart::OnFailure, records, now, plan);
            return false;
        }
    }
    true
}

/// Starts a container that should run and does not.
fn keep_up<'a>(container: &'a str, restart: Restart, records: &Records, now: Timestamp, plan: &mut Plan<'a>) {
    let fresh = Record::default();
    let record = records.get(container).unwrap_or(&fresh);
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
        container,
        attempt: record.attempts,
        streak: match record.state {
            State::Ended(_) => backoff::next_streak(record),
            _ => record.streak,
        },
    });
}

/// Kills what was asked to end and has not done so in time.
fn overdue<'a>(pod: &'a Pod, records: &Records, now: Timestamp, plan: &mut Plan<'a>) {
    for container in roles::names(pod) {
        let Some(State::Stopping { kill, .. }) = records.get(container).map(|record| &record.state) else {
            continue;
        };
        if *kill <= now {
            plan.actions.push(Action::Kill { container });
        } else {
            plan.look_at(Some(*kill));
        }
    }
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
fn wind_down<'a>(pod: &'a Pod, records: &Records, ending: &Ending, now: Timestamp, plan: &mut Plan<'a>) {
    let grace = ending.grace(pod);
    let is_running = |name: &&str| records.get(*name).is_some_and(Record::is_running);
    let is_sidecar = |name: &&str| roles::sidecars(pod).any(|sidecar| sidecar.name == **name);
    let first: Vec<&str> = roles::names(pod)
        .filter(|name| !is_sidecar(name))
        .filter(is_running)
        .collect();
    let next = if first.is_empty() {
        let sidecars = roles::sidecars(pod).rev().map(|sidecar| sidecar.name.as_str());
        sidecars.into_iter().find(is_running).into_iter().collect()
    } else {
        first
    };
    if next.is_empty() {
        plan.actions.push(Action::Release);
    }
    for container in next {
        let is_due = match records[container].state {
            State::Stopping { kill, .. } => SignedDuration::try_from(grace)
                .is_ok_and(|grace| now.saturating_add(grace).is_ok_and(|end| end < kill)),
            _ => true,
        };
        if is_due {
            plan.actions.push(Action::Stop {
                container,
                grace,
                why: format!("Stopping container {container}"),
            });
        }
    }
}

#[cfg(test)]
mod tests;
