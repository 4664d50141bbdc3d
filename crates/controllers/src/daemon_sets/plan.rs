//! Which daemons are made and which go. Pure.
//!
//! Nodes are put in order first: one daemon where one should be, none elsewhere. Only when nothing is
//! left to do there, a new template is rolled out.

mod rollout;
mod status;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    apps::v1::{ControllerRevision, DaemonSet, DaemonSetStatus},
    core::v1::{Node, Pod, PodSpec},
};
use reconcile::Next;

use super::{
    eligibility::{Standing, standing},
    pod::{self, is_updated, target},
};
use crate::{
    ownership,
    pods::health,
    revisions::{self, DAEMON_HASH, Update},
};

pub(crate) struct Observed<'a> {
    pub set: &'a DaemonSet,
    pub pods: &'a [Arc<Pod>],
    pub nodes: &'a [Arc<Node>],
    /// Sorted, the newest last.
    pub revisions: &'a [Arc<ControllerRevision>],
    /// Nodes on which daemons fail, and how long until the next attempt.
    pub held_back: &'a HashMap<String, Duration>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    Create(Box<Pod>),
    Delete(Arc<Pod>),
    /// A daemon ended; it goes so that the next can come.
    Replace(Arc<Pod>),
}

#[derive(Debug)]
pub(crate) struct Plan {
    pub revision: Update,
    pub actions: Vec<Action>,
    pub forget: Vec<Arc<ControllerRevision>>,
    pub status: DaemonSetStatus,
    pub next: Next,
}

pub(crate) fn plan(observed: &Observed<'_>, now: Timestamp) -> Plan {
    let set = observed.set;
    let revision = present_revision(observed);
    let fleet = Fleet::new(observed, hash(revision.revision()), now);
    let mut actions = fleet.put_in_order();
    if actions.is_empty() {
        actions = fleet.roll_out();
    }
    let in_use: Vec<String> = [hash(revision.revision())]
        .into_iter()
        .chain(observed.pods.iter().filter_map(|pod| label(pod).cloned()))
        .collect();
    let limit = set.spec.as_ref().and_then(|spec| spec.revision_history_limit);
    Plan {
        forget: revisions::surplus(observed.revisions, limit, |known| in_use.contains(&hash(known))),
        status: fleet.status(),
        next: next_look(observed, now),
        actions,
        revision,
    }
}

fn present_revision(observed: &Observed<'_>) -> Update {
    let set = observed.set;
    let template = set.spec.clone().unwrap_or_default().template;
    let collisions = set.status.as_ref().and_then(|status| status.collision_count);
    let newest = revisions::make(
        &ownership::reference(set),
        &set.metadata,
        &template,
        DAEMON_HASH,
        revisions::next(observed.revisions),
        collisions.unwrap_or_default(),
    );
    revisions::update(observed.revisions, newest)
}

fn hash(revision: &ControllerRevision) -> String {
    let labels = revision.metadata.labels.as_ref();
    let hash = labels.and_then(|labels| labels.get(DAEMON_HASH));
    hash.cloned().unwrap_or_default()
}

fn label(pod: &Pod) -> Option<&String> {
    pod.metadata.labels.as_ref()?.get(DAEMON_HASH)
}

/// The daemons by node.
struct Fleet<'a> {
    observed: &'a Observed<'a>,
    spec: PodSpec,
    hash: String,
    now: Timestamp,
    standings: BTreeMap<&'a str, Standing>,
    /// The oldest first, those that have a node before those that have none.
    daemons: BTreeMap<&'a str, Vec<&'a Arc<Pod>>>,
}

impl<'a> Fleet<'a> {
    fn new(observed: &'a Observed<'a>, hash: String, now: Timestamp) -> Self {
        let spec = pod::spec(observed.set);
        let name = |node: &'a Arc<Node>| node.metadata.name.as_deref().unwrap_or_default();
        let nodes = observed.nodes.iter();
        let standings = nodes.map(|node| (name(node), standing(&spec, node))).collect();
        let mut daemons: BTreeMap<&str, Vec<&Arc<Pod>>> = BTreeMap::new();
        for pod in observed.pods {
            if let Some(node) = target(pod) {
                daemons.entry(node).or_default().push(pod);
            }
        }
        for pods in daemons.values_mut() {
            pods.sort_by_key(|pod| {
                let is_unplaced = pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none());
                let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
                (is_unplaced, created, &pod.metadata.name)
            });
        }
        Self {
            observed,
            spec,
            hash,
            now,
            standings,
            daemons,
        }
    }

    fn on(&self, node: &str) -> &[&'a Arc<Pod>] {
        self.daemons.get(node).map(Vec::as_slice).unwrap_or_default()
    }

    fn put_in_order(&self) -> Vec<Action> {
        let nodes = self.standings.iter();
        let mut actions: Vec<Action> = nodes
            .flat_map(|(node, standing)| self.tend(node, *standing))
            .collect();
        // A pod that waits for a node that has gone would wait for ever.
        let lost = self
            .daemons
            .iter()
            .filter(|(node, _)| !self.standings.contains_key(*node));
        let lost = lost.flat_map(|(_, pods)| pods).filter(|pod| {
            !health::is_terminating(pod) && pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_none())
        });
        actions.extend(lost.map(|pod| Action::Delete((*pod).clone())));
        actions
    }

    fn tend(&self, node: &str, standing: Standing) -> Vec<Action> {
        let pods = self.on(node);
        match standing {
            Standing::Wanted if pods.is_empty() => vec![self.create(node)],
            Standing::Unwanted => remaining(pods).map(|pod| Action::Delete(pod.clone())).collect(),
            _ => self.tidy(node, pods, standing),
        }
    }

    /// Ended daemons make way for new ones, and of several only the right one stays.
    fn tidy(&self, node: &str, pods: &[&'a Arc<Pod>], standing: Standing) -> Vec<Action> {
        let (ended, running): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) =
            remaining(pods).partition(|pod| health::is_finished(pod));
        let may_go = |pod: &&&Arc<Pod>| {
            health::phase(pod) == "Succeeded" || !self.observed.held_back.contains_key(node)
        };
        let ended = ended
            .iter()
            .filter(may_go)
            .map(|pod| Action::Replace((*pod).clone()));
        let mut actions: Vec<Action> = ended.collect();
        if !rollout::surges(self.observed.set) {
            let excess = running.iter().skip(1);
            actions.extend(excess.map(|pod| Action::Delete((*pod).clone())));
        } else if running.is_empty() {
            // One that is on its way out does not keep the next from coming.
            let is_needed = standing == Standing::Wanted && actions.is_empty();
            actions.extend(is_needed.then(|| self.create(node)));
        } else {
            actions.extend(self.excess_in_surge(&running).map(Action::Delete));
        }
        actions
    }

    /// A new daemon may run beside the old while it is not available and the old one still works.
    fn excess_in_surge(&self, running: &[&'a Arc<Pod>]) -> impl Iterator<Item = Arc<Pod>> + use<'a> {
        let (new, old): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) =
            running.iter().partition(|pod| label(pod) == Some(&self.hash));
        let is_replaced = match (new.first(), old.first()) {
            (Some(new), Some(old)) => !health::is_ready(old) || self.is_available(new),
            _ => false,
        };
        let old = old.into_iter().skip(usize::from(!is_replaced));
        new.into_iter().skip(1).chain(old).cloned()
    }

    fn create(&self, node: &str) -> Action {
        Action::Create(Box::new(pod::make(
            self.observed.set,
            &self.spec,
            node,
            &self.hash,
        )))
    }

    fn is_updated(&self, pod: &Pod) -> bool {
        is_updated(self.observed.set, pod, &self.hash)
    }

    fn is_available(&self, pod: &Pod) -> bool {
        let wait = health::available_in(pod, min_ready(self.observed.set), self.now);
        wait.is_some_and(|wait| wait.is_zero())
    }
}

fn remaining<'a, 'b>(pods: &'b [&'a Arc<Pod>]) -> impl Iterator<Item = &'a Arc<Pod>> + 'b {
    pods.iter().copied().filter(|pod| !health::is_terminating(pod))
}

fn min_ready(set: &DaemonSet) -> i32 {
    let spec = set.spec.as_ref();
    spec.and_then(|spec| spec.min_ready_seconds).unwrap_or_default()
}

/// When a ready pod becomes available, or a failed one may be replaced, without anything else happening.
fn next_look(observed: &Observed<'_>, now: Timestamp) -> Next {
    let available = observed
        .pods
        .iter()
        .filter_map(|pod| health::available_in(pod, min_ready(observed.set), now))
        .filter(SignedDuration::is_positive)
        .filter_map(|wait| Duration::try_from(wait).ok());
    let soonest = available.chain(observed.held_back.values().copied()).min();
    soonest.map_or(Next::Wait, Next::After)
}
