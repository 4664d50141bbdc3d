//! The shapes of what is sent and answered, as JSON Schema. Bodies are checked against these very schemas before
//! anything else looks at them.

use serde_json::{Map, Value, json};

/// The longest text of YAML that a definition or template may have.
pub(crate) const MAX_TEXT: usize = 262_144;
pub(crate) const MAX_TEMPLATE: usize = 65_536;

/// Names of templates, tasks and the like.
const OBJECT_NAME: &str = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";

/// Every schema by its name.
pub(crate) fn components() -> Map<String, Value> {
    let mut all = Map::new();
    for (name, schema) in [
        ("Any", json!({"type": "object"})),
        ("Problem", problem()),
        ("Identity", identity()),
        ("TemplateInput", template_input()),
        ("Template", template()),
        ("TemplateCheck", template_check()),
        ("RenderInput", render_input()),
        ("Rendering", rendering()),
        ("DefinitionInput", definition_input()),
        ("Definition", definition()),
        ("Form", form()),
        ("TaskInput", task_input()),
        ("TaskPreview", task_preview()),
        ("TaskRow", task_row()),
        ("Task", task()),
        ("TaskState", task_state()),
        ("TaskEvents", task_events()),
        ("Delivery", delivery()),
        ("SigningKey", signing_key()),
        ("NodeGroup", node_group()),
        ("TokenInput", token_input()),
        ("Token", token()),
        ("NewToken", new_token()),
        ("AuditRecord", audit_record()),
        ("TemplatePage", page("Template")),
        ("DefinitionPage", page("Definition")),
        ("TaskPage", page("TaskRow")),
        ("DeliveryPage", page("Delivery")),
        ("NodeGroupPage", page("NodeGroup")),
        ("TokenPage", page("Token")),
        ("AuditPage", page("AuditRecord")),
    ] {
        all.insert(name.to_owned(), schema);
    }
    all
}

pub(crate) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn page(item: &str) -> Value {
    json!({
        "type": "object",
        "required": ["items"],
        "properties": {
            "items": {"type": "array", "items": reference(item)},
            "next_cursor": {"type": "string", "description": "Where the next page begins; absent on the last"},
        },
    })
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn moment(description: &str) -> Value {
    json!({"type": "string", "format": "date-time", "description": description})
}

fn warnings() -> Value {
    json!({"type": "array", "items": {"type": "object", "required": ["detail"], "properties": {
        "pointer": {"type": "string"},
        "detail": {"type": "string"},
    }}, "description": "What is allowed and probably not meant"})
}

/// Objects of Kubernetes, of any kind.
fn manifests() -> Value {
    json!({"type": "array", "items": {"type": "object"}, "description": "The objects it would make"})
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "RFC 9457",
        "required": ["type", "title", "status", "detail", "instance", "code", "request_id"],
        "properties": {
            "type": text("A name for this kind of problem"),
            "title": text("What this kind of problem is"),
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": text("What is wrong this time"),
            "instance": text("The path of the request"),
            "code": text("The kind of problem in one word, which never changes"),
            "request_id": text("The request, as the log and the audit log know it"),
            "errors": {
                "type": "array",
                "description": "Every field that is wrong",
                "items": {
                    "type": "object",
                    "required": ["pointer", "detail"],
                    "properties": {
                        "pointer": text("Where: a JSON pointer into the body, `?name` of a parameter, `Name:` of a header"),
                        "detail": text("What is wrong there"),
                        "hint": text("What to do about it"),
                        "description": text("What the definition says of the value"),
                        "example": {"description": "A value that would be right"},
                        "line": {"type": "integer", "description": "The line of the template"},
                        "column": {"type": "integer"},
                        "snippet": text("The line, with a mark where it is wrong"),
                        "value": text("The value of the template, such as `process.train.number`"),
                    },
                },
            },
        },
    })
}

fn identity() -> Value {
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

fn template_input() -> Value {
    json!({
        "type": "object",
        "required": ["name", "template"],
        "additionalProperties": false,
        "properties": template_fields(),
    })
}

fn template() -> Value {
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

fn template_check() -> Value {
    json!({
        "type": "object",
        "required": ["findings"],
        "properties": {
            "findings": findings(),
        },
    })
}

fn render_input() -> Value {
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

fn rendering() -> Value {
    json!({
        "type": "object",
        "required": ["manifests"],
        "properties": {"manifests": manifests(), "warnings": warnings()},
    })
}

fn definition_fields() -> Map<String, Value> {
    let yaml =
        |description: &str| json!({"type": "string", "maxLength": MAX_TEXT, "description": description});
    let fields = json!({
        "creator": {"type": "string", "maxLength": 253, "description": "Who registered it; it is whoever the token is of"},
        "name": {"type": "string", "minLength": 1, "maxLength": 253,
                 // No controls, no slash, and no blanks at the ends.
                 "pattern": r"^[^\u0000-\u0020\u007f/]([^\u0000-\u001f\u007f/]*[^\u0000-\u0020\u007f/])?$",
                 "description": "What tasks call it in `taskDef`"},
        "task_template_name": {"type": "string", "pattern": OBJECT_NAME, "description": "The template"},
        "description": {"type": "string", "maxLength": 4096, "description": "What it is for"},
        "user_values_description": yaml("YAML: what is to be filled in. Each leaf begins with `(Required)` or `(Optional)`"),
        "user_values_example": yaml("YAML: an example of filled values"),
        "system_values": yaml("YAML: values that the definition fills in itself, such as the image"),
        "values_schema": {"type": "object", "description": "JSON Schema of the values, in place of `user_values_description`"},
        "application": {"type": "string", "maxLength": 253, "description": "What its tasks belong to"},
        "append_uuid": {"enum": [0, 1, true, false],
                        "description": "Whether something unique is added to the name, so that it is nobody else's"},
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn definition_input() -> Value {
    json!({
        "type": "object",
        "required": ["name", "task_template_name"],
        "additionalProperties": false,
        "properties": definition_fields(),
    })
}

fn definition() -> Value {
    let mut fields = definition_fields();
    fields.insert("namespace".to_owned(), text("Where it is"));
    fields.insert("created_at".to_owned(), moment("When it was registered"));
    fields.insert("etag".to_owned(), text("Its version"));
    fields.insert("warnings".to_owned(), warnings());
    json!({"type": "object", "required": ["name", "namespace", "task_template_name"], "properties": fields})
}

fn form() -> Value {
    json!({
        "type": "object",
        "required": ["definition", "fields"],
        "properties": {
            "definition": {"type": "string"},
            "fields": {"type": "array", "items": {"type": "object"}},
            "example": {"type": "object"},
        },
    })
}

fn task_input() -> Value {
    json!({
        "type": "object",
        "description": "Filled values, as the definition describes them",
        "required": ["taskDef"],
        "properties": {
            "taskDef": {"type": "string", "minLength": 1, "maxLength": 253, "description": "The definition"},
        },
    })
}

fn task_preview() -> Value {
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

fn task_row() -> Value {
    json!({"type": "object", "required": ["name", "namespace", "phase"], "properties": row_fields()})
}

fn task() -> Value {
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

fn task_state() -> Value {
    let mut fields = row_fields();
    fields.insert("message".to_owned(), text("Why, for people"));
    fields.insert("waiting".to_owned(), json!({"type": "object"}));
    json!({"type": "object", "required": ["name", "phase"], "properties": fields})
}

fn task_events() -> Value {
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

fn delivery() -> Value {
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

fn signing_key() -> Value {
    json!({
        "type": "object",
        "required": ["namespace", "secret"],
        "properties": {
            "namespace": {"type": "string"},
            "secret": text("The key, as Standard Webhooks write it: `whsec_` and base64"),
        },
    })
}

fn node_group() -> Value {
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

fn token_input() -> Value {
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

fn token() -> Value {
    json!({"type": "object", "required": ["id", "name", "grants"], "properties": token_fields()})
}

fn new_token() -> Value {
    let mut fields = token_fields();
    fields.insert(
        "token".to_owned(),
        text("The token itself; it is shown this once"),
    );
    json!({"type": "object", "required": ["id", "name", "grants", "token"], "properties": fields})
}

fn audit_record() -> Value {
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
                "enum": ["done", "unknown"],
                "description": "`unknown`: it was begun, and the service was stopped or cut off before it knew what became of it",
            },
        },
    })
}

/// A schema that stands alone, with all that it refers to.
pub(crate) fn standalone(name: &str) -> Value {
    let mut schema = reference(name);
    schema["components"] = json!({"schemas": components()});
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes;

    #[test]
    fn every_schema_that_is_named_is_there_and_is_one() {
        let all = components();
        let mut named: Vec<&str> = Vec::new();
        for route in routes::table().leak() {
            named.extend(route.body);
            named.extend(route.answers.iter().filter_map(|(_, content)| match content {
                routes::Content::Json(name) | routes::Content::JsonOrEvents(name) => Some(*name),
                _ => None,
            }));
        }
        for name in named {
            assert!(all.contains_key(name), "{name}");
            jsonschema::validator_for(&standalone(name)).unwrap();
        }
    }
}
