//! What a deletion does to an object: decided here, done elsewhere.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{DeleteOptions, FOREGROUND, ORPHAN, Propagation};
use crate::{controllers::definitions, kind::Kind, namespaces, object, writes::timestamp};

/// What a deletion does to the object now.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    Nothing,
    Mark(Value),
    /// Watchers see that the object is being stopped before they see that it is gone.
    MarkAndRemove(Value),
    Remove,
}

/// Decides without doing: what is left of the object after this request.
pub(super) fn plan(kind: &Kind, old: &Value, options: &DeleteOptions, now: Timestamp) -> Step {
    let mut new = old.clone();
    set_propagation_finalizers(kind, &mut new, options.propagation);
    if object::is_deleting(old) {
        return plan_again(kind, old, new, options, now);
    }
    definitions::mark_terminating(kind, &mut new);
    let held = is_held(kind, &new);
    let grace = grace_seconds(kind, old, options);
    if grace.is_none() && !held {
        return Step::Remove;
    }
    stop_after(&mut new, grace.unwrap_or_default(), now);
    let generation = object::generation(old);
    if generation > 0 {
        object::set_meta(&mut new, "generation", Some((generation + 1).into()));
    }
    namespaces::mark_terminating(kind, &mut new);
    if grace == Some(0) && !held {
        Step::MarkAndRemove(new)
    } else {
        Step::Mark(new)
    }
}

/// A repeated deletion may only shorten the grace period, or change what happens to dependents.
fn plan_again(kind: &Kind, old: &Value, mut new: Value, options: &DeleteOptions, now: Timestamp) -> Step {
    let pending = old
        .pointer("/metadata/deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    let held = is_held(kind, &new);
    let shorter = options.grace.filter(|grace| *grace < pending);
    if pending == 0 && !held {
        return Step::Remove;
    }
    if let Some(grace) = shorter {
        // It is counted from when the object was first asked to stop.
        let asked = object::meta_text(old, "deletionTimestamp").parse().ok();
        let asked = asked.and_then(|due: Timestamp| due.checked_sub(SignedDuration::from_secs(pending)).ok());
        stop_after(&mut new, grace, asked.unwrap_or(now));
    }
    match shorter {
        Some(0) if !held => Step::MarkAndRemove(new),
        _ if new == *old => Step::Nothing,
        _ => Step::Mark(new),
    }
}

/// Whether somebody has to let go of the object before it can be removed.
fn is_held(kind: &Kind, object: &Value) -> bool {
    object::has_finalizers(object) || namespaces::awaits_finalizers(kind, object)
}

fn stop_after(object: &mut Value, grace: i64, now: Timestamp) {
    // A grace period without end ends with the calendar.
    let at = now
        .saturating_add(SignedDuration::from_secs(grace))
        .unwrap_or(Timestamp::MAX);
    object::set_meta(object, "deletionTimestamp", Some(timestamp(at).into()));
    object::set_meta(object, "deletionGracePeriodSeconds", Some(grace.into()));
}

/// How long the object has to stop, if it is one that is stopped: a pod. One that no node may be
/// running has no time.
fn grace_seconds(kind: &Kind, object: &Value, options: &DeleteOptions) -> Option<i64> {
    if !kind.is("", "Pod") {
        return None;
    }
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    if text("/spec/nodeName").is_empty() || matches!(text("/status/phase"), "Succeeded" | "Failed") {
        return Some(0);
    }
    let own = object
        .pointer("/spec/terminationGracePeriodSeconds")
        .and_then(Value::as_i64);
    let grace = options
        .grace
        .or(own.map(|grace| if grace < 0 { 1 } else { grace }));
    Some(grace.unwrap_or(30))
}

/// The finalizers by which the garbage collector learns what to do with dependents.
fn set_propagation_finalizers(kind: &Kind, object: &mut Value, propagation: Option<Propagation>) {
    let present = |name: &str| object::finalizers(object).any(|finalizer| finalizer == name);
    let orphans_by_default = kind.is("batch", "Job") || kind.is("", "ReplicationController");
    let (orphan, foreground) = match propagation {
        Some(Propagation::Orphan) => (true, false),
        Some(Propagation::Foreground) => (false, true),
        Some(Propagation::Background) => (false, false),
        // What an earlier request or the creator asked for stands.
        None if present(ORPHAN) || present(FOREGROUND) => (present(ORPHAN), present(FOREGROUND)),
        None => (orphans_by_default, false),
    };
    let mut finalizers: Vec<Value> = object::finalizers(object)
        .filter(|finalizer| !matches!(*finalizer, ORPHAN | FOREGROUND))
        .map(Value::from)
        .collect();
    if orphan {
        finalizers.push(ORPHAN.into());
    }
    if foreground {
        finalizers.push(FOREGROUND.into());
    }
    let value = (!finalizers.is_empty()).then_some(Value::Array(finalizers));
    object::set_meta(object, "finalizers", value);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn planned(kind: &str, object: &Value, grace: Option<i64>) -> Step {
        let kinds = crate::built_in::kinds();
        let kind = kinds.iter().find(|it| it.is("", kind)).unwrap();
        let options = DeleteOptions {
            grace,
            ..DeleteOptions::default()
        };
        plan(kind, object, &options, Timestamp::UNIX_EPOCH)
    }

    fn grace(step: &Step) -> Option<i64> {
        match step {
            Step::Mark(new) | Step::MarkAndRemove(new) => {
                new.pointer("/metadata/deletionGracePeriodSeconds")?.as_i64()
            }
            Step::Nothing | Step::Remove => None,
        }
    }

    #[test]
    fn only_pods_are_stopped() {
        let object = json!({"metadata": {"name": "a"}});
        assert_eq!(planned("ConfigMap", &object, Some(30)), Step::Remove);
        let held = json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}});
        assert_eq!(grace(&planned("ConfigMap", &held, Some(30))), Some(0));
    }

    #[test]
    fn a_pod_without_a_node_is_marked_and_gone() {
        let step = planned("Pod", &json!({"metadata": {"name": "a", "generation": 1}}), None);
        assert_eq!(grace(&step), Some(0));
        let Step::MarkAndRemove(last) = step else {
            panic!("{step:?}")
        };
        assert_eq!(last["metadata"]["generation"], 2);
    }

    #[test]
    fn a_pod_on_a_node_gets_its_time_and_can_lose_it() {
        let pod = json!({
            "metadata": {"name": "a"},
            "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 20},
        });
        let Step::Mark(marked) = planned("Pod", &pod, None) else {
            panic!("it is still running")
        };
        assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 20);
        assert_eq!(planned("Pod", &marked, Some(50)), Step::Nothing);
        assert_eq!(grace(&planned("Pod", &marked, Some(5))), Some(5));
        let mut earlier = marked;
        earlier["metadata"]["deletionTimestamp"] = json!("1969-12-31T23:59:50Z");
        let Step::MarkAndRemove(last) = planned("Pod", &earlier, Some(0)) else {
            panic!("it has no time left")
        };
        assert_eq!(last["metadata"]["deletionTimestamp"], "1969-12-31T23:59:30Z");
    }
}
