//! JSON is read or refused; what is read can be written and read again.

use manifests::json::{MAX_DEPTH, parse};
use serde_json::Value;

use crate::cost;

pub(super) fn run(input: &[u8]) {
    let Ok(parsed) = cost::within(input.len(), 4000, || parse(input)) else {
        let strict = serde_json::from_slice::<Value>(input);
        assert!(strict.is_err(), "refused, but is JSON");
        return;
    };
    assert!(depth(&parsed.value) <= MAX_DEPTH);
    let written = parsed.value.to_string();
    let again = parse(written.as_bytes()).expect("what was written is JSON");
    assert_eq!(again.value, parsed.value);
    assert!(again.duplicates.is_empty());
    if parsed.duplicates.is_empty()
        && let Ok(strict) = serde_json::from_slice::<Value>(input)
    {
        let again = parse(strict.to_string().as_bytes()).expect("what was written is JSON");
        assert_eq!(again.value, parsed.value, "another reader reads something else");
    }
}

pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
