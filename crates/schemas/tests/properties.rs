//! Properties that hold for any object under any schema.

use proptest::{collection, prelude::*};
use schemas::{Structural, coerce, default, prune, validate, validate_update};
use serde_json::{Map, Value, json};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
        Just(json!("2024-01-01T00:00:00Z")),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            collection::btree_map(name(), inner, 0..4).prop_map(|entries| json!(entries)),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("metadata"),
        Just("kind"),
        Just("apiVersion"),
        Just("a"),
        Just("b"),
        Just("c"),
        Just("labels")
    ]
    .prop_map(str::to_owned)
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string", "maxLength": 2, "pattern": "^a"})),
        Just(json!({"type": "string", "format": "date-time", "nullable": true})),
        Just(json!({"type": "integer", "default": 3, "minimum": 1})),
        Just(json!({"type": "number", "multipleOf": 0.5, "enum": [1, 2.5]})),
        Just(json!({"type": "boolean"})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({"type": "integer", "anyOf": [{"minimum": 3}, {"multipleOf": 2}], "not": {"enum": [7]}})),
        Just(
            json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 3 || self < oldSelf"}]})
        ),
        Just(
            json!({"type": "string", "x-kubernetes-validations": [{"rule": "self.size() / (self.size() - 1) > 0"}]})
        ),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            (inner.clone(), 0..3_u8).prop_map(|(items, kind)| list_of(&items, kind)),
            inner
                .clone()
                .prop_map(|values| json!({"type": "object", "additionalProperties": values})),
            (
                collection::btree_map(name(), inner, 0..4),
                any::<bool>(),
                any::<bool>()
            )
                .prop_map(|(properties, preserve, embedded)| json!({
                    "type": "object",
                    "properties": properties,
                    "required": ["a"],
                    "x-kubernetes-preserve-unknown-fields": preserve,
                    "x-kubernetes-embedded-resource": embedded,
                })),
        ]
    })
}

fn list_of(items: &Value, kind: u8) -> Value {
    let mut list = json!({"type": "array", "items": items});
    match kind {
        1 => list["x-kubernetes-list-type"] = json!("set"),
        2 => {
            list["x-kubernetes-list-type"] = json!("map");
            list["x-kubernetes-list-map-keys"] = json!(["a", "b"]);
        }
        _ => {}
    }
    list
}

fn whole(schema: Value) -> Structural {
    let properties = Map::from_iter([("a".to_owned(), schema.clone()), ("b".to_owned(), schema)]);
    Structural::new(&json!({"type": "object", "properties": properties}))
}

proptest! {
    #[test]
    fn no_object_makes_a_step_panic(schema in any_schema(), object in any_json(), old in any_json()) {
        let schema = whole(schema);
        let mut object = object;
        let _ = coerce(&mut object.clone(), &schema);
        prune(&mut object, &schema);
        default(&mut object, &schema);
        let mut errors = Vec::new();
        validate(&object, &schema, &mut errors);
        validate_update(&object, &old, &schema, &mut errors);
    }

    #[test]
    fn pruning_again_changes_nothing(schema in any_schema(), object in any_json()) {
        let schema = whole(schema);
        let mut once = object;
        prune(&mut once, &schema);
        let mut twice = once.clone();
        let unknown = prune(&mut twice, &schema);
        prop_assert_eq!(&once, &twice);
        prop_assert!(unknown.is_empty(), "{:?}", unknown);
    }

    #[test]
    fn no_definition_makes_validation_panic(schema in any_schema(), other in any_json()) {
        let definition = json!({"metadata": {"name": "a.b"}, "spec": {"group": "b.c", "names": other,
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}, other]}});
        schemas::crd::validate(&definition, &mut Vec::new());
        schemas::crd::validate_update(&definition, &other, &mut Vec::new());
        for version in schemas::crd::CustomKind::of(&definition).versions {
            version.schema();
        }
    }

    #[test]
    fn no_text_makes_compilation_panic(source in "[a-z0-9 .()\\[\\]{}+*<>=&|!?:,'\"\\\\-]{0,40}") {
        if let Ok(expression) = schemas::cel::Expression::compile_with(&source, &["a", "b"]) {
            let _ = expression.evaluate(&[("a", &json!({"b": [1, "x", null]}))]);
        }
    }
}
