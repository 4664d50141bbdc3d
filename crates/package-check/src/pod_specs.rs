//! The specifications of pods in an object of any kind.

use serde_json::Value;

use crate::complaints::below;

/// With their paths. A map with a list of containers is one.
pub(crate) fn pod_specs(object: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    // What a definition describes is no object.
    if object["kind"] != "CustomResourceDefinition" {
        collect(object, String::new(), &mut found);
    }
    found
}

fn collect<'v>(value: &'v Value, path: String, found: &mut Vec<(String, &'v Value)>) {
    match value {
        Value::Object(fields) if fields.get("containers").is_some_and(Value::is_array) => {
            found.push((path, value));
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, below(&path, name), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}
