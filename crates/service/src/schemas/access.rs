//! Who asks, what they may, and what they have done.

use serde_json::{Map, Value, json};

use super::{moment, text};

pub(super) fn identity() -> Value {
    json!({
        "type": "object",
        "required": ["name", "kind"],
        "properties": {
            "name": text("Who it is; the `creator` of what they make"),
            "kind": {"type": "string", "enum": ["token", "kubernetes"]},
            "namespace": text("The namespace that is meant where none is named"),
            "groups": {"type": "array", "items": {"type": "string"}},
            "grants": {"type": "array", "items": grant()},
            "expires_at": moment("When the token ends"),
        },
    })
}

fn grant() -> Value {
    json!({
        "type": "object",
        "required": ["role", "namespace"],
        "additionalProperties": false,
        "properties": {
            "role": {"type": "string", "enum": ["viewer", "submitter", "template-admin", "admin"]},
            "namespace": {
                "type": "string",
                "description": "A namespace, or `*` for all",
                "pattern": r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?|\*)$",
            },
        },
    })
}

pub(super) fn token_input() -> Value {
    json!({
        "type": "object",
        "required": ["name", "grants"],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 63,
                     "pattern": "^[A-Za-z0-9]([-A-Za-z0-9_.@]*[A-Za-z0-9])?$",
                     "description": "Who holds it: the `creator` of what is made with it"},
            "description": {"type": "string", "maxLength": 1024},
            "grants": {"type": "array", "minItems": 1, "maxItems": 64, "items": grant()},
            "expires_in_seconds": {"type": "integer", "minimum": 1, "maximum": 315_360_000,
                                   "description": "Where absent it holds until it is revoked"},
        },
    })
}

fn token_fields() -> Map<String, Value> {
    let fields = json!({
        "id": {"type": "string"},
        "name": {"type": "string"},
        "description": {"type": "string"},
        "grants": {"type": "array", "items": grant()},
        "created_by": {"type": "string"},
        "created_at": moment("When it was made"),
        "expires_at": moment("When it ends"),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

pub(super) fn token() -> Value {
    json!({"type": "object", "required": ["id", "name", "grants"], "properties": token_fields()})
}

pub(super) fn new_token() -> Value {
    let mut fields = token_fields();
    fields.insert(
        "token".to_owned(),
        text("The token itself; it is shown this once"),
    );
    json!({"type": "object", "required": ["id", "name", "grants", "token"], "properties": fields})
}

pub(super) fn audit_record() -> Value {
    json!({
        "type": "object",
        "required": ["id", "time", "who", "operation", "request_id"],
        "properties": {
            "id": {"type": "string"},
            "time": moment("When it was begun"),
            "who": text("Whose token it was done with"),
            "token": text("Which token, by its id"),
            "operation": text("What was done, by the name of the operation in this document"),
            "kind": {"type": "string"},
            "namespace": {"type": "string"},
            "name": {"type": "string"},
            "before": text("Hash of what it was"),
            "after": text("Hash of what it became"),
            "address": text("Where the request came from"),
            "request_id": {"type": "string"},
            "outcome": {
                "type": "string",
                "enum": ["done", "not_done", "unknown"],
                "description": "`unknown`: it was begun, and the service was stopped or cut off before it knew what became of it; somebody looks at what it was about and says in `found` what there is to see",
            },
            "found": text("What was seen of what it was about by whoever looked later, where the record of its end is missing"),
        },
    })
}
