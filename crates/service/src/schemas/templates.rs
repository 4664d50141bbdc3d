//! Templates, and what they make of values.

use serde_json::{Map, Value, json};

use super::{MAX_TEMPLATE, OBJECT_NAME, manifests, moment, text, warnings};

fn template_fields() -> Map<String, Value> {
    let fields = json!({
        "name": {"type": "string", "pattern": OBJECT_NAME, "description": "What definitions call it"},
        "description": {"type": "string", "maxLength": 4096, "description": "What it is for"},
        "template": {"type": "string", "minLength": 1, "maxLength": MAX_TEMPLATE,
                     "description": "Jinja text that renders one or more YAML documents"},
        "required_values": {"type": "object", "description": "The values it reads, with a description in each place"},
        "allowed_kinds": {"type": "array", "maxItems": 64, "items": {"type": "string", "minLength": 1, "maxLength": 253},
                          "description": "Kinds it may make, as `Job` or `batch/v1/Job`; without any, those every template may"},
        "trusted": {"type": "boolean",
                    "description": "What it makes may be privileged and use the host; only admins may say so"},
        "claims": {"type": "string", "enum": ["Keep", "Delete"],
                   "description": "What becomes of a task's volume claims when it is deleted, where the task does not say"},
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

pub(super) fn template_input() -> Value {
    json!({
        "type": "object",
        "required": ["name", "template"],
        "additionalProperties": false,
        "properties": template_fields(),
    })
}

pub(super) fn template() -> Value {
    let mut fields = template_fields();
    fields.insert("created_at".to_owned(), moment("When it was first published"));
    fields.insert("etag".to_owned(), text("Its version"));
    fields.insert("warnings".to_owned(), warnings());
    json!({"type": "object", "required": ["name"], "properties": fields})
}

fn findings() -> Value {
    json!({"type": "array", "items": {
        "type": "object",
        "required": ["severity", "detail"],
        "properties": {
            "severity": {"type": "string", "enum": ["error", "warning", "note"]},
            "rule": {"type": "string"},
            "template": {"type": "string"},
            "detail": {"type": "string"},
            "line": {"type": "integer"},
            "column": {"type": "integer"},
            "snippet": {"type": "string"},
            "hint": {"type": "string"},
        },
    }})
}

pub(super) fn template_check() -> Value {
    json!({
        "type": "object",
        "required": ["findings"],
        "properties": {
            "findings": findings(),
        },
    })
}

pub(super) fn render_input() -> Value {
    json!({
        "type": "object",
        "required": ["values"],
        "additionalProperties": false,
        "properties": {
            "values": {"type": "object", "description": "Filled values, as they would be submitted"},
            "system_values": {"type": "object", "description": "What a definition would add, such as the image; of a built-in template the usual ones, if left out"},
            "release": {"type": "string", "pattern": OBJECT_NAME, "maxLength": 50,
                        "description": "The name the task would have"},
        },
    })
}

pub(super) fn rendering() -> Value {
    json!({
        "type": "object",
        "required": ["manifests"],
        "properties": {"manifests": manifests(), "warnings": warnings()},
    })
}
