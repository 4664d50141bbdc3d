//! Pods of lower priority make room for a group, on as many nodes as it needs.

use std::{collections::BTreeMap, sync::Arc};

use super::{Preemption, awaited, cheapest, may_not_preempt};
use crate::{cluster::Cluster, demand::Demand, draft::Draft, placement::place, unit::Unit};

/// Where the members of the group can go once others have left, by their uids: enough of them, or none.
pub(crate) fn make_room_for_group(cluster: &Cluster, unit: &Unit) -> BTreeMap<String, Preemption> {
    let below = unit.least_priority();
    if !cluster.has_below(below) {
        return BTreeMap::new();
    }
    let promised = promised(cluster, unit);
    if promised.len() >= unit.missing() {
        return promised;
    }
    // Most groups that wait cannot be helped, which is found out sooner this way.
    if !would_fit_without(cluster, unit, |pod| pod.priority < below) {
        return BTreeMap::new();
    }
    let mut trial = Trial {
        cluster: cluster.clone(),
        places: BTreeMap::new(),
    };
    let mut crowded_out = Vec::new();
    for demand in &unit.members {
        match place(&trial.cluster, demand) {
            Ok(node) => trial.settle(demand, node, Vec::new()),
            Err(_) => crowded_out.push(demand),
        }
    }
    for demand in crowded_out {
        // Who is not needed for the group to run makes nobody leave.
        if trial.places.len() >= unit.missing() {
            break;
        }
        trial.make_room(demand, below);
    }
    if trial.places.len() < unit.missing() {
        return BTreeMap::new();
    }
    trial.places
}

/// The nodes that the members wait for, while those who make room on any of them are still leaving.
fn promised(cluster: &Cluster, unit: &Unit) -> BTreeMap<String, Preemption> {
    let is_awaited = unit
        .members
        .iter()
        .any(|demand| awaited(cluster, demand).is_some());
    let members = unit.members.iter().filter(|_| is_awaited);
    members
        .filter_map(|demand| {
            let node = demand.pod.status.as_ref()?.nominated_node_name.clone()?;
            let victims = Vec::new();
            cluster.node(&node)?;
            Some((demand.uid().to_owned(), Preemption { node, victims }))
        })
        .collect()
}

/// Whether enough of the unit's pods would have a place if these others left.
pub(crate) fn would_fit_without(cluster: &Cluster, unit: &Unit, leaves: impl Fn(&Demand) -> bool) -> bool {
    let mut emptied = cluster.clone();
    let example = unit.members.first();
    for (_, pod) in cluster.placed() {
        let is_own = example.is_some_and(|example| pod.is_of_same_group(example));
        if !is_own && leaves(pod) {
            emptied.remove_pod(pod.uid());
        }
    }
    let mut draft = Draft::new(&mut emptied);
    let mut fitted = 0;
    for demand in &unit.members {
        if let Ok(node) = draft.place(demand) {
            draft.put(demand, &node);
            fitted += 1;
        }
    }
    fitted >= unit.missing()
}

/// The cluster as it would be with those members that have found a place so far.
struct Trial {
    cluster: Cluster,
    places: BTreeMap<String, Preemption>,
}

impl Trial {
    fn make_room(&mut self, demand: &Arc<Demand>, below: i32) {
        // Who left for one member may have left room for another.
        let failure = match place(&self.cluster, demand) {
            Ok(node) => return self.settle(demand, node, Vec::new()),
            Err(failure) => failure,
        };
        if may_not_preempt(demand) {
            return;
        }
        if let Some(Preemption { node, victims }) = cheapest(&mut self.cluster, demand, below, &failure) {
            self.settle(demand, node, victims);
        }
    }

    fn settle(&mut self, demand: &Arc<Demand>, node: String, victims: Vec<Arc<Demand>>) {
        for victim in &victims {
            self.cluster.remove_pod(victim.uid());
        }
        self.cluster.put(demand.clone(), &node);
        let preemption = Preemption { node, victims };
        self.places.insert(demand.uid().to_owned(), preemption);
    }
}
