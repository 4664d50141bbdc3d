//! What is left to do when something has ended: pods, claims and in the end the workflow itself go.

use jiff::Timestamp;
use manifests::labels::Selector;
use serde_json::{Value, json};

use super::{
    Gone, Plan, PodName,
    walk::{Walk, later},
};
use crate::{
    duration,
    model::{Number, PodGc, Spec},
    node::Phase,
    observed::{Observed, Pod},
    status::Status,
};

/// Notes which pods have done their part, in a plan that writes the object.
pub(super) fn clean(walk: &mut Walk<'_>) {
    let plan = pods(&walk.spec, &walk.status, walk.observed, walk.now);
    take(&mut walk.plan, plan);
}

/// For a workflow that has ended and is known to have.
pub(super) fn after(object: &Value, status: &Status, observed: &Observed, now: Timestamp) -> Plan {
    let own = &object["spec"];
    let spec = status.stored_workflow_template_spec.as_ref().unwrap_or(own);
    // It was read before, when it ran.
    let spec: Spec = serde_json::from_value(spec.clone()).unwrap_or_default();
    let mut plan = pods(&spec, status, observed, now);
    // A pod that nobody remembers, or that did not hear of the end.
    let running = observed
        .pods
        .iter()
        .filter(|pod| !pod.has_ended() && !pod.is_being_deleted);
    plan.stop.extend(running.map(name_of));
    claims(&spec, status, &mut plan);
    expire(&spec, status, now, &mut plan);
    plan
}

fn take(plan: &mut Plan, other: Plan) {
    plan.label_completed.extend(other.label_completed);
    plan.delete.extend(other.delete);
    wake(plan, other.wake_at);
}

fn wake(plan: &mut Plan, at: Option<Timestamp>) {
    plan.wake_at = match (plan.wake_at, at) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
}

fn pods(spec: &Spec, status: &Status, observed: &Observed, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    for pod in observed.pods.iter().filter(|pod| !pod.is_being_deleted) {
        let node = status.nodes.get(&pod.node_id);
        let is_done = status.is_fulfilled() || node.is_some_and(|node| node.phase.is_fulfilled());
        if !is_done || !pod.has_ended() {
            continue;
        }
        match goes_at(spec.pod_gc.as_ref(), status, pod) {
            Some(at) if at <= now => plan.delete.push(Gone {
                kind: "Pod",
                name: pod.name.clone(),
                uid: pod.uid.clone(),
            }),
            Some(at) => {
                wake(&mut plan, Some(at));
                label(&mut plan, pod);
            }
            None => label(&mut plan, pod),
        }
    }
    plan
}

fn label(plan: &mut Plan, pod: &Pod) {
    if !pod.is_labelled_completed {
        plan.label_completed.push(name_of(pod));
    }
}

fn name_of(pod: &Pod) -> PodName {
    PodName {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
    }
}

/// When a pod that has ended is to go; never, where nobody wants that.
fn goes_at(policy: Option<&PodGc>, status: &Status, pod: &Pod) -> Option<Timestamp> {
    let policy = policy?;
    let succeeded = pod.phase == "Succeeded";
    let since = match policy.strategy.as_str() {
        "OnPodCompletion" => pod.finished_at(),
        "OnPodSuccess" if succeeded => pod.finished_at(),
        "OnWorkflowCompletion" if status.is_fulfilled() => status.finished_at,
        "OnWorkflowSuccess" if status.phase == Phase::Succeeded => status.finished_at,
        _ => None,
    }?;
    if !policy.label_selector.is_null() {
        let selector = Selector::from_object(&policy.label_selector).ok()?;
        let mut labels = pod.labels.clone();
        // It has been labelled by now, or would be.
        labels.insert(crate::names::COMPLETED.to_owned(), json!("true"));
        if !selector.matches(Some(&labels)) {
            return None;
        }
    }
    let delay = match policy.delete_delay_duration.0.as_str() {
        "" => 0,
        text => duration::parse(text).map_or(0, |delay| delay.as_secs()),
    };
    Some(later(since, i64::try_from(delay).unwrap_or(i64::MAX)))
}

/// Claims go with the success of a workflow, or with its end.
fn claims(spec: &Spec, status: &Status, plan: &mut Plan) {
    let strategy = spec
        .volume_claim_gc
        .as_ref()
        .map(|policy| policy.strategy.as_str());
    let goes = match strategy.unwrap_or("OnWorkflowSuccess") {
        "OnWorkflowCompletion" => true,
        _ => status.phase == Phase::Succeeded,
    };
    if !goes {
        return;
    }
    for claim in &status.persistent_volume_claims {
        if let Some(name) = claim["persistentVolumeClaim"]["claimName"].as_str() {
            plan.delete.push(Gone {
                kind: "PersistentVolumeClaim",
                name: name.to_owned(),
                uid: String::new(),
            });
        }
    }
}

fn expire(spec: &Spec, status: &Status, now: Timestamp, plan: &mut Plan) {
    let (Some(strategy), Some(finished)) = (&spec.ttl_strategy, status.finished_at) else {
        return;
    };
    let own = if status.phase == Phase::Succeeded {
        &strategy.seconds_after_success
    } else {
        &strategy.seconds_after_failure
    };
    let seconds = own.as_ref().or(strategy.seconds_after_completion.as_ref());
    let Some(seconds) = seconds.and_then(Number::integer) else {
        return;
    };
    let at = later(finished, seconds);
    if at <= now {
        plan.delete_workflow = true;
    } else {
        wake(plan, Some(at));
    }
}
