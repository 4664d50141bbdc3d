//! How a pod fares, read from its status.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodCondition};

pub(crate) fn phase(pod: &Pod) -> &str {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase.unwrap_or("Pending")
}

pub(crate) fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind)
}

pub(crate) fn is_finished(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

pub(crate) fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Neither finished nor on its way out: what counts as a replica.
pub(crate) fn is_active(pod: &Pod) -> bool {
    !is_finished(pod) && !is_terminating(pod)
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready.status == "True")
}

/// Since when the pod is ready, if it is.
pub(crate) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let ready = condition(pod, "Ready").filter(|ready| ready.status == "True")?;
    ready.last_transition_time.as_ref().map(|time| time.0)
}

/// How long until the pod counts as available: ready for `min_ready_seconds`. `None` if it is not ready.
pub(crate) fn available_in(pod: &Pod, min_ready_seconds: i32, now: Timestamp) -> Option<SignedDuration> {
    if !is_ready(pod) {
        return None;
    }
    if min_ready_seconds <= 0 {
        return Some(SignedDuration::ZERO);
    }
    let ready = ready_since(pod)?;
    let wait = SignedDuration::from_secs(i64::from(min_ready_seconds)) - now.duration_since(ready);
    Some(wait.max(SignedDuration::ZERO))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ready_at(second: i64) -> Pod {
        let time = Timestamp::from_second(second).unwrap();
        let condition = json!({"type": "Ready", "status": "True", "lastTransitionTime": time});
        serde_json::from_value(json!({"status": {"phase": "Running", "conditions": [condition]}})).unwrap()
    }

    #[test]
    fn a_pod_is_available_once_it_was_ready_long_enough() {
        let pod = ready_at(100);
        let at = |second| Timestamp::from_second(second).unwrap();
        let wait = |seconds, now| available_in(&pod, seconds, at(now)).map(|wait| wait.as_secs());
        assert_eq!(wait(0, 100), Some(0));
        assert_eq!(wait(10, 104), Some(6));
        assert_eq!(wait(10, 110), Some(0));
        assert_eq!(available_in(&Pod::default(), 0, at(0)), None);
    }
}
