//! Tasks: submitted, in lists, and with everything that is known of them.

use serde_json::{Map, Value, json};

use super::{manifests, moment, text, warnings};

pub(super) fn task_input() -> Value {
    json!({
        "type": "object",
        "description": "Filled values, as the definition describes them",
        "required": ["taskDef"],
        "properties": {
            "taskDef": {"type": "string", "minLength": 1, "maxLength": 253, "description": "The definition"},
        },
    })
}

pub(super) fn task_preview() -> Value {
    json!({
        "type": "object",
        "required": ["name", "namespace", "task_def", "manifests"],
        "properties": {
            "name": text("A name it could get"),
            "namespace": {"type": "string"},
            "task_def": {"type": "string"},
            "creator": {"type": "string"},
            "manifests": manifests(),
            "warnings": warnings(),
        },
    })
}

fn phase() -> Value {
    json!({"type": "string", "enum": ["Pending", "Running", "Succeeded", "Failed", "Cancelled"]})
}

fn row_fields() -> Map<String, Value> {
    let fields = json!({
        "name": text("The name of the task, which is also its release"),
        "namespace": {"type": "string"},
        "phase": phase(),
        "reason": text("One word for why it is in this phase"),
        "task_def": text("The definition"),
        "application": {"type": "string"},
        "creator": text("Who submitted it"),
        "attempt": {"type": "integer"},
        "created_at": moment("When it was submitted"),
        "started_at": moment("When it first ran"),
        "finished_at": moment("When it ended"),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

pub(super) fn task_row() -> Value {
    json!({"type": "object", "required": ["name", "namespace", "phase"], "properties": row_fields()})
}

pub(super) fn task() -> Value {
    let mut fields = row_fields();
    let more = json!({
        "message": text("Why it is in this phase, for people"),
        "description": {"type": "string"},
        "cancelled": {"type": "boolean", "description": "Somebody has asked for its end"},
        "waiting": {"type": "object", "description": "What a pending task waits for"},
        "attempts": {"type": "array", "items": {"type": "object"}},
        "outputs": {"type": "array", "items": {"type": "object"}},
        "children": {"type": "array", "items": {"type": "object"}, "description": "The objects it is made of"},
        "values": {"type": "object", "description": "What was submitted, without secrets"},
        "etag": text("Its version"),
        "warnings": warnings(),
    });
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    json!({"type": "object", "required": ["name", "namespace", "phase"], "properties": fields})
}

pub(super) fn task_state() -> Value {
    let mut fields = row_fields();
    fields.insert("message".to_owned(), text("Why, for people"));
    fields.insert("waiting".to_owned(), json!({"type": "object"}));
    json!({"type": "object", "required": ["name", "phase"], "properties": fields})
}

pub(super) fn task_events() -> Value {
    json!({
        "type": "object",
        "required": ["items"],
        "properties": {"items": {"type": "array", "items": {
            "type": "object",
            "required": ["sequence", "type"],
            "properties": {
                "sequence": {"type": "integer"},
                "type": {"type": "string"},
                "attempt": {"type": "integer"},
                "time": moment("When it happened"),
                "reason": {"type": "string"},
                "message": {"type": "string"},
            },
        }}},
    })
}
