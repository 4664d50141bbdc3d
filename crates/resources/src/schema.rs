//! Schemas that are written by hand, and how derived ones become structural schemas.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Value, json};

use crate::rules;

/// A pod template. Its full schema is 600 kB, more than `kubectl apply` can carry; so unknown fields
/// are kept, and only what rules speak of is described. The operator checks the rest as the API
/// server checks a pod.
pub(crate) fn pod_template(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "description": "The pod of each replica, as of a Deployment.",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "spec": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "containers": {
                        "type": "array",
                        "maxItems": 64,
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": true,
                            "required": ["name"],
                            "properties": {
                                "name": {"type": "string", "maxLength": 63},
                                "image": {"type": "string", "maxLength": 4096},
                            },
                        },
                    },
                },
            },
        },
    })
}

/// Amounts by resource name.
pub(crate) fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {"x-kubernetes-int-or-string": true},
    })
}

/// How many processes a node has, for `torchrun`.
pub(crate) fn processes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-int-or-string": true, "x-kubernetes-validations": rules::of_processes()})
}

/// A list of objects that somebody else checks.
pub(crate) fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
}

/// An object that somebody else checks.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// A value of any type.
pub(crate) fn any(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}

/// The structural schema of a type.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft07();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    structural(&mut schema);
    schema
}

/// Brings a derived schema into the form the API server asks for: one type in each place, no
/// defaults (they are filled in when a job is read, as in the originals), no names of types.
fn structural(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.remove("title");
    map.remove("default");
    if map
        .get("format")
        .is_some_and(|format| format == "int32" || format == "int64")
    {
        // The limits of the type are what its format says.
        map.retain(|name, value| {
            !(matches!(name.as_str(), "minimum" | "maximum") && is_limit_of_type(value))
        });
    }
    if let Some(Value::Array(types)) = map.get("type") {
        let single = types.iter().find(|name| **name != "null").cloned();
        map.insert("type".to_owned(), single.unwrap_or_else(|| json!("object")));
    }
    if let Some(Value::Array(choices)) = map.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if let Some(Value::Array(choices)) = map.remove("anyOf") {
        let choice = choices.into_iter().find(|choice| choice["type"] != "null");
        for (name, value) in choice.as_ref().and_then(Value::as_object).into_iter().flatten() {
            map.entry(name.clone()).or_insert_with(|| value.clone());
        }
        return structural(schema);
    }
    for (name, value) in map.iter_mut() {
        match name.as_str() {
            "properties" => value
                .as_object_mut()
                .into_iter()
                .flatten()
                .for_each(|(_, field)| structural(field)),
            "items" | "additionalProperties" => structural(value),
            _ => {}
        }
    }
}

fn is_limit_of_type(value: &Value) -> bool {
    [json!(i32::MIN), json!(i32::MAX), json!(i64::MIN), json!(i64::MAX)].contains(value)
}
