//! Conditions that controllers write into the status of pods. Pure.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::health;
use crate::status::time;

/// The strategic merge patch of a status that sets a condition; `None` if it stands there already.
pub(crate) fn set(
    pod: &Pod,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> Option<Value> {
    let before = health::condition(pod, kind);
    let is_same = before.is_some_and(|before| {
        before.status == status
            && before.reason.as_deref().unwrap_or_default() == reason
            && before.message.as_deref().unwrap_or_default() == message
    });
    if is_same {
        return None;
    }
    let since = before
        .filter(|before| before.status == status)
        .and_then(|before| before.last_transition_time.clone())
        .unwrap_or_else(|| time(now));
    Some(
        json!({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [{
            "type": kind,
            "status": status,
            "reason": (!reason.is_empty()).then_some(reason),
            "message": (!message.is_empty()).then_some(message),
            "lastTransitionTime": since,
            "observedGeneration": pod.metadata.generation,
        }]}}),
    )
}

/// Somebody other than its owner ends the pod, and this is why.
pub(crate) fn disrupted(pod: &Pod, reason: &str, message: &str, now: Timestamp) -> Option<Value> {
    set(pod, "DisruptionTarget", "True", reason, message, now)
}
