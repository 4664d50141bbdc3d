//! What a budget allows, from its pods and what their owners want. Pure.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::{
        core::v1::Pod,
        policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus},
    },
    apimachinery::pkg::{
        apis::meta::v1::{Condition, Time},
        util::intstr::IntOrString,
    },
};
use reconcile::Next;

use super::scale::Demand;
use crate::{
    amounts::{self, Round},
    pods::health,
    status::time,
};

/// A pod that was evicted and is not gone after this time counts again.
const PATIENCE: SignedDuration = SignedDuration::from_secs(120);

const UNMANAGED: &str = "Pods selected by this PodDisruptionBudget were found to be unmanaged. As a result, \
    the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account \
    for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.";

pub(crate) struct Observed<'a> {
    pub budget: &'a PodDisruptionBudget,
    pub pods: &'a [Arc<Pod>],
    pub scale: Option<&'a Demand>,
    pub now: Timestamp,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Note {
    pub is_warning: bool,
    pub reason: &'static str,
    pub text: String,
}

#[derive(Debug)]
pub(crate) struct Plan {
    pub status: PodDisruptionBudgetStatus,
    pub notes: Vec<Note>,
    /// Evicted long ago, and still there.
    pub not_deleted: Vec<Arc<Pod>>,
    pub next: Next,
}

/// Whether the budget is a share of what the owners want, or says how many may be missing of it.
pub(crate) fn needs_scale(budget: &PodDisruptionBudget) -> bool {
    let spec = budget.spec.as_ref();
    spec.is_some_and(|spec| {
        spec.max_unavailable.is_some() || matches!(spec.min_available, Some(IntOrString::String(_)))
    })
}

pub(crate) fn plan(observed: &Observed<'_>) -> Plan {
    let before = observed.budget.status.clone().unwrap_or_default();
    let (awaited, not_deleted, next) = awaited(observed, &before);
    let mut notes = Vec::new();
    if observed.pods.is_empty() {
        notes.push(note(false, "NoPods", "No matching pods found"));
    }
    if observed.scale.is_some_and(|scale| scale.has_unmanaged) {
        notes.push(note(true, "UnmanagedPods", UNMANAGED));
    }
    let status = match expectation(observed) {
        Ok(expectation) => allowance(observed, &before, awaited, expectation),
        Err(failure) => {
            let text = format!("Failed to calculate the number of expected pods: {failure}");
            notes.push(note(true, "CalculateExpectedPodCountFailed", &text));
            let conditions = condition(observed, &before, "False", "SyncFailed", &failure);
            PodDisruptionBudgetStatus {
                disruptions_allowed: 0,
                conditions: Some(conditions),
                ..before
            }
        }
    };
    Plan {
        status,
        notes,
        not_deleted,
        next,
    }
}

fn note(is_warning: bool, reason: &'static str, text: &str) -> Note {
    Note {
        is_warning,
        reason,
        text: text.to_owned(),
    }
}

struct Expectation {
    pods: i32,
    healthy: i32,
}

fn expectation(observed: &Observed<'_>) -> Result<Expectation, String> {
    let empty = PodDisruptionBudgetSpec::default();
    let spec = observed.budget.spec.as_ref().unwrap_or(&empty);
    let scale = || observed.scale.map_or(Ok(0), |scale| scale.pods.clone());
    Ok(match (&spec.max_unavailable, &spec.min_available) {
        (Some(unavailable), _) => {
            let pods = scale()?;
            let healthy = pods - amounts::of(Some(unavailable), pods, Round::Up);
            Expectation {
                pods,
                healthy: healthy.max(0),
            }
        }
        (None, Some(IntOrString::Int(healthy))) => Expectation {
            pods: i32::try_from(observed.pods.len()).unwrap_or(i32::MAX),
            healthy: *healthy,
        },
        (None, share) => {
            let pods = scale()?;
            Expectation {
                pods,
                healthy: amounts::of(share.as_ref(), pods, Round::Up),
            }
        }
    })
}

type Awaited = BTreeMap<String, Time>;

/// Evicted pods that will go soon, those that should have gone, and when to look again.
fn awaited(observed: &Observed<'_>, before: &PodDisruptionBudgetStatus) -> (Awaited, Vec<Arc<Pod>>, Next) {
    let (mut awaited, mut overdue, mut next) = (Awaited::new(), Vec::new(), Next::Wait);
    for pod in observed.pods.iter().filter(|pod| !health::is_terminating(pod)) {
        let evicted = before.disrupted_pods.as_ref().zip(pod.metadata.name.as_ref());
        let Some((name, at)) = evicted.and_then(|(evicted, name)| evicted.get_key_value(name)) else {
            continue;
        };
        let left = PATIENCE - observed.now.duration_since(at.0);
        match Duration::try_from(left) {
            Ok(left) => {
                awaited.insert(name.clone(), at.clone());
                next = next.or(Next::After(left));
            }
            Err(_) => overdue.push(pod.clone()),
        }
    }
    (awaited, overdue, next)
}

fn allowance(
    observed: &Observed<'_>,
    before: &PodDisruptionBudgetStatus,
    awaited: Awaited,
    expectation: Expectation,
) -> PodDisruptionBudgetStatus {
    let is_healthy = |pod: &&Arc<Pod>| {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        !health::is_terminating(pod) && !awaited.contains_key(name) && health::is_ready(pod)
    };
    let healthy = i32::try_from(observed.pods.iter().filter(is_healthy).count()).unwrap_or(i32::MAX);
    // While no pods are expected nothing is allowed, so that the first ones are safe when they come.
    let allowed = match expectation.pods {
        0 => 0,
        _ => (healthy - expectation.healthy).max(0),
    };
    let (value, reason) = match allowed {
        0 => ("False", "InsufficientPods"),
        _ => ("True", "SufficientPods"),
    };
    PodDisruptionBudgetStatus {
        conditions: Some(condition(observed, before, value, reason, "")),
        current_healthy: healthy,
        desired_healthy: expectation.healthy,
        disrupted_pods: Some(awaited).filter(|awaited| !awaited.is_empty()),
        disruptions_allowed: allowed,
        expected_pods: expectation.pods,
        observed_generation: observed.budget.metadata.generation,
    }
}

fn condition(
    observed: &Observed<'_>,
    before: &PodDisruptionBudgetStatus,
    status: &str,
    reason: &str,
    message: &str,
) -> Vec<Condition> {
    const KIND: &str = "DisruptionAllowed";
    let mut conditions = before.conditions.clone().unwrap_or_default();
    let known = conditions.iter().find(|condition| condition.type_ == KIND);
    let since = known
        .filter(|known| known.status == status)
        .map(|known| known.last_transition_time.clone());
    let condition = Condition {
        type_: KIND.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: observed.budget.metadata.generation,
        last_transition_time: since.unwrap_or_else(|| time(observed.now)),
    };
    conditions.retain(|condition| condition.type_ != KIND);
    conditions.push(condition);
    conditions
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn budget(spec: Value, status: Value) -> PodDisruptionBudget {
        let mut object = json!({"metadata": {"name": "b", "generation": 1}, "spec": spec, "status": {
            "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0,
        }});
        for (field, value) in status.as_object().into_iter().flatten() {
            object["status"][field] = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn pods(ready: usize, waiting: usize) -> Vec<Arc<Pod>> {
        (0..ready + waiting)
            .map(|number| {
                let status = if number < ready { "True" } else { "False" };
                let conditions = json!([{"type": "Ready", "status": status}]);
                let object =
                    json!({"metadata": {"name": format!("p{number}")}, "status": {"conditions": conditions}});
                Arc::new(serde_json::from_value(object).unwrap())
            })
            .collect()
    }

    fn look(
        budget: &PodDisruptionBudget,
        pods: &[Arc<Pod>],
        scale: std::result::Result<i32, String>,
    ) -> Plan {
        let scale = Demand {
            pods: scale,
            has_unmanaged: false,
        };
        plan(&Observed {
            budget,
            pods,
            scale: Some(&scale),
            now: "2026-01-01T00:01:00Z".parse().unwrap(),
        })
    }

    fn allowed(spec: Value, pods: &[Arc<Pod>], scale: i32) -> (i32, i32) {
        let status = look(&budget(spec, json!({})), pods, Ok(scale)).status;
        (status.desired_healthy, status.disruptions_allowed)
    }

    #[test]
    fn shares_are_of_what_the_owners_want() {
        assert_eq!(allowed(json!({"minAvailable": 2}), &pods(3, 0), 0), (2, 1));
        assert_eq!(allowed(json!({"minAvailable": "50%"}), &pods(5, 0), 7), (4, 1));
        assert_eq!(allowed(json!({"maxUnavailable": 1}), &pods(3, 0), 3), (2, 1));
        assert_eq!(allowed(json!({"maxUnavailable": "34%"}), &pods(2, 1), 3), (1, 1));
        assert_eq!(allowed(json!({"maxUnavailable": 1}), &pods(1, 2), 3), (2, 0));
        assert_eq!(allowed(json!({"maxUnavailable": 1}), &[], 0), (0, 0));
    }

    #[test]
    fn an_evicted_pod_counts_as_gone_for_two_minutes() {
        let evicted = |at: &str| json!({"disruptedPods": {"p0": at}});
        let fresh = budget(json!({"minAvailable": 1}), evicted("2026-01-01T00:00:00Z"));
        let plan = look(&fresh, &pods(2, 0), Ok(0));
        assert_eq!(plan.status.disruptions_allowed, 0);
        assert_eq!(plan.next, Next::After(Duration::from_mins(1)));
        let stale = budget(json!({"minAvailable": 1}), evicted("2025-12-31T23:00:00Z"));
        let plan = look(&stale, &pods(2, 0), Ok(0));
        assert_eq!(plan.status.disruptions_allowed, 1);
        assert_eq!(plan.not_deleted.len(), 1);
    }

    #[test]
    fn a_budget_that_cannot_be_worked_out_allows_nothing() {
        let budget = budget(json!({"maxUnavailable": 1}), json!({"disruptionsAllowed": 3}));
        let plan = look(
            &budget,
            &pods(2, 0),
            Err("found no controllers for pod \"p0\"".into()),
        );
        assert_eq!(plan.status.disruptions_allowed, 0);
        assert_eq!(plan.status.conditions.unwrap()[0].reason, "SyncFailed");
        assert_eq!(plan.notes[0].reason, "CalculateExpectedPodCountFailed");
    }
}
