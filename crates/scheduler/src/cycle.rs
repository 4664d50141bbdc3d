//! One look at everything that waits: who gets a place, and what the others are told. Pure.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use crate::{
    cluster::Cluster,
    demand::Demand,
    draft::Draft,
    explain::{Help, behind, told},
    filters::Volumes,
    preemption::{Preemption, make_room_for_group, preempt, would_fit_without},
    shortlist::Explained,
    storage::Arrangement,
    unit::Unit,
};

/// After so long, those who came later do not take the devices a waiting unit needs.
const PATIENCE: SignedDuration = SignedDuration::from_secs(30);

#[derive(Clone, Debug)]
pub enum Decision {
    Bind {
        demand: Arc<Demand>,
        node: String,
        /// What its claims need first.
        arrangements: Vec<Arrangement>,
    },
    Wait {
        demand: Arc<Demand>,
        message: String,
        /// Who has to leave so that the pod can come.
        preemption: Option<Preemption>,
    },
}

/// Decides on all units, the important and the early first. The cluster holds the new places afterwards.
pub fn decide(cluster: &mut Cluster, mut units: Vec<Unit>, now: Timestamp) -> Vec<Decision> {
    units.sort_by_cached_key(Unit::order);
    let mut draft = Draft::new(cluster);
    let mut decisions = Vec::new();
    // Devices that somebody ahead has waited for too long, and what those behind are told.
    let mut claimed: BTreeMap<String, String> = BTreeMap::new();
    // Places that are being freed for somebody count as taken for all who come later.
    let mut promised: Vec<(Arc<Demand>, String)> = Vec::new();
    for unit in units {
        let ahead = unit.devices().find_map(|device| claimed.get(device));
        if let Some(message) = ahead.cloned() {
            decisions.extend(
                unit.members
                    .into_iter()
                    .map(|demand| wait(demand, message.clone(), None)),
            );
            continue;
        }
        let has_waited = unit
            .since()
            .is_some_and(|since| now.duration_since(since) >= PATIENCE);
        match settle(&mut draft, &unit) {
            Ok(places) => decisions.extend(places),
            Err(refusals) => {
                let can_hope = unit.is_missing_nobody() && refusals.iter().all(|refusal| refusal.can_hope);
                if has_waited && can_hope && is_possible(draft.cluster, &unit) {
                    for device in unit.devices() {
                        let told = || behind(draft.cluster, &unit, device);
                        claimed.entry(device.to_owned()).or_insert_with(told);
                    }
                }
                for refusal in refusals {
                    if let Decision::Wait {
                        demand,
                        preemption: Some(preemption),
                        ..
                    } = &refusal.decision
                    {
                        draft.put(demand, &preemption.node);
                        promised.push((demand.clone(), preemption.node.clone()));
                    }
                    decisions.push(refusal.decision);
                }
            }
        }
    }
    for (demand, node) in promised {
        draft.take_back(&demand, &node);
    }
    decisions
}

/// Only what could be free some day is held for a unit. Each of a group's pods may have a hope that all of
/// them together do not have.
fn is_possible(cluster: &Cluster, unit: &Unit) -> bool {
    let asks_for_devices = unit.devices().next().is_some();
    asks_for_devices && (!unit.is_group() || would_fit_without(cluster, unit, |_| true))
}

struct Refused {
    decision: Decision,
    can_hope: bool,
}

fn wait(demand: Arc<Demand>, message: String, preemption: Option<Preemption>) -> Decision {
    Decision::Wait {
        demand,
        message,
        preemption,
    }
}

impl Unit {
    fn is_missing_nobody(&self) -> bool {
        self.placed + self.members.len() >= self.size
    }
}

/// Places for all members that have room, if those are enough; otherwise for none.
fn settle(draft: &mut Draft<'_>, unit: &Unit) -> Result<Vec<Decision>, Vec<Refused>> {
    if let Some(obstacle) = &unit.obstacle {
        return Err(held_back(unit, obstacle));
    }
    if !unit.is_missing_nobody() {
        return Err(held_back(unit, &incomplete(unit)));
    }
    let mut places = Vec::new();
    let mut failures: Vec<(Arc<Demand>, Arc<Explained>)> = Vec::new();
    for demand in &unit.members {
        match draft.place(demand) {
            Ok(node) => {
                let arrangements = arrangements(draft.cluster, demand, &node);
                draft.put(demand, &node);
                places.push((demand.clone(), node, arrangements));
            }
            Err(failure) => failures.push((demand.clone(), failure)),
        }
    }
    let is_enough = unit.placed + places.len() >= unit.size;
    if is_enough {
        let bound = places
            .into_iter()
            .map(|(demand, node, arrangements)| Decision::Bind {
                demand,
                node,
                arrangements,
            });
        let mut decisions: Vec<Decision> = bound.collect();
        let failures = failures.into_iter();
        decisions.extend(failures.map(|(demand, why)| {
            let message = message(&demand, &why, Help::None);
            wait(demand, message, None)
        }));
        // A single pod that found nothing is not enough, so `decisions` is never empty here.
        return Ok(decisions);
    }
    let fitted = unit.placed + places.len();
    for (demand, node, _) in &places {
        draft.take_back(demand, node);
    }
    let places = places.into_iter().map(|(demand, ..)| demand).collect();
    Err(refusals(draft.cluster, unit, fitted, places, failures))
}

/// What the pod's claims need before it can run on the node.
fn arrangements(cluster: &Cluster, demand: &Demand, node: &str) -> Vec<Arrangement> {
    let volumes = Volumes::new(cluster, demand);
    let node = cluster.node(node);
    node.and_then(|node| volumes.arrangements(node))
        .unwrap_or_default()
}

fn incomplete(unit: &Unit) -> String {
    let there = unit.placed + unit.members.len();
    format!(
        "pod group {} needs {} pods and has {there}; they are placed together when the others exist",
        unit.name, unit.size
    )
}

fn held_back(unit: &Unit, message: &str) -> Vec<Refused> {
    let members = unit.members.iter();
    members
        .map(|demand| Refused {
            decision: wait(demand.clone(), message.to_owned(), None),
            can_hope: false,
        })
        .collect()
}

fn refusals(
    cluster: &mut Cluster,
    unit: &Unit,
    fitted: usize,
    places: Vec<Arc<Demand>>,
    failures: Vec<(Arc<Demand>, Arc<Explained>)>,
) -> Vec<Refused> {
    let together = if unit.is_group() {
        format!(
            " Pod group {} is placed all at once: {fitted} of the {} pods it needs fit.",
            unit.name, unit.size
        )
    } else {
        String::new()
    };
    let mut rooms = if unit.is_group() {
        make_room_for_group(cluster, unit)
    } else {
        let alone = failures.iter().filter_map(|(demand, why)| {
            let room = preempt(cluster, demand, &why.failure)?;
            Some((demand.uid().to_owned(), room))
        });
        alone.collect()
    };
    let help = match rooms.is_empty() {
        false => Help::Coming,
        true if unit.is_group() && cluster.has_below(unit.least_priority()) => Help::NotEnough,
        true => Help::None,
    };
    let mut refused: Vec<Refused> = Vec::with_capacity(unit.members.len());
    let reason = failures.first().map(|(demand, why)| message(demand, why, help));
    for demand in places {
        let room = rooms.remove(demand.uid());
        let message = format!("{}{together}", reason.as_deref().unwrap_or_default());
        refused.push(Refused {
            decision: wait(demand, message, room),
            can_hope: true,
        });
    }
    for (demand, why) in failures {
        let room = rooms.remove(demand.uid());
        let message = message(&demand, &why, help) + &together;
        refused.push(Refused {
            decision: wait(demand, message, room),
            can_hope: !why.failure.hopeful.is_empty(),
        });
    }
    refused
}

fn message(demand: &Demand, why: &Explained, help: Help) -> String {
    told(demand, &why.failure, &why.shortages, help)
}
