//! How a command ended, as the last thing its client is told.

use serde_json::{Value, json};

/// How much a client understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A `Status`, from version 4 on.
    Json,
    /// Only the words of a failure.
    Text,
}

impl Form {
    pub(super) fn text(self, status: &Value) -> String {
        match self {
            Self::Json => status.to_string(),
            Self::Text => kinds::read::text(status, "message").to_owned(),
        }
    }
}

pub(super) fn success() -> Value {
    json!({ "metadata": {}, "status": "Success" })
}

pub(super) fn exit(code: i32) -> Value {
    json!({
        "metadata": {},
        "status": "Failure",
        "message": format!("command terminated with non-zero exit code: command terminated with exit code {code}"),
        "reason": "NonZeroExitCode",
        "details": { "causes": [{ "reason": "ExitCode", "message": code.to_string() }] },
    })
}

pub(super) fn internal(why: &str) -> Value {
    json!({
        "metadata": {},
        "status": "Failure",
        "message": format!("Internal error occurred: {why}"),
        "reason": "InternalError",
        "details": { "causes": [{ "message": why }] },
        "code": 500,
    })
}
