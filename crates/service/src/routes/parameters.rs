//! What requests can say beside their body: in the path, after the question mark, and in headers.

use serde_json::{Value, json};

use crate::cursor::{DEFAULT_LIMIT, MAX_LIMIT};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
}

#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    pub(crate) is_required: bool,
    pub(crate) description: &'static str,
    /// JSON Schema of its value.
    pub(crate) schema: Value,
}

fn query(name: &'static str, description: &'static str, schema: Value) -> Parameter {
    Parameter {
        name,
        place: Place::Query,
        is_required: false,
        description,
        schema,
    }
}

fn header(name: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Header,
        is_required: false,
        description,
        schema: json!({"type": "string", "minLength": 1, "maxLength": 255}),
    }
}

/// Names of objects of Kubernetes.
const OBJECT_NAME: &str = "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$";
pub(crate) const NAMESPACE: &str = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";

/// The parameters that a path names.
pub(super) fn of_path(path: &'static str) -> Vec<Parameter> {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    names
        .map(|(name, _)| Parameter {
            name,
            place: Place::Path,
            is_required: true,
            description: "Its name",
            schema: match name {
                "definition" => json!({"type": "string", "minLength": 1, "maxLength": 253}),
                _ => json!({"type": "string", "pattern": OBJECT_NAME, "maxLength": 253}),
            },
        })
        .collect()
}

pub(super) fn namespace() -> Parameter {
    query(
        "namespace",
        "The namespace; where absent the one the token is for, else `default`",
        json!({"type": "string", "pattern": NAMESPACE, "maxLength": 63}),
    )
}

pub(super) fn namespace_or_all() -> Parameter {
    query(
        "namespace",
        "The namespace, or `*` for all; where absent the one the token is for, else `default`",
        json!({"type": "string", "pattern": r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?|\*)$", "maxLength": 63}),
    )
}

pub(super) fn filter(name: &'static str, description: &'static str) -> Parameter {
    query(
        name,
        description,
        json!({"type": "string", "minLength": 1, "maxLength": 253}),
    )
}

pub(super) fn phase() -> Parameter {
    query(
        "phase",
        "Those in this phase",
        json!({"type": "string", "enum": ["Pending", "Running", "Succeeded", "Failed", "Cancelled"]}),
    )
}

pub(super) fn delivery_phase() -> Parameter {
    query(
        "phase",
        "Those in this phase",
        json!({"type": "string", "enum": ["Pending", "Delivered", "Failed", "Gone"]}),
    )
}

pub(super) fn limit() -> Parameter {
    query(
        "limit",
        "How many a page has at most",
        json!({"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}),
    )
}

pub(super) fn cursor() -> Parameter {
    query(
        "cursor",
        "The `next_cursor` of the page before",
        json!({"type": "string", "minLength": 1, "maxLength": 1024}),
    )
}

pub(super) fn dry_run() -> Parameter {
    query(
        "dryRun",
        "Try it and show what would come of it; nothing is made or changed",
        json!({"type": "boolean", "default": false}),
    )
}

pub(super) fn ttl() -> Parameter {
    query(
        "ttlSeconds",
        "So long the task is kept after it has ended; where absent, until somebody deletes it",
        json!({"type": "integer", "minimum": 0, "maximum": 315_360_000}),
    )
}

pub(super) fn claims() -> Parameter {
    query(
        "claims",
        "What becomes of the task's volume claims when it is deleted; where absent, what its template says",
        json!({"type": "string", "enum": ["Keep", "Delete"]}),
    )
}

pub(super) fn attempt() -> Parameter {
    query(
        "attempt",
        "Which attempt; where absent the last",
        json!({"type": "integer", "minimum": 1, "maximum": 1_000_000}),
    )
}

pub(super) fn tail() -> Parameter {
    query(
        "tail",
        "The last so many lines alone",
        json!({"type": "integer", "minimum": 0, "maximum": 1_000_000}),
    )
}

pub(super) fn idempotency_key() -> Parameter {
    header(
        "Idempotency-Key",
        "However often the same request is sent with the same key, one task is made of it",
    )
}

pub(super) fn last_event_id() -> Parameter {
    header(
        "Last-Event-ID",
        "The `id` of the last event that was read: the stream goes on after it",
    )
}

pub(super) fn if_none_match() -> Parameter {
    header(
        "If-None-Match",
        "The ETag of what the client has; nothing is sent if it is still that",
    )
}

pub(super) fn if_match(is_required: bool) -> Parameter {
    Parameter {
        is_required,
        ..header(
            "If-Match",
            "The ETag of what is changed, or `*`; refused if it is another by now",
        )
    }
}
