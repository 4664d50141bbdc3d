//! The times in a record when a write turns out to change nothing.

use serde_json::{Map, Value};

use super::{compare::same, record::stored};

/// Undoes the new times in the record of an object that is otherwise the same as before, so that
/// writing it is no change. To be called once defaults and all else that the server sets are there.
pub fn restore_times(old: &Value, new: &mut Value) {
    let (Some(before), Some(after)) = (stored(old), stored(new)) else {
        return;
    };
    let same_entries = before.len() == after.len()
        && before
            .iter()
            .zip(after)
            .all(|(before, after)| same_except(before, after, &["time"]));
    if !same_entries || before == after || !same_except(old, new, &["metadata", "managedFields"]) {
        return;
    }
    let before = before.clone();
    if let Some(record) = new.pointer_mut("/metadata/managedFields") {
        *record = Value::Array(before);
    }
}

/// Whether two values are the same but for what lies at a path.
fn same_except(a: &Value, b: &Value, path: &[&str]) -> bool {
    let ([name, rest @ ..], Some(a), Some(b)) = (path, a.as_object(), b.as_object()) else {
        return true;
    };
    let others = |fields: &Map<String, Value>| fields.len() - usize::from(fields.contains_key(*name));
    others(a) == others(b)
        && a.iter().all(|(field, a)| match b.get(field) {
            Some(b) if field == name => same_except(a, b, rest),
            Some(b) => same(a, b),
            None => field == name && rest.is_empty(),
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &str, time: &str) -> Value {
        let entry = json!({"manager": "a", "operation": "Apply", "time": time, "fieldsV1": {"f:data": {}}});
        json!({"metadata": {"name": "x", "managedFields": [entry]}, "data": value})
    }

    #[test]
    fn times_are_restored_when_nothing_else_changed() {
        let old = object("1", "2024-01-01T00:00:00Z");
        let mut same = object("1", "2024-01-01T00:00:09Z");
        restore_times(&old, &mut same);
        assert_eq!(same, old);

        let changed = object("2", "2024-01-01T00:00:09Z");
        let mut new = changed.clone();
        restore_times(&old, &mut new);
        assert_eq!(new, changed);

        let mut shared = object("1", "2024-01-01T00:00:09Z");
        shared["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:data": {}, "f:more": {}});
        let expected = shared.clone();
        restore_times(&old, &mut shared);
        assert_eq!(shared, expected);
    }
}
