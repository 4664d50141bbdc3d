//! What becomes of a deployment's sets, and what to say of it. Pure.

use std::{collections::HashSet, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::{
    api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet, ReplicaSetSpec},
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use reconcile::Next;

use super::{
    conditions::{self, PROGRESSING, condition},
    fleet::{Fleet, TEMPLATE_HASH, actual, replicas},
    limits::{self, Limits},
    revision, rollout, scale, status,
};
use crate::{hash, ownership};

/// The longest name a ReplicaSet can have.
const LONGEST_NAME: usize = 253;

pub(crate) struct Observed<'a> {
    pub deployment: &'a Deployment,
    pub sets: &'a [Arc<ReplicaSet>],
    /// Uids of the sets that have pods which have not finished.
    pub running: &'a HashSet<String>,
}

#[derive(Debug)]
pub(crate) struct Plan {
    pub create: Option<ReplicaSet>,
    pub update: Vec<(Arc<ReplicaSet>, ReplicaSet)>,
    pub delete: Vec<ReplicaSet>,
    pub status: DeploymentStatus,
    /// The revision the deployment should carry.
    pub revision: Option<String>,
    pub next: Next,
}

pub(crate) fn plan(observed: &Observed<'_>, now: Timestamp) -> Plan {
    let deployment = observed.deployment;
    let mut fleet = Fleet::of(deployment, observed.sets);
    let mut before = deployment.status.clone().unwrap_or_default();
    keep_up(deployment, &mut fleet, &mut before, now);

    let spec = deployment.spec.as_ref();
    let is_paused = spec.and_then(|spec| spec.paused) == Some(true);
    let is_leaving = deployment.metadata.deletion_timestamp.is_some();
    let mut delete = Vec::new();
    if !is_leaving {
        conditions::tell_of_pause(deployment, &mut before, now);
    }
    let (status, next) = if is_leaving {
        (status::counted(deployment, &fleet, &before, now), Next::Wait)
    } else if is_paused || scale::is_due(&fleet, Limits::of(deployment)) {
        scale::scale(deployment, &mut fleet);
        if is_paused {
            delete = forgotten(deployment, &fleet);
        }
        (status::counted(deployment, &fleet, &before, now), Next::Wait)
    } else {
        let has_moved = if spec.is_some_and(limits::is_rolling) {
            roll(deployment, &mut fleet, &mut before, now)
        } else {
            recreate(observed, &mut fleet, &mut before, now)
        };
        if !has_moved && status::is_complete(deployment, &before) {
            delete = forgotten(deployment, &fleet);
        }
        let status = status::of_rollout(deployment, &fleet, &before, now);
        let next = status::next_look(deployment, &status, now);
        (status, next)
    };
    let revision = fleet.new.as_ref().and_then(|new| {
        new.metadata
            .annotations
            .as_ref()?
            .get(revision::REVISION)
            .cloned()
    });
    let (create, update) = differences(observed.sets, fleet);
    Plan {
        create,
        update,
        delete,
        status,
        revision,
        next,
    }
}

/// Gives the set for the present template its revision and what else it takes from the deployment.
fn keep_up(deployment: &Deployment, fleet: &mut Fleet, status: &mut DeploymentStatus, now: Timestamp) {
    let revision = revision::next(fleet);
    let Some(new) = &mut fleet.new else {
        return;
    };
    revision::pass_on(deployment, new, revision);
    let min_ready = deployment.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
    let known = new.spec.get_or_insert_default();
    if known.min_ready_seconds.unwrap_or_default() != min_ready.unwrap_or_default() {
        known.min_ready_seconds = Some(min_ready.unwrap_or_default());
    }
    if conditions::deadline(deployment).is_some() && conditions::find(status, PROGRESSING).is_none() {
        let name = new.metadata.name.as_deref().unwrap_or_default();
        let message = format!("Found new replica set {name:?}");
        let found = condition(PROGRESSING, "True", "FoundNewReplicaSet", message, now);
        conditions::set(status, found);
    }
}

fn roll(deployment: &Deployment, fleet: &mut Fleet, status: &mut DeploymentStatus, now: Timestamp) -> bool {
    let limits = Limits::of(deployment);
    if fleet.new.is_none() {
        let size = rollout::size_of_new(fleet, 0, limits);
        add(deployment, fleet, status, size, now);
    }
    rollout::roll(fleet, limits)
}

/// No pod of the present template starts while one of another may still run.
fn recreate(
    observed: &Observed<'_>,
    fleet: &mut Fleet,
    status: &mut DeploymentStatus,
    now: Timestamp,
) -> bool {
    let limits = Limits::of(observed.deployment);
    let own = fleet.new.as_ref().and_then(|new| new.metadata.uid.as_ref());
    let is_running = observed.running.iter().any(|uid| Some(uid) != own);
    if rollout::clear(fleet, limits) || rollout::has_old_pods(fleet) || is_running {
        return true;
    }
    match &mut fleet.new {
        Some(new) if replicas(new) != limits.replicas => revision::resize(new, limits.replicas, limits),
        Some(_) => {}
        None => add(observed.deployment, fleet, status, limits.replicas, now),
    }
    false
}

fn add(deployment: &Deployment, fleet: &mut Fleet, status: &mut DeploymentStatus, size: i32, now: Timestamp) {
    let mut new = new_set(deployment, status.collision_count);
    revision::pass_on(deployment, &mut new, revision::next(fleet));
    revision::resize(&mut new, size, Limits::of(deployment));
    if conditions::deadline(deployment).is_some() {
        let name = new.metadata.name.as_deref().unwrap_or_default();
        let message = format!("Created new replica set {name:?}");
        let created = condition(PROGRESSING, "True", "NewReplicaSetCreated", message, now);
        conditions::set(status, created);
    }
    fleet.new = Some(new);
}

/// The name is made from the template, so that making the set twice makes one set.
fn new_set(deployment: &Deployment, collisions: Option<i32>) -> ReplicaSet {
    let spec = deployment.spec.clone().unwrap_or_default();
    let hash = hash::of_template(&spec.template, collisions);
    let name = deployment.metadata.name.as_deref().unwrap_or_default();
    let room = LONGEST_NAME - 1 - hash.len();
    let mut template = spec.template;
    let meta = template.metadata.get_or_insert_default();
    let labels = meta.labels.get_or_insert_default();
    labels.insert(TEMPLATE_HASH.into(), hash.clone());
    let mut pairs = spec.selector.match_labels.unwrap_or_default();
    pairs.insert(TEMPLATE_HASH.into(), hash.clone());
    ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", name.get(..room).unwrap_or(name))),
            namespace: deployment.metadata.namespace.clone(),
            labels: Some(labels.clone()),
            owner_references: Some(vec![ownership::reference(deployment)]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(0),
            min_ready_seconds: spec.min_ready_seconds,
            selector: LabelSelector {
                match_labels: Some(pairs),
                match_expressions: spec.selector.match_expressions,
            },
            template: Some(template),
        }),
        status: None,
    }
}

/// Old sets beyond the limit of the history; those that still have pods stay.
fn forgotten(deployment: &Deployment, fleet: &Fleet) -> Vec<ReplicaSet> {
    let limit = deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.revision_history_limit);
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
        return Vec::new();
    };
    let alive = fleet
        .old
        .iter()
        .filter(|set| set.metadata.deletion_timestamp.is_none());
    let mut alive: Vec<&ReplicaSet> = alive.collect();
    alive.sort_by_key(|set| revision::of(set));
    let surplus = alive.len().saturating_sub(limit);
    let oldest = alive.into_iter().take(surplus);
    oldest.filter(|set| is_empty(set)).cloned().collect()
}

/// Wants no pods, has none, and says so of its present generation.
fn is_empty(set: &ReplicaSet) -> bool {
    let observed = set.status.as_ref().and_then(|status| status.observed_generation);
    replicas(set) == 0 && actual(set) == 0 && set.metadata.generation <= observed
}

type Differences = (Option<ReplicaSet>, Vec<(Arc<ReplicaSet>, ReplicaSet)>);

/// What there is to write so that the sets become as the fleet has them.
fn differences(sets: &[Arc<ReplicaSet>], fleet: Fleet) -> Differences {
    let mut create = None;
    let mut update = Vec::new();
    for after in fleet.old.into_iter().chain(fleet.new) {
        let known = sets.iter().find(|set| set.metadata.name == after.metadata.name);
        match known {
            Some(before) if **before == after => {}
            Some(before) => update.push((before.clone(), after)),
            None => create = Some(after),
        }
    }
    (create, update)
}

#[cfg(test)]
mod tests;
