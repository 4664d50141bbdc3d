//! The status of a deployment, from the statuses of its sets. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use reconcile::Next;

use super::{
    conditions::{self, AVAILABLE, NEW_SET_AVAILABLE, PROGRESSING, REPLICA_FAILURE, TIMED_OUT, condition},
    fleet::{Fleet, actual, count},
    limits::Limits,
};

/// Counts the pods anew; of the conditions only that of availability changes.
pub(crate) fn counted(
    deployment: &Deployment,
    fleet: &Fleet,
    before: &DeploymentStatus,
    now: Timestamp,
) -> DeploymentStatus {
    let limits = Limits::of(deployment);
    let available = fleet.available();
    let mut status = DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: unless_zero(fleet.all().map(actual).sum()),
        updated_replicas: unless_zero(fleet.new.iter().map(actual).sum()),
        ready_replicas: unless_zero(
            fleet
                .all()
                .map(|set| count(set, |status| status.ready_replicas))
                .sum(),
        ),
        available_replicas: unless_zero(available),
        unavailable_replicas: unless_zero((fleet.replicas() - available).max(0)),
        ..before.clone()
    };
    let (is_true, reason, message) = if available >= limits.least() {
        (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
    } else {
        (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    };
    let availability = condition(AVAILABLE, is_true, reason, message.into(), now);
    conditions::set(&mut status, availability);
    status
}

fn unless_zero(count: i32) -> Option<i32> {
    (count != 0).then_some(count)
}

/// As `counted`, and judges how the rollout gets on.
pub(crate) fn of_rollout(
    deployment: &Deployment,
    fleet: &Fleet,
    before: &DeploymentStatus,
    now: Timestamp,
) -> DeploymentStatus {
    let mut status = counted(deployment, fleet, before, now);
    match conditions::deadline(deployment) {
        None => conditions::remove(&mut status, PROGRESSING),
        Some(deadline) => judge(deployment, fleet, before, &mut status, deadline, now),
    }
    let of_sets = |set: &k8s_openapi::api::apps::v1::ReplicaSet| {
        let known = set
            .status
            .iter()
            .filter_map(|status| status.conditions.as_ref())
            .flatten();
        let mut failures = known.filter(|condition| condition.type_ == REPLICA_FAILURE);
        failures.next().map(conditions::failure)
    };
    // What hinders the newest set matters most.
    match fleet.new.iter().chain(&fleet.old).find_map(of_sets) {
        Some(failure) => conditions::set(&mut status, failure),
        None => conditions::remove(&mut status, REPLICA_FAILURE),
    }
    status
}

fn judge(
    deployment: &Deployment,
    fleet: &Fleet,
    before: &DeploymentStatus,
    status: &mut DeploymentStatus,
    deadline: i32,
    now: Timestamp,
) {
    // The rollout was over and nothing new has begun.
    if status.replicas == status.updated_replicas
        && conditions::has_reason(before, PROGRESSING, NEW_SET_AVAILABLE)
    {
        return;
    }
    let subject = match fleet.new.as_ref().and_then(|new| new.metadata.name.as_deref()) {
        Some(name) => format!("ReplicaSet {name:?}"),
        None => format!(
            "Deployment {:?}",
            deployment.metadata.name.as_deref().unwrap_or_default()
        ),
    };
    if is_complete(deployment, status) {
        let message = format!("{subject} has successfully progressed.");
        conditions::set(
            status,
            condition(PROGRESSING, "True", NEW_SET_AVAILABLE, message, now),
        );
    } else if has_progressed(before, status) {
        let message = format!("{subject} is progressing.");
        conditions::refresh(
            status,
            condition(PROGRESSING, "True", "ReplicaSetUpdated", message, now),
        );
    } else if has_timed_out(status, deadline, now) {
        let message = format!("{subject} has timed out progressing.");
        conditions::set(status, condition(PROGRESSING, "False", TIMED_OUT, message, now));
    }
}

/// Every wanted pod is there, of the present template and available, and no other.
pub(crate) fn is_complete(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let wanted = unless_zero(Limits::of(deployment).replicas);
    let counts = [
        status.updated_replicas,
        status.replicas,
        status.available_replicas,
    ];
    counts
        .iter()
        .all(|count| count.filter(|count| *count != 0) == wanted)
        && status.observed_generation >= deployment.metadata.generation
}

/// New pods came or became ready, or old ones went.
fn has_progressed(before: &DeploymentStatus, after: &DeploymentStatus) -> bool {
    let number = |count: Option<i32>| count.unwrap_or_default();
    let old = |status: &DeploymentStatus| number(status.replicas) - number(status.updated_replicas);
    number(after.updated_replicas) > number(before.updated_replicas)
        || old(after) < old(before)
        || number(after.ready_replicas) > number(before.ready_replicas)
        || number(after.available_replicas) > number(before.available_replicas)
}

fn has_timed_out(status: &DeploymentStatus, deadline: i32, now: Timestamp) -> bool {
    let Some(progressing) = conditions::find(status, PROGRESSING) else {
        return false;
    };
    match progressing.reason.as_deref() {
        Some(NEW_SET_AVAILABLE) => false,
        Some(TIMED_OUT) => true,
        _ => left(
            progressing.last_update_time.as_ref().map(|time| time.0),
            deadline,
            now,
        )
        .is_negative(),
    }
}

fn left(since: Option<Timestamp>, deadline: i32, now: Timestamp) -> SignedDuration {
    let waited = since.map_or(SignedDuration::ZERO, |since| now.duration_since(since));
    SignedDuration::from_secs(i64::from(deadline)) - waited
}

/// When to see whether the rollout is stuck.
pub(crate) fn next_look(deployment: &Deployment, status: &DeploymentStatus, now: Timestamp) -> Next {
    let progressing = conditions::find(status, PROGRESSING);
    let (Some(deadline), Some(progressing)) = (conditions::deadline(deployment), progressing) else {
        return Next::Wait;
    };
    if is_complete(deployment, status) || progressing.reason.as_deref() == Some(TIMED_OUT) {
        return Next::Wait;
    }
    let left = left(
        progressing.last_update_time.as_ref().map(|time| time.0),
        deadline,
        now,
    );
    // The clock of conditions has whole seconds.
    let left = Duration::try_from(left).unwrap_or_default();
    Next::After(left + Duration::from_secs(1))
}
