//! Definitions, and forms of their values.

use serde_json::{Map, Value, json};

use super::{MAX_TEXT, OBJECT_NAME, moment, text, warnings};

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

pub(super) fn definition_input() -> Value {
    json!({
        "type": "object",
        "required": ["name", "task_template_name"],
        "additionalProperties": false,
        "properties": definition_fields(),
    })
}

pub(super) fn definition() -> Value {
    let mut fields = definition_fields();
    fields.insert("namespace".to_owned(), text("Where it is"));
    fields.insert("created_at".to_owned(), moment("When it was registered"));
    fields.insert("etag".to_owned(), text("Its version"));
    fields.insert("warnings".to_owned(), warnings());
    json!({"type": "object", "required": ["name", "namespace", "task_template_name"], "properties": fields})
}

pub(super) fn form() -> Value {
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
