//! What goes wrong with a request, as the `Status` object every Kubernetes client understands.

use std::{borrow::Cow, collections::HashSet};

use http::StatusCode;
use manifests::field::FieldError;
use serde_json::{Map, Value, json};
use store::WriteError;

/// A request that was refused or failed. Renders as a `Status` with the real server's reason, words
/// and details, because clients decide by them.
#[derive(Clone, Debug)]
pub struct ApiError {
    pub code: StatusCode,
    /// Empty for errors that have none but their code.
    pub reason: Cow<'static, str>,
    pub message: String,
    pub details: Option<Value>,
}

pub(crate) type Result<T, E = ApiError> = std::result::Result<T, E>;

/// The group and plural of a resource, as errors name it: `pods`, `deployments.apps`.
#[derive(Clone, Copy, Debug)]
pub struct Qualified<'a> {
    pub group: &'a str,
    pub name: &'a str,
}

impl std::fmt::Display for Qualified<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

impl ApiError {
    pub fn new(code: StatusCode, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
        }
    }

    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    pub fn forbidden(resource: Qualified<'_>, name: &str, why: &str) -> Self {
        let subject = if name.is_empty() {
            resource.to_string()
        } else {
            format!("{resource} \"{name}\"")
        };
        Self::new(
            StatusCode::FORBIDDEN,
            "Forbidden",
            format!("{subject} is forbidden: {why}"),
        )
        .with_details(object_details(resource, name))
    }

    pub fn not_found(resource: Qualified<'_>, name: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            format!("{resource} \"{name}\" not found"),
        )
        .with_details(object_details(resource, name))
    }

    /// A path below a known group that names nothing.
    pub fn no_such_resource() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with_details(json!({}))
    }

    pub fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .with_details(json!({}))
    }

    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            format!(
                "the body of the request was in an unknown format - accepted media types include: {}",
                accepted.join(", ")
            ),
        )
    }

    pub fn already_exists(resource: Qualified<'_>, name: &str) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "AlreadyExists",
            format!("{resource} \"{name}\" already exists"),
        )
        .with_details(object_details(resource, name))
    }

    pub fn conflict(resource: Qualified<'_>, name: &str, why: &str) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "Conflict",
            format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}"),
        )
        .with_details(object_details(resource, name))
    }

    pub fn stale(resource: Qualified<'_>, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    pub fn too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {limit}"),
        )
    }

    /// A request that took longer than any may.
    pub fn timeout() -> Self {
        Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "Timeout",
            "Timeout: request did not complete within the allotted timeout",
        )
        .with_details(json!({}))
    }

    pub fn too_many_requests(message: impl Into<String>, retry_after: u32) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message)
            .with_details(json!({ "retryAfterSeconds": retry_after }))
    }

    /// A read at a revision that does not exist yet.
    pub fn revision_too_large(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "Timeout",
            format!("Timeout: {message}"),
        )
        .with_details(json!({
            "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
            "retryAfterSeconds": 1,
        }))
    }

    pub fn internal(error: impl std::fmt::Display) -> Self {
        let message = error.to_string();
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
        .with_details(json!({ "causes": [{ "message": message }] }))
    }

    /// A write that the store did not take.
    pub fn not_stored(error: &WriteError) -> Self {
        match error {
            WriteError::Disk(cause) if cause.is_full() => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "InsufficientStorage",
                "the cluster's disk is full, so nothing can be written; reads and watches go on, and writes will when there is space again",
            ),
            WriteError::Disk(cause) => {
                let mut message = format!("{error}: {cause}");
                let mut source = std::error::Error::source(&**cause);
                while let Some(reason) = source {
                    message += &format!(": {reason}");
                    source = reason.source();
                }
                Self::internal(message)
            }
            other => Self::internal(other),
        }
    }

    /// An object that broke the rules of its kind.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let qualified = Qualified { group, name: kind };
        let list = aggregate(errors);
        let mut details = object_details(qualified, name);
        let causes = errors.iter().map(
            |error| json!({ "reason": error.kind.reason(), "message": error.body(), "field": error.field }),
        );
        details["causes"] = Value::Array(causes.collect());
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Invalid",
            format!("{qualified} \"{name}\" is invalid: {list}"),
        )
        .with_details(details)
    }

    /// Broken rules that the real server hands on as an error of its own.
    pub fn unhandled(errors: &[FieldError]) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", aggregate(errors))
    }

    /// The body of the answer.
    pub fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code.as_u16(),
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.as_ref().into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }

    /// Seconds after which the client is asked to try again.
    pub fn retry_after(&self) -> Option<u64> {
        self.details.as_ref()?.get("retryAfterSeconds")?.as_u64()
    }
}

/// Several errors as one text; what is said twice is said once.
fn aggregate(errors: &[FieldError]) -> String {
    let mut seen = HashSet::new();
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if seen.insert(text.clone()) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

fn object_details(resource: Qualified<'_>, name: &str) -> Value {
    let mut details = Map::new();
    if !name.is_empty() {
        details.insert("name".to_owned(), name.into());
    }
    if !resource.group.is_empty() {
        details.insert("group".to_owned(), resource.group.into());
    }
    if !resource.name.is_empty() {
        details.insert("kind".to_owned(), resource.name.into());
    }
    Value::Object(details)
}
