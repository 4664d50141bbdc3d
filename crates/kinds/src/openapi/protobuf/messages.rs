//! The messages of gnostic's `openapi.v2`: which member of a document is which field.

use serde_json::Value;

use super::{Message, Shape};

const TEXTS: Shape = Shape::List(&Shape::Text);
const PARAMETERS: Shape = Shape::List(&Shape::Chosen(parameter));

/// `[{"BearerToken": []}]`
pub(super) const SECURITY: Shape = Shape::List(&Shape::Within(1, &Shape::Entries(&Shape::Within(1, &TEXTS))));

pub(super) const SECURITY_DEFINITIONS: Shape =
    Shape::Within(1, &Shape::Entries(&Shape::Within(2, &Shape::Object(&API_KEY))));

pub(super) static INFO: Message = Message {
    fields: &[("title", 1, Shape::Text), ("version", 2, Shape::Text)],
    extensions: 7,
};

static API_KEY: Message = Message {
    fields: &[
        ("type", 1, Shape::Text),
        ("name", 2, Shape::Text),
        ("in", 3, Shape::Text),
        ("description", 4, Shape::Text),
    ],
    extensions: 5,
};

pub(super) static PATH_ITEM: Message = Message {
    fields: &[
        ("get", 2, Shape::Object(&OPERATION)),
        ("put", 3, Shape::Object(&OPERATION)),
        ("post", 4, Shape::Object(&OPERATION)),
        ("delete", 5, Shape::Object(&OPERATION)),
        ("options", 6, Shape::Object(&OPERATION)),
        ("head", 7, Shape::Object(&OPERATION)),
        ("patch", 8, Shape::Object(&OPERATION)),
        ("parameters", 9, PARAMETERS),
    ],
    extensions: 10,
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, TEXTS),
        ("description", 3, Shape::Text),
        ("operationId", 5, Shape::Text),
        ("produces", 6, TEXTS),
        ("consumes", 7, TEXTS),
        ("parameters", 8, PARAMETERS),
        (
            "responses",
            9,
            Shape::Within(1, &Shape::Entries(&Shape::Within(1, &Shape::Object(&RESPONSE)))),
        ),
        ("schemes", 10, TEXTS),
    ],
    extensions: 13,
};

static RESPONSE: Message = Message {
    fields: &[
        ("description", 1, Shape::Text),
        ("schema", 2, Shape::Within(1, &Shape::Object(&SCHEMA))),
    ],
    extensions: 5,
};

static BODY: Message = Message {
    fields: &[
        ("description", 1, Shape::Text),
        ("name", 2, Shape::Text),
        ("in", 3, Shape::Text),
        ("required", 4, Shape::Flag),
        ("schema", 5, Shape::Object(&SCHEMA)),
    ],
    extensions: 6,
};

static QUERY: Message = Message {
    fields: &[
        ("required", 1, Shape::Flag),
        ("in", 2, Shape::Text),
        ("description", 3, Shape::Text),
        ("name", 4, Shape::Text),
        ("type", 6, Shape::Text),
        ("uniqueItems", 20, Shape::Flag),
    ],
    extensions: 23,
};

static PATH: Message = Message {
    fields: &[
        ("required", 1, Shape::Flag),
        ("in", 2, Shape::Text),
        ("description", 3, Shape::Text),
        ("name", 4, Shape::Text),
        ("type", 5, Shape::Text),
        ("uniqueItems", 19, Shape::Flag),
    ],
    extensions: 22,
};

pub(super) static SCHEMA: Message = Message {
    fields: &[
        ("$ref", 1, Shape::Text),
        ("format", 2, Shape::Text),
        ("title", 3, Shape::Text),
        ("description", 4, Shape::Text),
        ("default", 5, Shape::Any),
        ("multipleOf", 6, Shape::Number),
        ("maximum", 7, Shape::Number),
        ("exclusiveMaximum", 8, Shape::Flag),
        ("minimum", 9, Shape::Number),
        ("exclusiveMinimum", 10, Shape::Flag),
        ("maxLength", 11, Shape::Integer),
        ("minLength", 12, Shape::Integer),
        ("pattern", 13, Shape::Text),
        ("maxItems", 14, Shape::Integer),
        ("minItems", 15, Shape::Integer),
        ("uniqueItems", 16, Shape::Flag),
        ("maxProperties", 17, Shape::Integer),
        ("minProperties", 18, Shape::Integer),
        ("required", 19, TEXTS),
        ("enum", 20, Shape::List(&Shape::Any)),
        ("additionalProperties", 21, Shape::Chosen(schema_or_flag)),
        ("type", 22, Shape::Within(1, &Shape::Text)),
        ("items", 23, Shape::Within(1, &Shape::Object(&SCHEMA))),
        ("allOf", 24, Shape::List(&Shape::Object(&SCHEMA))),
        (
            "properties",
            25,
            Shape::Within(1, &Shape::Entries(&Shape::Object(&SCHEMA))),
        ),
    ],
    extensions: 31,
};

/// The messages around a parameter say where it is.
fn parameter(value: &Value) -> &'static Shape {
    const IN_BODY: &Shape = &Shape::Within(1, &Shape::Within(1, &Shape::Object(&BODY)));
    const IN_QUERY: &Shape = &Shape::Within(1, &Shape::Within(2, &Shape::Within(3, &Shape::Object(&QUERY))));
    const IN_PATH: &Shape = &Shape::Within(1, &Shape::Within(2, &Shape::Within(4, &Shape::Object(&PATH))));
    match value["in"].as_str() {
        Some("body") => IN_BODY,
        Some("path") => IN_PATH,
        _ => IN_QUERY,
    }
}

fn schema_or_flag(value: &Value) -> &'static Shape {
    const A_SCHEMA: &Shape = &Shape::Within(1, &Shape::Object(&SCHEMA));
    const A_FLAG: &Shape = &Shape::Within(2, &Shape::Flag);
    if value.is_boolean() { A_FLAG } else { A_SCHEMA }
}
