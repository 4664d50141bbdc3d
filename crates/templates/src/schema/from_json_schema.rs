//! Fields of a JSON Schema: as much of it as a form can show. The schema itself still decides.

use serde_json::Value;

use super::{
    anything,
    field::{Field, QUANTITY, Shape},
};
use crate::problem::{Code, Problem};

/// Schemas may nest and point to themselves; forms do not.
const DEPTH: usize = 16;

pub(super) fn read(schema: &Value) -> Result<Field, Box<Problem>> {
    if !schema.is_object() {
        return Err(Box::new(Problem::new(
            Code::Definition,
            "values_schema must be a mapping",
        )));
    }
    let field = field("", schema, schema, DEPTH);
    match field.shape {
        Shape::Mapping(_) | Shape::Any => Ok(field),
        _ => {
            let message = format!("values_schema must be one of a mapping, such as {}", anything());
            Err(Box::new(Problem::new(Code::Definition, message)))
        }
    }
}

fn field(name: &str, schema: &Value, root: &Value, depth: usize) -> Field {
    let Some(depth) = depth.checked_sub(1) else {
        return Field::new(name, Shape::Any);
    };
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(
            || Field::new(name, Shape::Any),
            |target| field(name, target, root, depth),
        );
    }
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
    Field {
        description: text("description").or_else(|| text("title")).unwrap_or_default(),
        default: schema.get("default").cloned(),
        example: schema
            .pointer("/examples/0")
            .or_else(|| schema.get("example"))
            .cloned(),
        ..Field::new(name, shape(schema, root, depth))
    }
}

fn shape(schema: &Value, root: &Value, depth: usize) -> Shape {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Shape::Choice(values.clone());
    }
    if let Some(value) = schema.get("const") {
        return Shape::Choice(vec![value.clone()]);
    }
    if schema.get("format").and_then(Value::as_str) == Some(QUANTITY) {
        return Shape::Quantity;
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds
                .iter()
                .filter_map(Value::as_str)
                .filter(|kind| *kind != "null");
            match (kinds.next(), kinds.next()) {
                (Some(kind), None) => kind,
                _ => "",
            }
        }
        _ if schema.get("properties").is_some() => "object",
        _ => "",
    };
    match kind {
        "string" => Shape::Text,
        "integer" => Shape::Integer,
        "number" => Shape::Number,
        "boolean" => Shape::Boolean,
        "object" => match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => {
                let required: Vec<&str> = schema
                    .get("required")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                let fields = properties.iter().map(|(name, schema)| Field {
                    required: required.contains(&name.as_str()),
                    ..field(name, schema, root, depth)
                });
                Shape::Mapping(fields.collect())
            }
            None => Shape::Any,
        },
        "array" => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            Shape::List(Box::new(field("", items, root, depth)))
        }
        _ => Shape::Any,
    }
}
