//! JSONPaths are read or refused, and find a bounded number of things.

use std::sync::LazyLock;

use manifests::json_path::JsonPath;
use serde_json::{Value, json};

use crate::cost;

static OBJECT: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "a": [1, 2, { "b": [[], [{}], { "c": "d" }] }],
        "status": { "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Old", "status": "False" }] },
        "items": [{ "image": "x" }, { "image": "y", "items": [{ "image": "z" }] }],
    })
});

pub(super) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(path) = cost::within(input.len(), 20_000, || JsonPath::parse(text)) else {
        return;
    };
    let found = cost::within(input.len(), 100_000, || path.find(&OBJECT));
    assert_eq!(found, path.find(&OBJECT));
}
