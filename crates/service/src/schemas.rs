//! The shapes of what is sent and answered, as JSON Schema. Bodies are checked against these very schemas before
//! anything else looks at them.

mod access;
mod definitions;
mod deliveries;
mod tasks;
mod templates;

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
        ("Identity", access::identity()),
        ("TemplateInput", templates::template_input()),
        ("Template", templates::template()),
        ("TemplateCheck", templates::template_check()),
        ("RenderInput", templates::render_input()),
        ("Rendering", templates::rendering()),
        ("DefinitionInput", definitions::definition_input()),
        ("Definition", definitions::definition()),
        ("Form", definitions::form()),
        ("TaskInput", tasks::task_input()),
        ("TaskPreview", tasks::task_preview()),
        ("TaskRow", tasks::task_row()),
        ("Task", tasks::task()),
        ("TaskState", tasks::task_state()),
        ("TaskEvents", tasks::task_events()),
        ("Delivery", deliveries::delivery()),
        ("SigningKey", deliveries::signing_key()),
        ("NodeGroup", deliveries::node_group()),
        ("TokenInput", access::token_input()),
        ("Token", access::token()),
        ("NewToken", access::new_token()),
        ("AuditRecord", access::audit_record()),
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
