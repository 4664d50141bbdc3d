//! What holds for any sequence of writes.

use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};

use super::types::Place;
use crate::apply::{FieldSet, Reset, Write, apply, compare::UNOWNED_METADATA, mentioned::mentioned, update};

/// One write by one of three managers.
#[derive(Clone, Debug)]
struct Step {
    is_apply: bool,
    force: bool,
    manager: &'static str,
    spec: Value,
}

fn text() -> impl Strategy<Value = Value> {
    "[a-c]".prop_map(Value::from)
}

fn map() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[p-r<\"]", text(), 1..4)
        .prop_map(|entries| Value::Object(entries.into_iter().collect()))
}

fn set() -> impl Strategy<Value = Value> {
    proptest::collection::btree_set("[x-z&]", 1..4).prop_map(|items| items.into_iter().collect())
}

fn items() -> impl Strategy<Value = Value> {
    let item = ("[a-e]", text(), map())
        .prop_map(|(name, value, more)| (name.clone(), json!({"name": name, "value": value, "more": more})));
    vec(item, 1..5).prop_map(|items| {
        let mut seen = Vec::new();
        let unique = items.into_iter().filter(|(name, _)| {
            let is_new = !seen.contains(name);
            seen.push(name.clone());
            is_new
        });
        unique.map(|(_, item)| item).collect()
    })
}

fn spec() -> impl Strategy<Value = Value> {
    let field = prop_oneof![
        text().prop_map(|value| ("text", value)),
        (1..3).prop_map(|value| ("size", json!(value))),
        map().prop_map(|value| ("free", value)),
        map().prop_map(|value| ("frozen", value)),
        map().prop_map(|value| ("payload", value)),
        set().prop_map(|value| ("tags", value)),
        set().prop_map(|value| ("order", value)),
        items().prop_map(|value| ("items", value)),
    ];
    vec(field, 1..6).prop_map(|fields| {
        Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Map<_, _>>(),
        )
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let manager = prop_oneof![Just("a"), Just("b"), Just("kubectl")];
    let step =
        (any::<bool>(), any::<bool>(), manager, spec()).prop_map(|(is_apply, force, manager, spec)| Step {
            is_apply,
            force,
            manager,
            spec,
        });
    vec(step, 1..8)
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": spec})
}

/// The object after a write; the one before if the write is refused.
fn run(live: Option<&Value>, step: &Step, now: &str) -> Option<Value> {
    let shape = Place::of("Gadget");
    let write = Write {
        shape,
        manager: step.manager,
        api_version: "example.com/v1",
        kind: "Gadget",
        subresource: "",
        now,
        force: step.force,
        reset: &Reset::Nothing,
        blank: &json!({}),
        versions: &(),
    };
    let mut new = object(&step.spec);
    if step.is_apply {
        new = apply(live, &new, &write).ok()?;
    } else {
        update(live, &mut new, &write);
    }
    drop_nulls(&mut new);
    new["metadata"]["uid"] = json!("1");
    Some(new)
}

/// What is left of a list or map that lost all its parts is null, and dropped by the server.
fn drop_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(drop_nulls);
    }
}

fn owned(object: &Value) -> FieldSet {
    let mut all = FieldSet::new();
    for entry in object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
    {
        all.union_with(FieldSet::from_json(&entry["fieldsV1"]).expect("a field set"));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_field_that_exists_has_an_owner(steps in steps()) {
        let mut live: Option<Value> = None;
        for (i, step) in steps.iter().enumerate() {
            let Some(object) = run(live.as_ref(), step, &format!("2024-01-01T00:00:0{i}Z")) else { continue };
            let mut fields = mentioned(&object, Place::of("Gadget")).leaves();
            fields.subtract(&FieldSet::of_fields(&[&["apiVersion"], &["kind"]]));
            for name in UNOWNED_METADATA {
                fields.subtract(&FieldSet::of_fields(&[&["metadata", name]]));
            }
            let owned = owned(&object);
            prop_assert!(fields.is_subset(&owned), "{:?} in {object:#}", fields.paths());
            live = Some(object);
        }
    }

    #[test]
    fn an_applied_field_has_the_applied_value(steps in steps()) {
        let mut live: Option<Value> = None;
        for step in &steps {
            let Some(object) = run(live.as_ref(), step, "2024-01-01T00:00:00Z") else { continue };
            prop_assert_eq!(step.spec["text"].is_null() || step.spec["text"] == object["spec"]["text"], true);
            let again = run(Some(&object), &Step { is_apply: true, ..step.clone() }, "2024-01-01T00:00:09Z");
            if step.is_apply {
                prop_assert_eq!(again.as_ref(), Some(&object), "applying again changes nothing");
            }
            live = Some(object);
        }
    }

    #[test]
    fn field_sets_read_back_as_written(spec in spec(), other in spec()) {
        let shape = Place::of("Gadget");
        let set = mentioned(&object(&spec), shape);
        let other = mentioned(&object(&other), shape);
        let text = set.to_json();
        let parsed: Value = serde_json::from_str(&text).expect("JSON");
        prop_assert_eq!(&FieldSet::from_json(&parsed).expect("a field set"), &set);
        prop_assert_eq!(parsed, set.clone().into_value());

        let common = set.intersection(&other);
        let mut difference = set.clone();
        difference.subtract(&other);
        let mut whole = difference.clone();
        whole.union_with(common.clone());
        prop_assert_eq!(&whole, &set);
        prop_assert!(difference.intersection(&other).is_empty());
        prop_assert!(set.paths().iter().all(|path| set.contains(path)));
    }
}
