//! Event: something that happened. One stored object is served as `v1` and as `events.k8s.io/v1`;
//! it is stored and checked in the `v1` form. Writers of the newer form keep stricter rules.

use serde_json::{Map, Value};

use super::field::{Errors, Field, IMMUTABLE};
use crate::{checks::same, names, read, strategy::Strategy};

/// Events written as `v1`.
pub(crate) static CORE: Strategy = Strategy {
    validate: |event, errors| validate_any(event, "reportingComponent", errors),
    validate_update: |event, _, errors| validate_any(event, "reportingComponent", errors),
    ..Strategy::NONE
};

/// Events written as `events.k8s.io/v1`, after [`to_core`].
pub(crate) static EVENTS: Strategy = Strategy {
    validate: |event, errors| {
        validate_any(event, "reportingController", errors);
        validate_strict(event, errors);
    },
    validate_update: |event, old, errors| {
        validate_any(event, "reportingController", errors);
        validate_changes(event, old, errors);
    },
    ..Strategy::NONE
};

/// What the two forms call the same field: `v1`, then `events.k8s.io/v1`.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Fields that never change, as the newer form has it, and what they hold.
const FIXED: [(&str, &str); 13] = [
    ("involvedObject", "ObjectReference"),
    ("reason", "s"),
    ("message", "s"),
    ("source", "EventSource"),
    ("firstTimestamp", "time"),
    ("lastTimestamp", "time"),
    ("count", "i"),
    ("type", "s"),
    ("eventTime", "time"),
    ("action", "s"),
    ("related", "*ObjectReference"),
    ("reportingComponent", "s"),
    ("reportingInstance", "s"),
];

/// Turns an event of `events.k8s.io/v1` into one of `v1`.
pub fn to_core(event: &mut Value) {
    rename(event, "v1", |(core, events)| (events, core));
    if let Value::Object(fields) = event {
        for required in ["reportingComponent", "reportingInstance"] {
            fields.entry(required).or_insert_with(|| "".into());
        }
        fields
            .entry("involvedObject")
            .or_insert_with(|| Value::Object(Map::new()));
    }
}

/// Turns an event of `v1` into one of `events.k8s.io/v1`.
pub fn from_core(event: &mut Value) {
    rename(event, "events.k8s.io/v1", |(core, events)| (core, events));
    if let Value::Object(fields) = event {
        for optional in ["reportingController", "reportingInstance"] {
            if fields.get(optional).is_some_and(|text| text == "") {
                fields.remove(optional);
            }
        }
        fields.entry("eventTime").or_insert(Value::Null);
    }
}

fn rename(
    event: &mut Value,
    version: &str,
    names: fn((&'static str, &'static str)) -> (&'static str, &'static str),
) {
    let Value::Object(fields) = event else { return };
    fields.insert("apiVersion".to_owned(), version.into());
    for (from, to) in RENAMED.map(names) {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

fn has_event_time(event: &Value) -> bool {
    read::has(event, "eventTime")
}

/// Rules for every event. Those with an `eventTime` come from newer clients and say who reports.
fn validate_any(event: &Value, reporter: &str, errors: &mut Errors) {
    let root = Field::root(event);
    let namespace = read::text(read::get(event, "metadata"), "namespace");
    let involved = root.child("involvedObject.namespace");
    let fits = match (has_event_time(event), involved.text()) {
        (false, "") => ["", "default"].contains(&namespace),
        (false, involved) => involved == namespace,
        (true, "") => ["default", "kube-system"].contains(&namespace),
        (true, _) => true,
    };
    if !fits {
        involved.invalid_as(involved.text(), "does not match event.namespace", errors);
    }
    if has_event_time(event) {
        let controller = Field::top_level(read::get(event, "reportingComponent"), reporter);
        controller.require(errors);
        controller.syntax(names::qualified_name, errors);
        for (field, max) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
            let field = root.child(field);
            field.require(errors);
            validate_length(&field, max, errors);
        }
        validate_length(&root.child("message"), 1024, errors);
    }
    Field::top_level(&namespace.into(), "namespace").syntax(names::dns_subdomain, errors);
}

fn validate_length(field: &Field<'_>, max: usize, errors: &mut Errors) {
    if field.text().len() > max {
        field.invalid_as("", format!("can have at most {max} characters"), errors);
    }
}

fn validate_strict(event: &Value, errors: &mut Errors) {
    let root = Field::root(event);
    validate_series(&root, errors);
    root.child("eventTime").require(errors);
    let kind = root.child("type");
    if !["Normal", "Warning"].contains(&kind.text()) {
        kind.invalid_as("", format!("has invalid value: {}", kind.text()), errors);
    }
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        let field = root.child(field);
        if !same(field.value, &Value::Null) {
            field.invalid_as("", "needs to be unset", errors);
        }
    }
}

fn validate_series(root: &Field<'_>, errors: &mut Errors) {
    if !root.child("series").is_set() {
        return;
    }
    let count = root.child("series.count");
    if count.int().unwrap_or_default() < 2 {
        count.invalid_as("", "should be at least 2", errors);
    }
    root.child("series.lastObservedTime").require(errors);
}

fn validate_changes(event: &Value, old: &Value, errors: &mut Errors) {
    let root = Field::root(event);
    if !same(read::get(event, "series"), read::get(old, "series")) {
        validate_series(&root, errors);
    }
    for (field, kind) in FIXED {
        let shown = if field == "reportingComponent" {
            "reportingController"
        } else {
            field
        };
        let (now, before) = (read::get(event, field), read::get(old, field));
        if !same(now, before) {
            Field::top_level(now, shown).invalid_shown(kind, IMMUTABLE, errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_hold_the_same_event() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "name": "web"}, "reason": "Started", "message": "hello",
            "source": {"component": "kubelet"}, "count": 3, "eventTime": null,
            "reportingComponent": "kubelet", "reportingInstance": "node-1", "type": "Normal",
        });
        let mut event = core.clone();
        from_core(&mut event);
        assert_eq!(event["regarding"]["name"], "web");
        assert_eq!(event["note"], "hello");
        assert_eq!(event["deprecatedCount"], 3);
        assert_eq!(event["reportingController"], "kubelet");
        to_core(&mut event);
        assert_eq!(event, core);
    }
}
