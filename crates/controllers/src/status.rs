//! What a status says: the part of it that changed, and the moment a condition changed.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;
use serde_json::{Map, Value};

/// The merge patch that turns one status into the other; `None` if they are the same.
pub(crate) fn changes<S: Serialize>(before: Option<&S>, after: &S) -> Option<Value> {
    let fields = |status: Option<&S>| {
        let value = serde_json::to_value(status).unwrap_or_default();
        value.as_object().cloned().unwrap_or_default()
    };
    let (before, mut after) = (fields(before), fields(Some(after)));
    let mut changed = Map::new();
    for (name, value) in before {
        match after.remove(&name) {
            Some(same) if same == value => {}
            Some(other) => drop(changed.insert(name, other)),
            None => drop(changed.insert(name, Value::Null)),
        }
    }
    changed.extend(after);
    (!changed.is_empty()).then_some(Value::Object(changed))
}

/// A moment as the wire can say it: in whole seconds, never in the future.
pub(crate) fn time(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_changed_is_written_and_what_vanished_is_taken_away() {
        let before = json!({"same": 1, "other": 2, "gone": 3});
        let after = json!({"same": 1, "other": 4, "new": 5});
        assert_eq!(
            changes(Some(&before), &after),
            Some(json!({"other": 4, "gone": null, "new": 5}))
        );
        assert_eq!(changes(Some(&after), &after), None);
        assert_eq!(changes(None, &json!({"new": 0})), Some(json!({"new": 0})));
    }
}
