//! One look at everything that waits: who gets a place, and what the others are told. Pure.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use crate::{
    cluster::Cluster,
    demand::Demand,
    explain::explain,
    placement::{Unplaceable, place},
    preemption::{Preemption, preempt},
    unit::Unit,
};

/// After so long, those who came later do not take the devices a waiting unit needs.
const PATIENCE: SignedDuration = SignedDuration::from_secs(30);

#[derive(Clone, Debug)]
pub enum Decision {
    Bind {
        demand: Arc<Demand>,
        node: String,
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
    let mut decisions = Vec::new();
    // Devices that somebody ahead has waited for too long, and who that is.
    let mut claimed: BTreeMap<String, String> = BTreeMap::new();
    for unit in units {
        let ahead = unit.devices().find_map(|device| claimed.get(device));
        if let Some(ahead) = ahead.cloned() {
            let message = format!("waits behind {ahead}, which needs the same devices and has waited longer");
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
        match settle(cluster, &unit) {
            Ok(places) => decisions.extend(places),
            Err(refusals) => {
                // Only what could be free some day is held for it.
                let is_possible = unit.is_missing_nobody() && refusals.iter().all(|refusal| refusal.can_hope);
                if has_waited && is_possible {
                    let name = format!("{}/{}", unit.namespace, unit.name);
                    claimed.extend(unit.devices().map(|device| (device.to_owned(), name.clone())));
                }
                decisions.extend(refusals.into_iter().map(|refusal| refusal.decision));
            }
        }
    }
    decisions
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
fn settle(cluster: &mut Cluster, unit: &Unit) -> Result<Vec<Decision>, Vec<Refused>> {
    if !unit.is_missing_nobody() {
        return Err(incomplete(unit));
    }
    let mut places = Vec::new();
    let mut failures: Vec<(Arc<Demand>, Unplaceable)> = Vec::new();
    for demand in &unit.members {
        match place(cluster, demand) {
            Ok(node) => {
                cluster.put(demand.clone(), &node);
                places.push((demand.clone(), node));
            }
            Err(failure) => failures.push((demand.clone(), failure)),
        }
    }
    let is_enough = unit.placed + places.len() >= unit.size;
    if is_enough {
        let mut decisions: Vec<Decision> = places
            .into_iter()
            .map(|(demand, node)| Decision::Bind { demand, node })
            .collect();
        decisions.extend(failures.into_iter().map(|(demand, failure)| {
            let message = explain(cluster, &demand, &failure);
            wait(demand, message, None)
        }));
        // A single pod that found nothing is not enough, so `decisions` is never empty here.
        return Ok(decisions);
    }
    let fitted = unit.placed + places.len();
    for (demand, _) in &places {
        cluster.remove_pod(demand.uid());
    }
    Err(refusals(cluster, unit, fitted, places, failures))
}

fn incomplete(unit: &Unit) -> Vec<Refused> {
    let there = unit.placed + unit.members.len();
    let message = format!(
        "pod group {} needs {} pods and has {there}; they are placed together when the others exist",
        unit.name, unit.size
    );
    unit.members
        .iter()
        .map(|demand| Refused {
            decision: wait(demand.clone(), message.clone(), None),
            can_hope: false,
        })
        .collect()
}

fn refusals(
    cluster: &Cluster,
    unit: &Unit,
    fitted: usize,
    places: Vec<(Arc<Demand>, String)>,
    failures: Vec<(Arc<Demand>, Unplaceable)>,
) -> Vec<Refused> {
    let together = if unit.is_group() {
        format!(
            " Pod group {} is placed all at once: {fitted} of the {} pods it needs fit.",
            unit.name, unit.size
        )
    } else {
        String::new()
    };
    let reason = failures
        .first()
        .map(|(demand, failure)| explain(cluster, demand, failure));
    let held = places.into_iter().map(|(demand, _)| {
        let message = format!("{}{together}", reason.clone().unwrap_or_default());
        Refused {
            decision: wait(demand, message, None),
            can_hope: true,
        }
    });
    let failed = failures.iter().map(|(demand, failure)| Refused {
        decision: wait(
            demand.clone(),
            format!("{}{together}", explain(cluster, demand, failure)),
            // A group's members would have to make room for each other as well: not attempted.
            (!unit.is_group())
                .then(|| preempt(cluster, demand, failure))
                .flatten(),
        ),
        can_hope: !failure.hopeful.is_empty(),
    });
    held.chain(failed).collect()
}
