//! From the pods of former templates to those of the present one, step by step.

use super::{
    fleet::{Fleet, actual, available, replicas},
    limits::Limits,
    revision::resize,
};

/// How large the newest set may become in this step.
pub(crate) fn size_of_new(fleet: &Fleet, current: i32, limits: Limits) -> i32 {
    let room = (limits.most() - fleet.replicas()).max(0);
    current + room.min(limits.replicas - current)
}

/// Grows the newest set as far as the surge allows; if it cannot grow, shrinks old ones as far as
/// availability allows. Says whether anything moved.
pub(crate) fn roll(fleet: &mut Fleet, limits: Limits) -> bool {
    grow(fleet, limits) || shrink(fleet, limits)
}

fn grow(fleet: &mut Fleet, limits: Limits) -> bool {
    let Some(current) = fleet.new.as_ref().map(replicas) else {
        return false;
    };
    let wanted = if current > limits.replicas {
        limits.replicas
    } else {
        size_of_new(fleet, current, limits)
    };
    if let Some(new) = fleet.new.as_mut().filter(|_| wanted != current) {
        resize(new, wanted, limits);
    }
    wanted != current
}

fn shrink(fleet: &mut Fleet, limits: Limits) -> bool {
    // Pods of the newest set that are not available yet must not make old ones go.
    let expected = fleet
        .new
        .as_ref()
        .map(|new| replicas(new) - available(new))
        .unwrap_or_default();
    let spare = fleet.replicas() - limits.least() - expected;
    if spare <= 0 {
        return false;
    }
    let unhealthy = drop_unhealthy(fleet, spare, limits);
    let healthy = drop_available(fleet, limits);
    unhealthy + healthy > 0
}

/// Pods that are not available anyway go first: they would hold up the rollout for nothing.
fn drop_unhealthy(fleet: &mut Fleet, spare: i32, limits: Limits) -> i32 {
    let mut dropped = 0;
    for old in fleet.old.iter_mut().filter(|set| replicas(set) > 0) {
        let count = (replicas(old) - available(old)).min(spare - dropped);
        if count > 0 {
            resize(old, replicas(old) - count, limits);
            dropped += count;
        }
    }
    dropped
}

fn drop_available(fleet: &mut Fleet, limits: Limits) -> i32 {
    let active = fleet.old.iter().filter(|set| replicas(set) > 0);
    let counted: i32 = active.chain(&fleet.new).map(available).sum();
    let spare = counted - limits.least();
    let mut dropped = 0;
    for old in fleet.old.iter_mut().filter(|set| replicas(set) > 0) {
        let count = replicas(old).min(spare - dropped);
        if count > 0 {
            resize(old, replicas(old) - count, limits);
            dropped += count;
        }
    }
    dropped
}

/// Takes all old pods away. Says whether anything moved.
pub(crate) fn clear(fleet: &mut Fleet, limits: Limits) -> bool {
    let mut moved = false;
    for old in fleet.old.iter_mut().filter(|set| replicas(set) > 0) {
        resize(old, 0, limits);
        moved = true;
    }
    moved
}

/// Whether an old set still counts pods.
pub(crate) fn has_old_pods(fleet: &Fleet) -> bool {
    fleet.old.iter().any(|set| actual(set) > 0)
}
