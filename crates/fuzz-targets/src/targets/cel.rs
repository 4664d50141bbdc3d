//! Expressions compile or are refused with their place; evaluation keeps to its budget and comes to
//! the same each time.

use std::sync::LazyLock;

use schemas::cel::{Expression, PER_CALL_LIMIT};
use serde_json::{Value, json};

use crate::cost;

static OBJECT: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "metadata": { "name": "a", "labels": { "x": "1", "y": "2" } },
        "spec": { "replicas": 3, "names": ["a", "b", "c"], "on": true, "none": null, "share": 0.5,
            "items": (0..50).map(|number| json!({ "number": number, "text": "x".repeat(number) })).collect::<Vec<_>>() },
    })
});

const LIMIT: u64 = 100_000;

pub(super) fn run(input: &[u8]) {
    let source = String::from_utf8_lossy(input);
    let compiled = cost::within(input.len(), 50_000, || Expression::compile(&source));
    let Ok(expression) = compiled else { return };
    let variables = [("object", &*OBJECT), ("oldObject", &Value::Null)];
    let evaluate = || expression.evaluate_within(&variables, LIMIT);
    let (value, spent) = cost::within(LIMIT as usize, 1000, evaluate);
    assert!(spent <= PER_CALL_LIMIT * 2, "{spent} spent");
    let (again, _) = evaluate();
    assert_eq!(again, value);
}
