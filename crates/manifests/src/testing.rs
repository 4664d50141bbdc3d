//! Test support: cases recorded from the real implementation, and arbitrary JSON.

use proptest::prelude::*;
use serde_json::Value;

/// Runs each case of a file: `expected` is what comes out, `error` the message instead.
#[track_caller]
pub(crate) fn check_cases(cases: &str, run: impl Fn(&Value) -> Result<Value, String>) {
    let cases = crate::json::parse(cases.as_bytes()).unwrap().value;
    let cases = cases.as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let expected = match &case["error"] {
            Value::Null => Ok(case["expected"].clone()),
            message => Err(message.as_str().unwrap_or_default().to_owned()),
        };
        let actual = run(case);
        if actual != expected {
            failures.push(format!("{case}\n  expected {expected:?}\n  but got  {actual:?}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

/// Calls the function with arbitrary pairs of documents.
pub(crate) fn never_panics(run: impl Fn(&Value, &Value)) {
    proptest!(|(left in value(), right in value())| run(&left, &right));
}

/// Small documents over the few names that patches give a meaning to.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..12i64).prop_map(Value::from),
        name().prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..5)
                .prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "name",
        "a",
        "spec",
        "containers",
        "env",
        "finalizers",
        "metadata",
        "op",
        "path",
        "value",
        "from",
        "add",
        "remove",
        "replace",
        "test",
        "copy",
        "move",
        "/a",
        "/a/0",
        "/spec/-",
        "/spec/containers/-1",
        "",
        "$patch",
        "delete",
        "merge",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/finalizers",
        "$deleteFromPrimitiveList/finalizers",
        "$setElementOrder",
    ])
    .prop_map(str::to_owned)
}
