//! A change of the deployment's size, apart from rollouts: in the middle of one, every set gets its share.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use super::{
    fleet::{self, Fleet, age, replicas},
    limits::{self, Limits},
    revision::{self, resize},
};

/// Whether the deployment has another size than when its sets were last resized.
pub(crate) fn is_due(fleet: &Fleet, limits: Limits) -> bool {
    let mut active = fleet.all().filter(|set| replicas(set) > 0);
    active.any(|set| revision::desired(set).is_some_and(|desired| desired != limits.replicas))
}

pub(crate) fn scale(deployment: &Deployment, fleet: &mut Fleet) {
    let limits = Limits::of(deployment);
    if fleet.all().filter(|set| replicas(set) > 0).count() <= 1 {
        if let Some(only) = active_or_newest(fleet) {
            resize(only, limits.replicas, limits);
        }
    } else if fleet.new.as_ref().is_some_and(|new| is_saturated(new, limits)) {
        for old in fleet.old.iter_mut().filter(|set| replicas(set) > 0) {
            resize(old, 0, limits);
        }
    } else if deployment.spec.as_ref().is_some_and(limits::is_rolling) {
        share_out(deployment, fleet, limits);
    }
}

fn active_or_newest(fleet: &mut Fleet) -> Option<&mut ReplicaSet> {
    if fleet.all().any(|set| replicas(set) > 0) {
        return fleet.all_mut().find(|set| replicas(set) > 0);
    }
    let Fleet { new, old } = fleet;
    new.as_mut().or(old.last_mut())
}

/// The set has all the pods the deployment wants, and they are available.
fn is_saturated(new: &ReplicaSet, limits: Limits) -> bool {
    replicas(new) == limits.replicas
        && revision::desired(new) == Some(limits.replicas)
        && fleet::available(new) == limits.replicas
}

/// Large sets first; among equals the younger one grows and the older one shrinks.
fn share_out(deployment: &Deployment, fleet: &mut Fleet, limits: Limits) {
    let allowed = if limits.replicas > 0 { limits.most() } else { 0 };
    let missing = allowed - fleet.replicas();
    let mut active: Vec<&mut ReplicaSet> = fleet.all_mut().filter(|set| replicas(set) > 0).collect();
    active.sort_by_key(|set| age(set));
    if missing > 0 {
        active.reverse();
    }
    active.sort_by_key(|set| -replicas(set));

    let before = deployment.status.as_ref().and_then(|status| status.replicas);
    let mut added = 0;
    let mut sizes = Vec::new();
    for set in &active {
        let left = missing - added;
        let share = share(set, limits, before.unwrap_or_default());
        let share = if missing > 0 {
            share.min(left)
        } else {
            share.max(left)
        };
        let share = if missing == 0 || left == 0 { 0 } else { share };
        sizes.push(replicas(set) + share);
        added += share;
    }
    if let Some(largest) = sizes.first_mut() {
        *largest = (*largest + missing - added).max(0);
    }
    for (set, size) in active.into_iter().zip(sizes) {
        resize(set, size, limits);
    }
}

/// By how much the set would change if the deployment's growth were spread evenly.
fn share(set: &ReplicaSet, limits: Limits, pods_before: i32) -> i32 {
    let size = replicas(set);
    if limits.replicas == 0 {
        return -size;
    }
    let most_before = revision::most(set)
        .filter(|most| *most > 0)
        .unwrap_or(pods_before);
    if most_before == 0 {
        return 0;
    }
    let share = f64::from(size) * f64::from(limits.most()) / f64::from(most_before);
    share.round() as i32 - size
}
