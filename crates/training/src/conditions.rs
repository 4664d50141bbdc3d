//! The list of conditions: which ones exclude each other, and that the last one is the state.

use jiff::Timestamp;
use resources::{
    JobCondition,
    conditions::{FAILED, RESTARTING, RUNNING, SUCCEEDED},
};

/// Sets a condition and says whether that is news. What is the same but for its words stays in its
/// place and gets the new words.
pub(crate) fn set(
    conditions: &mut Vec<JobCondition>,
    kind: &str,
    status: bool,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> bool {
    let status = if status { "True" } else { "False" };
    let old = conditions.iter_mut().find(|condition| condition.kind == kind);
    let mut since = now;
    if let Some(old) = old {
        if old.status == status && old.reason == reason {
            if old.message != message {
                message.clone_into(&mut old.message);
                old.last_update_time = Some(now);
            }
            return false;
        }
        if old.status == status {
            since = old.last_transition_time.unwrap_or(now);
        }
    }
    conditions.retain(|condition| condition.kind != kind && !excludes(kind, &condition.kind));
    if [SUCCEEDED, FAILED].contains(&kind) {
        stop_running(conditions, now);
    }
    conditions.push(JobCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_update_time: Some(now),
        last_transition_time: Some(since),
    });
    true
}

/// Says before all the others that something is not so, and why; whether that is news.
pub(crate) fn put_first(
    conditions: &mut Vec<JobCondition>,
    kind: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> bool {
    let old = find(conditions, kind);
    if old.is_some_and(|old| !old.is_true() && old.reason == reason && old.message == message) {
        return false;
    }
    conditions.retain(|condition| condition.kind != kind);
    let first = JobCondition {
        kind: kind.to_owned(),
        status: "False".to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_update_time: Some(now),
        last_transition_time: Some(now),
    };
    conditions.insert(0, first);
    true
}

pub(crate) fn is_true(conditions: &[JobCondition], kind: &str) -> bool {
    find(conditions, kind).is_some_and(JobCondition::is_true)
}

pub(crate) fn find<'a>(conditions: &'a [JobCondition], kind: &str) -> Option<&'a JobCondition> {
    conditions.iter().find(|condition| condition.kind == kind)
}

/// Running and Restarting take each other's place.
fn excludes(new: &str, old: &str) -> bool {
    matches!((new, old), (RUNNING, RESTARTING) | (RESTARTING, RUNNING))
}

fn stop_running(conditions: &mut [JobCondition], now: Timestamp) {
    for condition in conditions {
        if condition.kind == RUNNING && condition.is_true() {
            "False".clone_into(&mut condition.status);
            condition.last_update_time = Some(now);
            condition.last_transition_time = Some(now);
        }
    }
}
