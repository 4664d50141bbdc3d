//! Which pods of a job to make and which to let go. Pure.

use std::{collections::HashSet, sync::Arc, time::Duration};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use reconcile::Next;

use super::{
    backoff, make,
    observed::{Observed, indexes_of},
    tracking,
    verdict::{self, Verdict},
};
use crate::pods::order::{self, Candidate};

/// At most so many pods are made or dismissed at one go, so that a mistyped number can be corrected.
const BURST: usize = 500;

#[derive(Debug)]
pub(crate) struct Plan {
    pub create: Vec<Pod>,
    /// Pods that are one too many: how they end concerns nobody.
    pub dismiss: Vec<Arc<Pod>>,
    /// Pods of a job that is over: they are stopped, and counted.
    pub stop: Vec<Arc<Pod>>,
    pub next: Next,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            create: Vec::new(),
            dismiss: Vec::new(),
            stop: Vec::new(),
            next: Next::Wait,
        }
    }
}

pub(crate) fn plan(observed: &Observed<'_>) -> Plan {
    match verdict::verdict(observed) {
        Some(verdict) => end(observed, &verdict),
        // The pods of a job that is being deleted are the garbage collector's.
        None if observed.is_being_deleted() => Plan::default(),
        None if observed.is_suspended() => Plan {
            dismiss: cloned(&observed.active),
            ..Plan::default()
        },
        None => {
            let mut plan = manage(observed);
            plan.next = plan.next.or(until(verdict::time_left(observed)));
            plan
        }
    }
}

/// A verdict is written down before it is carried out: pods that are stopped look like failed ones,
/// and whoever carries on after a crash would find another reason in them.
fn end(observed: &Observed<'_>, verdict: &Verdict) -> Plan {
    let active = if verdict.is_new { &[] } else { &observed.active[..] };
    Plan {
        stop: cloned(active),
        ..Plan::default()
    }
}

/// Either dismisses or makes pods; what is superfluous goes first.
fn manage(observed: &Observed<'_>) -> Plan {
    let wanted = wanted(observed);
    let surplus = surplus(observed, observed.active.len().saturating_sub(wanted));
    if !surplus.is_empty() {
        return Plan {
            dismiss: cloned(&surplus[..surplus.len().min(BURST)]),
            ..Plan::default()
        };
    }
    let waited_for = if observed.replaces_only_failed() {
        observed.stopping.len()
    } else {
        0
    };
    let missing = wanted
        .saturating_sub(observed.active.len() + waited_for)
        .min(BURST);
    if missing == 0 {
        return Plan::default();
    }
    let wait = match observed.failed_indexes {
        Some(_) => Duration::ZERO,
        None => backoff::of_job(observed),
    };
    if !wait.is_zero() {
        return Plan {
            next: Next::After(wait),
            ..Plan::default()
        };
    }
    if observed.is_indexed() {
        fill_indexes(observed, missing)
    } else {
        Plan {
            create: vec![make::pod(observed, None); missing],
            ..Plan::default()
        }
    }
}

/// How many pods should work now.
fn wanted(observed: &Observed<'_>) -> usize {
    let parallelism = observed.parallelism();
    match observed.spec.completions {
        Some(_) => {
            let left = (observed.completions() as usize).saturating_sub(observed.succeeded);
            left.min(parallelism)
        }
        // After the first success nobody new begins, and who works may finish.
        None if observed.succeeded > 0 => observed.active.len(),
        None => parallelism,
    }
}

fn fill_indexes(observed: &Observed<'_>, missing: usize) -> Plan {
    let mut taken = observed.succeeded_indexes.union(&indexes_of(&observed.active));
    if observed.replaces_only_failed() {
        taken = taken.union(&indexes_of(&observed.stopping));
    }
    if let Some(failed) = &observed.failed_indexes {
        taken = taken.union(failed);
    }
    let mut plan = Plan::default();
    for index in taken.gaps(observed.completions()).take(missing) {
        let wait = backoff::of_index(observed.predecessors.get(&index).copied(), observed.now);
        if wait.is_zero() {
            plan.create.push(make::pod(observed, Some(index)));
        } else {
            plan.next = plan.next.or(Next::After(wait));
        }
    }
    plan
}

/// Pods without a place, all but the best of those that share one, and then as many as asked for.
fn surplus<'a>(observed: &Observed<'a>, at_least: usize) -> Vec<&'a Arc<Pod>> {
    let mut active = observed.active.clone();
    active.sort_by(|one, other| {
        let [one, other] = [one, other].map(|pod| Candidate { pod, neighbours: 1 });
        order::compare(&one, &other, observed.now)
    });
    if !observed.is_indexed() {
        active.truncate(at_least);
        return active;
    }
    let mut seen = HashSet::new();
    // From the end, because the best come last.
    let (kept, mut surplus): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) = active
        .into_iter()
        .rev()
        .partition(|pod| observed.has_place(pod) && seen.insert(tracking::index(pod)));
    let more = at_least.saturating_sub(surplus.len());
    surplus.extend(kept.into_iter().rev().take(more));
    surplus
}

fn until(left: Option<SignedDuration>) -> Next {
    let left = left.map(|left| Duration::try_from(left).unwrap_or_default());
    left.map_or(Next::Wait, Next::After)
}

fn cloned(pods: &[&Arc<Pod>]) -> Vec<Arc<Pod>> {
    pods.iter().map(|pod| (*pod).clone()).collect()
}
