//! A new template reaches the nodes: a few at a time, or beside the old daemons. Pure.

use std::sync::Arc;

use k8s_openapi::api::{
    apps::v1::{DaemonSet, RollingUpdateDaemonSet},
    core::v1::Pod,
};

use super::{Action, Fleet, remaining};
use crate::{
    amounts::{self, Round},
    daemon_sets::eligibility::Standing,
};

fn limits(set: &DaemonSet) -> Option<RollingUpdateDaemonSet> {
    let strategy = set.spec.as_ref()?.update_strategy.as_ref()?;
    let is_rolling = strategy.type_.as_deref() == Some("RollingUpdate");
    is_rolling.then(|| strategy.rolling_update.clone().unwrap_or_default())
}

/// Whether two daemons may be on a node at a time.
pub(super) fn surges(set: &DaemonSet) -> bool {
    limits(set).is_some_and(|limits| amounts::of(limits.max_surge.as_ref(), 1, Round::Up) > 0)
}

/// The daemons of a node that remain: one of each template at most.
struct Pair<'a> {
    node: &'a str,
    new: Option<&'a Arc<Pod>>,
    old: Option<&'a Arc<Pod>>,
}

impl Fleet<'_> {
    pub(super) fn roll_out(&self) -> Vec<Action> {
        let Some(limits) = limits(self.observed.set) else {
            return Vec::new();
        };
        let wanted = self
            .standings
            .values()
            .filter(|standing| **standing == Standing::Wanted);
        let wanted = i32::try_from(wanted.count()).unwrap_or(i32::MAX);
        let share = |amount| usize::try_from(amounts::of(amount, wanted, Round::Up)).unwrap_or_default();
        let surge = share(limits.max_surge.as_ref());
        // With neither allowed nothing would ever change.
        let unavailable = match share(limits.max_unavailable.as_ref()) {
            0 if surge == 0 && wanted > 0 => 1,
            unavailable => unavailable,
        };
        if surge > 0 {
            self.surge(surge, usize::try_from(wanted).unwrap_or_default())
        } else {
            self.replace(unavailable)
        }
    }

    /// Nodes with daemons, or that should have one.
    fn pairs(&self) -> impl Iterator<Item = Pair<'_>> {
        let standings = self.standings.iter();
        let bare = standings
            .filter(|(node, standing)| **standing == Standing::Wanted && !self.daemons.contains_key(*node))
            .map(|(node, _)| *node);
        self.daemons.keys().copied().chain(bare).map(|node| {
            let (new, old): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) =
                remaining(self.on(node)).partition(|pod| self.is_updated(pod));
            Pair {
                node,
                new: new.first().copied(),
                old: old.first().copied(),
            }
        })
    }

    /// Old daemons that do not work go at once, others as long as enough work.
    fn replace(&self, allowed: usize) -> Vec<Action> {
        let mut unavailable = 0;
        let (mut broken, mut working) = (Vec::new(), Vec::new());
        for pair in self.pairs() {
            match (pair.new, pair.old) {
                (None, Some(old)) if self.is_available(old) => working.push(old),
                (None, Some(old)) => {
                    broken.push(old);
                    unavailable += 1;
                }
                (Some(new), None) if self.is_available(new) => {}
                _ => unavailable += 1,
            }
        }
        let left = allowed.saturating_sub(unavailable);
        let going = broken.into_iter().chain(working.into_iter().take(left));
        going.map(|pod| Action::Delete(pod.clone())).collect()
    }

    /// New daemons come beside the old, which go when the new ones work.
    fn surge(&self, allowed: usize, wanted: usize) -> Vec<Action> {
        let mut actions = Vec::new();
        let (mut surging, mut available) = (0, 0);
        let (mut candidates, mut unwanted) = (Vec::new(), Vec::new());
        for Pair { node, new, old } in self.pairs() {
            available += usize::from(old.or(new).is_some_and(|pod| self.is_available(pod)));
            let is_wanted = self.standings.get(node) == Some(&Standing::Wanted);
            match (new, old) {
                (_, None) => {}
                (Some(new), Some(old)) if self.is_available(new) => {
                    actions.push(Action::Delete(old.clone()));
                }
                (Some(_), Some(_)) => surging += 1,
                (None, Some(old)) => match (self.is_available(old), is_wanted) {
                    (false, true) => actions.push(self.create(node)),
                    (false, false) => actions.push(Action::Delete(old.clone())),
                    (true, true) => candidates.push(node),
                    (true, false) => unwanted.push(old),
                },
            }
        }
        // Where daemons move to other nodes, the old ones go when the new ones work there.
        let spare = available.saturating_sub(wanted);
        actions.extend(
            unwanted
                .into_iter()
                .take(spare)
                .map(|pod| Action::Delete(pod.clone())),
        );
        let left = allowed.saturating_sub(surging);
        actions.extend(candidates.into_iter().take(left).map(|node| self.create(node)));
        actions
    }
}
