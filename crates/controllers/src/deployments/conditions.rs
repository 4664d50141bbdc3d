//! What a deployment says of itself: is it available, does it progress, what stands in the way.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSetCondition};

use crate::status::time;

pub(crate) const PROGRESSING: &str = "Progressing";
pub(crate) const AVAILABLE: &str = "Available";
pub(crate) const REPLICA_FAILURE: &str = "ReplicaFailure";

pub(crate) const NEW_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
pub(crate) const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const PAUSED: &str = "DeploymentPaused";

pub(crate) fn condition(
    type_: &str,
    status: &str,
    reason: &str,
    message: String,
    now: Timestamp,
) -> DeploymentCondition {
    DeploymentCondition {
        type_: type_.into(),
        status: status.into(),
        reason: Some(reason.into()),
        message: Some(message),
        last_update_time: Some(time(now)),
        last_transition_time: Some(time(now)),
    }
}

/// The failure of a set, as a failure of its deployment.
pub(crate) fn failure(of_set: &ReplicaSetCondition) -> DeploymentCondition {
    DeploymentCondition {
        type_: of_set.type_.clone(),
        status: of_set.status.clone(),
        reason: of_set.reason.clone(),
        message: of_set.message.clone(),
        last_update_time: of_set.last_transition_time.clone(),
        last_transition_time: of_set.last_transition_time.clone(),
    }
}

pub(crate) fn find<'a>(status: &'a DeploymentStatus, type_: &str) -> Option<&'a DeploymentCondition> {
    let mut conditions = status.conditions.iter().flatten();
    conditions.find(|condition| condition.type_ == type_)
}

pub(crate) fn has_reason(status: &DeploymentStatus, type_: &str, reason: &str) -> bool {
    find(status, type_).is_some_and(|condition| condition.reason.as_deref() == Some(reason))
}

/// Sets a condition, unless the same is already said for the same reason.
pub(crate) fn set(status: &mut DeploymentStatus, condition: DeploymentCondition) {
    let known = find(status, &condition.type_);
    if !known.is_some_and(|known| known.status == condition.status && known.reason == condition.reason) {
        refresh(status, condition);
    }
}

/// Sets a condition anew; the time of transition stays while the status is the same.
pub(crate) fn refresh(status: &mut DeploymentStatus, mut condition: DeploymentCondition) {
    if let Some(known) = find(status, &condition.type_)
        && known.status == condition.status
    {
        condition.last_transition_time = known.last_transition_time.clone();
    }
    remove(status, &condition.type_);
    status.conditions.get_or_insert_default().push(condition);
}

pub(crate) fn remove(status: &mut DeploymentStatus, type_: &str) {
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|condition| condition.type_ != type_);
    }
}

/// The deadline for progress; the largest number means none.
pub(crate) fn deadline(deployment: &Deployment) -> Option<i32> {
    let seconds = deployment.spec.as_ref()?.progress_deadline_seconds?;
    (seconds != i32::MAX).then_some(seconds)
}

/// A pause stops the clock: the time before it must not count against what comes after.
pub(crate) fn tell_of_pause(deployment: &Deployment, status: &mut DeploymentStatus, now: Timestamp) {
    if deadline(deployment).is_none() || has_reason(status, PROGRESSING, TIMED_OUT) {
        return;
    }
    let is_paused = deployment.spec.as_ref().and_then(|spec| spec.paused) == Some(true);
    let was_paused = has_reason(status, PROGRESSING, PAUSED);
    let (reason, message) = match (was_paused, is_paused) {
        (false, true) => (PAUSED, "Deployment is paused"),
        (true, false) => ("DeploymentResumed", "Deployment is resumed"),
        _ => return,
    };
    set(
        status,
        condition(PROGRESSING, "Unknown", reason, message.into(), now),
    );
}
