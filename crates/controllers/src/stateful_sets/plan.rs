//! Which replica is made, replaced or given up next. Pure.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::{
        apps::v1::{ControllerRevision, StatefulSet, StatefulSetStatus},
        core::v1::{PersistentVolumeClaim, Pod, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use reconcile::Next;

use super::{
    replica::{self, ordinal},
    retention,
};
use crate::{
    ownership,
    pods::health,
    revisions::{self, Update},
};

pub(crate) struct Observed<'a> {
    pub set: &'a StatefulSet,
    pub pods: &'a [Arc<Pod>],
    /// Sorted, the newest last.
    pub revisions: &'a [Arc<ControllerRevision>],
    pub claims: &'a HashMap<String, Arc<PersistentVolumeClaim>>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// Makes the claims of a replica that are missing.
    Claim(Vec<PersistentVolumeClaim>, String),
    Own(Arc<PersistentVolumeClaim>, Vec<OwnerReference>),
    Create(Box<Pod>),
    Identify(Arc<Pod>, Box<Pod>),
    Delete(Arc<Pod>),
}

#[derive(Debug)]
pub(crate) struct Plan {
    pub revision: Update,
    pub actions: Vec<Action>,
    pub forget: Vec<Arc<ControllerRevision>>,
    pub status: StatefulSetStatus,
    pub next: Next,
}

pub(crate) fn plan(observed: &Observed<'_>, now: Timestamp) -> Plan {
    let set = observed.set;
    let spec = set.spec.clone().unwrap_or_default();
    let before = set.status.clone().unwrap_or_default();
    let collisions = before.collision_count.unwrap_or_default();
    let owner = ownership::reference(set);
    let number = revisions::next(observed.revisions);
    let newest = revisions::make(
        &owner,
        &set.metadata,
        &spec.template,
        revisions::STATEFUL_HASH,
        number,
        collisions,
    );
    let revision = revisions::update(observed.revisions, newest);
    let update = revision.revision().clone();
    let known = |revision: &&Arc<ControllerRevision>| {
        revision.metadata.name == before.current_revision && before.current_revision.is_some()
    };
    let current = observed.revisions.iter().find(known);
    let current = current.map_or_else(|| update.clone(), |current| (**current).clone());
    let names = Names {
        current: current.metadata.name.clone().unwrap_or_default(),
        update: update.metadata.name.clone().unwrap_or_default(),
    };

    let mut steps = Steps::new(observed, &names, revisions::template(&current), now);
    if set.metadata.deletion_timestamp.is_none() {
        steps.take();
    }
    let (actions, replaced) = (steps.actions, steps.replaced);
    let mut status = status(observed, &names, collisions, now);
    if replaced {
        status.current_replicas = status.current_replicas.map(|count| count - 1);
    }
    finish_rollout(set, &mut status);
    Plan {
        forget: forgotten(observed, &names),
        revision,
        actions,
        status,
        next: next_look(observed, now),
    }
}

struct Names {
    current: String,
    update: String,
}

/// One walk over the replicas, which ends at the first that others have to wait for.
struct Steps<'a> {
    observed: &'a Observed<'a>,
    names: &'a Names,
    current: Option<PodTemplateSpec>,
    now: Timestamp,
    is_parallel: bool,
    replicas: Vec<(i32, Option<Arc<Pod>>)>,
    /// Beyond the wanted number, the last first.
    surplus: Vec<Arc<Pod>>,
    actions: Vec<Action>,
    replaced: bool,
}

/// Whether to go on to the next replica.
enum Step {
    Next,
    Stop,
}

impl<'a> Steps<'a> {
    fn new(
        observed: &'a Observed<'a>,
        names: &'a Names,
        current: Option<PodTemplateSpec>,
        now: Timestamp,
    ) -> Self {
        let spec = observed.set.spec.as_ref();
        let start = start(observed.set);
        let wanted = start..start + size(observed.set);
        let mut by_ordinal: HashMap<i32, Arc<Pod>> = observed
            .pods
            .iter()
            .filter_map(|pod| Some((ordinal(observed.set, pod)?, pod.clone())))
            .collect();
        let replicas = wanted
            .map(|number| (number, by_ordinal.remove(&number)))
            .collect();
        let mut surplus: Vec<(i32, Arc<Pod>)> = by_ordinal.into_iter().collect();
        surplus.sort_by_key(|(number, _)| -number);
        Self {
            observed,
            names,
            current,
            now,
            is_parallel: spec.and_then(|spec| spec.pod_management_policy.as_deref()) == Some("Parallel"),
            replicas,
            surplus: surplus.into_iter().map(|(_, pod)| pod).collect(),
            actions: Vec::new(),
            replaced: false,
        }
    }

    fn take(&mut self) {
        for (number, pod) in self.replicas.clone() {
            let step = match pod {
                Some(pod) => self.keep(number, &pod),
                None => self.create(number),
            };
            if matches!(step, Step::Stop) && !self.is_parallel {
                return;
            }
        }
        for pod in self.surplus.clone() {
            self.own_claims(&pod, true);
            if matches!(self.give_up(&pod), Step::Stop) && !self.is_parallel {
                return;
            }
        }
        self.replace();
    }

    fn create(&mut self, number: i32) -> Step {
        let set = self.observed.set;
        let (template, revision) = self.version(number);
        let pod = replica::pod(set, &template, revision, number);
        let claims = replica::claims(set, number);
        let known = claims
            .iter()
            .filter_map(|(_, claim)| self.observed.claims.get(claim.metadata.name.as_deref()?));
        // The claims of the replica that was here go first.
        if known
            .into_iter()
            .any(|claim| retention::is_going(claim, set, &pod))
        {
            return Step::Stop;
        }
        self.claim(number, &pod);
        self.actions.push(Action::Create(Box::new(pod)));
        Step::Stop
    }

    fn keep(&mut self, number: i32, pod: &Arc<Pod>) -> Step {
        if health::is_finished(pod) {
            if !health::is_terminating(pod) {
                self.actions.push(Action::Delete(pod.clone()));
            }
            return Step::Stop;
        }
        if health::phase(pod) == "Pending" {
            self.claim(number, pod);
        }
        let is_waited_for = health::is_terminating(pod) || !self.is_available(pod);
        if is_waited_for && !self.is_parallel {
            return Step::Stop;
        }
        self.own_claims(pod, false);
        if !replica::is_identified(self.observed.set, pod, number) {
            let mut identified = (**pod).clone();
            replica::identify(self.observed.set, &mut identified, number);
            self.actions
                .push(Action::Identify(pod.clone(), Box::new(identified)));
        }
        Step::Next
    }

    fn give_up(&mut self, pod: &Arc<Pod>) -> Step {
        if health::is_terminating(pod) {
            return Step::Stop;
        }
        let is_first_unhealthy = self
            .first_unavailable()
            .is_some_and(|first| first.metadata.uid == pod.metadata.uid);
        if self.is_parallel || self.is_available(pod) || is_first_unhealthy {
            self.actions.push(Action::Delete(pod.clone()));
        }
        Step::Stop
    }

    /// The first that is not available: among the replicas, then among the surplus from below.
    fn first_unavailable(&self) -> Option<&Arc<Pod>> {
        let replicas = self.replicas.iter().filter_map(|(_, pod)| pod.as_ref());
        let mut pods = replicas.chain(self.surplus.iter().rev());
        pods.find(|pod| !self.is_available(pod) || health::is_terminating(pod))
    }

    /// Replaces replicas of former revisions, the last first and one at a time.
    fn replace(&mut self) {
        let strategy = self
            .observed
            .set
            .spec
            .as_ref()
            .and_then(|spec| spec.update_strategy.as_ref());
        if strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("OnDelete") {
            return;
        }
        let partition = usize::try_from(partition(self.observed.set).unwrap_or_default()).unwrap_or_default();
        for (_, pod) in self.replicas.iter().skip(partition).rev() {
            // A replica that was just made is of the newest revision and not available.
            let Some(pod) = pod else {
                return;
            };
            let is_terminating = health::is_terminating(pod);
            if replica::revision(pod) != Some(&self.names.update) && !is_terminating {
                let is_going = self.actions.contains(&Action::Delete(pod.clone()));
                if !is_going {
                    self.actions.push(Action::Delete(pod.clone()));
                }
                self.replaced = true;
                return;
            }
            if is_terminating || !self.is_available(pod) {
                return;
            }
        }
    }

    /// The template for a new replica: below the partition that of the current revision.
    fn version(&self, number: i32) -> (PodTemplateSpec, &'a str) {
        let set = self.observed.set;
        let status = set.status.as_ref();
        let strategy = set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref());
        let is_rolling = strategy.is_none_or(|strategy| strategy.type_.as_deref() != Some("OnDelete"));
        let kept = match partition(set) {
            Some(partition) => partition,
            None if is_rolling => status
                .and_then(|status| status.current_replicas)
                .unwrap_or_default(),
            None => 0,
        };
        match &self.current {
            Some(current) if number < start(set) + kept => (current.clone(), &self.names.current),
            _ => {
                let template = set.spec.as_ref().map(|spec| spec.template.clone());
                (template.unwrap_or_default(), &self.names.update)
            }
        }
    }

    fn claim(&mut self, number: i32, pod: &Pod) {
        let claims = replica::claims(self.observed.set, number).into_iter();
        let is_missing = |claim: &PersistentVolumeClaim| {
            let name = claim.metadata.name.as_deref().unwrap_or_default();
            let known = self.observed.claims.get(name);
            known.is_none_or(|known| known.metadata.deletion_timestamp.is_some())
        };
        let missing: Vec<_> = claims.map(|(_, claim)| claim).filter(is_missing).collect();
        if !missing.is_empty() {
            let pod = pod.metadata.name.clone().unwrap_or_default();
            self.actions.push(Action::Claim(missing, pod));
        }
    }

    fn own_claims(&mut self, pod: &Arc<Pod>, is_surplus: bool) {
        let set = self.observed.set;
        for (_, claim) in ordinal(set, pod)
            .map(|number| replica::claims(set, number))
            .unwrap_or_default()
        {
            let name = claim.metadata.name.as_deref().unwrap_or_default();
            let Some(known) = self.observed.claims.get(name) else {
                continue;
            };
            if let Some(owners) = retention::owners(known, set, pod, is_surplus) {
                self.actions.push(Action::Own(known.clone(), owners));
            }
        }
    }

    fn is_available(&self, pod: &Pod) -> bool {
        is_available(self.observed.set, pod, self.now)
    }
}

fn is_available(set: &StatefulSet, pod: &Pod, now: Timestamp) -> bool {
    health::available_in(pod, min_ready(set), now).is_some_and(|wait| wait.is_zero())
}

fn start(set: &StatefulSet) -> i32 {
    let ordinals = set.spec.as_ref().and_then(|spec| spec.ordinals.as_ref());
    ordinals.and_then(|ordinals| ordinals.start).unwrap_or_default()
}

fn size(set: &StatefulSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

fn min_ready(set: &StatefulSet) -> i32 {
    let spec = set.spec.as_ref();
    spec.and_then(|spec| spec.min_ready_seconds).unwrap_or_default()
}

fn partition(set: &StatefulSet) -> Option<i32> {
    let strategy = set.spec.as_ref()?.update_strategy.as_ref()?;
    Some(strategy.rolling_update.as_ref()?.partition.unwrap_or_default())
}

fn status(observed: &Observed<'_>, names: &Names, collisions: i32, now: Timestamp) -> StatefulSetStatus {
    let set = observed.set;
    let is_ready = |pod: &&Arc<Pod>| health::phase(pod) == "Running" && health::is_ready(pod);
    let count = |test: &dyn Fn(&&Arc<Pod>) -> bool| observed.pods.iter().filter(test).count() as i32;
    let of = |name: &str| count(&|pod| !health::is_terminating(pod) && replica::revision(pod) == Some(name));
    let unless_zero = |count: i32| (count != 0).then_some(count);
    StatefulSetStatus {
        observed_generation: set.metadata.generation,
        replicas: count(&|_| true),
        ready_replicas: unless_zero(count(&is_ready)),
        available_replicas: Some(count(&|pod| is_ready(pod) && is_available(set, pod, now))),
        current_replicas: unless_zero(of(&names.current)),
        updated_replicas: unless_zero(of(&names.update)),
        current_revision: Some(names.current.clone()),
        update_revision: Some(names.update.clone()),
        collision_count: Some(collisions),
        conditions: None,
    }
}

/// When every replica is of the newest revision and ready, that revision is the current one.
fn finish_rollout(set: &StatefulSet, status: &mut StatefulSetStatus) {
    let strategy = set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref());
    let is_rolling = strategy.is_none_or(|strategy| strategy.type_.as_deref() != Some("OnDelete"));
    let wanted = size(set);
    let is_full = |count: Option<i32>| count.unwrap_or_default() == wanted;
    if is_rolling
        && is_full(status.updated_replicas)
        && is_full(status.ready_replicas)
        && status.replicas == wanted
    {
        status.current_replicas = status.updated_replicas;
        status.current_revision.clone_from(&status.update_revision);
    }
}

/// Revisions nobody uses, beyond the limit of the history.
fn forgotten(observed: &Observed<'_>, names: &Names) -> Vec<Arc<ControllerRevision>> {
    let spec = observed.set.spec.as_ref();
    let in_use: Vec<&str> = observed
        .pods
        .iter()
        .filter_map(|pod| replica::revision(pod))
        .chain([names.current.as_str(), names.update.as_str()])
        .collect();
    let limit = spec.and_then(|spec| spec.revision_history_limit);
    revisions::surplus(observed.revisions, limit, |revision| {
        let name = revision.metadata.name.as_deref();
        name.is_some_and(|name| in_use.contains(&name))
    })
}

/// When the first of the ready pods becomes available without anything else happening.
fn next_look(observed: &Observed<'_>, now: Timestamp) -> Next {
    let waits = observed
        .pods
        .iter()
        .filter_map(|pod| health::available_in(pod, min_ready(observed.set), now))
        .filter(SignedDuration::is_positive);
    let soonest = waits.min().and_then(|wait| Duration::try_from(wait).ok());
    soonest.map_or(Next::Wait, Next::After)
}

#[cfg(test)]
mod tests;
