//! Callbacks, the key they are signed with, and the groups of nodes that tasks wait for.

use serde_json::{Value, json};

use super::{moment, text};

pub(super) fn delivery() -> Value {
    json!({
        "type": "object",
        "required": ["name", "namespace", "task", "phase"],
        "properties": {
            "name": {"type": "string"},
            "namespace": {"type": "string"},
            "task": {"type": "string"},
            "sequence": {"type": "integer"},
            "event": {"type": "string"},
            "endpoint": {"type": "integer", "description": "Which of the task's endpoints"},
            "url": {"type": "string"},
            "phase": {"type": "string", "enum": ["Pending", "Delivered", "Failed", "Gone"]},
            "attempt_count": {"type": "integer"},
            "created_at": moment("When it was due"),
            "next_attempt_at": moment("When it is tried again"),
            "attempts": {"type": "array", "items": {"type": "object"}},
            "payload": {"type": "string", "description": "The body as it is sent"},
        },
    })
}

pub(super) fn signing_key() -> Value {
    json!({
        "type": "object",
        "required": ["namespace", "secret"],
        "properties": {
            "namespace": {"type": "string"},
            "secret": text("The key, as Standard Webhooks write it: `whsec_` and base64"),
        },
    })
}

pub(super) fn node_group() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "description": {"type": "string"},
            "selector": {"type": "object"},
            "gpus_per_node": {"type": "integer"},
            "min_nodes": {"type": "integer"},
            "max_nodes": {"type": "integer"},
            "boot_seconds": {"type": "integer"},
            "nodes": {"type": "integer"},
            "ready_nodes": {"type": "integer"},
            "waiting_tasks": {"type": "integer"},
        },
    })
}
