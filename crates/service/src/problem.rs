//! What is said when a request is not done: RFC 9457, with a code that programs can go by and every wrong field
//! at once.

use http::StatusCode;
use serde_json::{Map, Value, json};

pub(crate) type Outcome<T> = Result<T, Problem>;

/// Why there is no other answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    /// What is wrong this time, for people.
    pub(crate) detail: String,
    /// Each field that is wrong.
    pub(crate) errors: Vec<Mistake>,
    /// After so many seconds the same may be answered.
    pub(crate) retry_after: Option<u64>,
    /// What this kind of problem has beside that, such as where in a template it is.
    pub(crate) more: Map<String, Value>,
}

/// One thing that is wrong in what was sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Mistake {
    /// Where: a JSON pointer into the body, or the name of a parameter or header after `?` or in front of `:`.
    pub(crate) pointer: String,
    pub(crate) detail: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// Further members: `description`, `example`, positions in a template.
    pub(crate) more: Map<String, Value>,
}

impl Mistake {
    pub(crate) fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            detail: detail.into(),
            ..Self::default()
        }
    }

    fn json(&self) -> Value {
        let mut value = json!({"pointer": self.pointer, "detail": self.detail});
        if let Some(hint) = &self.hint {
            value["hint"] = json!(hint);
        }
        for (name, member) in &self.more {
            value[name] = member.clone();
        }
        value
    }
}

macro_rules! codes {
    ($($variant:ident, $code:literal, $status:ident, $title:literal;)*) => {
        /// What is wrong, as programs see it. Codes never change their meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Code { $($variant),* }

        impl Code {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$variant),*];

            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$variant => $code),* }
            }

            pub(crate) fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status),* }
            }

            fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),* }
            }
        }
    };
}

codes! {
    BadRequest, "bad_request", BAD_REQUEST, "The request cannot be understood";
    NotJson, "not_json", BAD_REQUEST, "The body is not JSON";
    Unauthenticated, "unauthenticated", UNAUTHORIZED, "Nobody is known by this token";
    Forbidden, "forbidden", FORBIDDEN, "This is not allowed";
    NotFound, "not_found", NOT_FOUND, "There is no such thing";
    MethodNotAllowed, "method_not_allowed", METHOD_NOT_ALLOWED, "That cannot be done here";
    NotAcceptable, "not_acceptable", NOT_ACCEPTABLE, "There is no answer in such a form";
    TooSlow, "too_slow", REQUEST_TIMEOUT, "The request took too long to arrive";
    AlreadyExists, "already_exists", CONFLICT, "There is one of this name";
    InUse, "in_use", CONFLICT, "It is in use";
    Conflict, "conflict", CONFLICT, "It cannot be done in this state";
    Gone, "gone", GONE, "It is gone";
    Changed, "changed", PRECONDITION_FAILED, "It has changed";
    TooLarge, "too_large", PAYLOAD_TOO_LARGE, "It is too large";
    NotThisForm, "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "A body in this form cannot be read";
    Invalid, "invalid", UNPROCESSABLE_ENTITY, "What was sent is not right";
    Unrenderable, "unrenderable", UNPROCESSABLE_ENTITY, "The template does not render";
    KeyUsed, "idempotency_key_used", UNPROCESSABLE_ENTITY, "The Idempotency-Key was used for something else";
    VersionRequired, "version_required", PRECONDITION_REQUIRED, "A change must say what it changes";
    TooMany, "too_many_requests", TOO_MANY_REQUESTS, "There are too many requests";
    Internal, "internal", INTERNAL_SERVER_ERROR, "The service failed";
    Unavailable, "unavailable", SERVICE_UNAVAILABLE, "The cluster cannot be asked";
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after: None,
            more: Map::new(),
        }
    }

    /// Fields that are wrong, of which the first is told in the detail.
    pub(crate) fn invalid(errors: Vec<Mistake>) -> Self {
        let detail = match errors.as_slice() {
            [] => "what was sent is not right".to_owned(),
            [only] => format!("{}: {}", shown(&only.pointer), only.detail),
            [first, rest @ ..] => {
                format!(
                    "{}: {}; and {} more",
                    shown(&first.pointer),
                    first.detail,
                    rest.len()
                )
            }
        };
        Self {
            errors,
            ..Self::new(Code::Invalid, detail)
        }
    }

    /// One field that is wrong.
    pub(crate) fn field(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::invalid(vec![Mistake::new(pointer, detail)])
    }

    pub(crate) fn not_found(what: &str, name: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no {what} `{name}`"))
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.code.status()
    }

    /// The body of the answer.
    pub(crate) fn json(&self, instance: &str, request_id: &str) -> Value {
        let mut body = json!({
            "type": format!("urn:trainyard:problem:{}", self.code.name()),
            "title": self.code.title(),
            "status": self.status().as_u16(),
            "detail": self.detail,
            "instance": instance,
            "code": self.code.name(),
            "request_id": request_id,
        });
        if !self.errors.is_empty() {
            body["errors"] = self.errors.iter().map(Mistake::json).collect();
        }
        for (name, member) in &self.more {
            body[name] = member.clone();
        }
        body
    }
}

fn shown(pointer: &str) -> &str {
    if pointer.is_empty() { "the body" } else { pointer }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_told_apart() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|code| code.status().as_u16() >= 400));
    }

    #[test]
    fn a_problem_tells_every_field_and_which_request_it_was() {
        let mut mistake = Mistake::new("/process/train/saveStep", "is required");
        mistake.hint = Some("fill it in".to_owned());
        let problem = Problem::invalid(vec![mistake, Mistake::new("", "has too many members")]);
        let body = problem.json("/v1/tasks", "r-1");
        assert_eq!(body["detail"], "/process/train/saveStep: is required; and 1 more");
        assert_eq!(body["errors"][0]["hint"], "fill it in");
        assert_eq!(body["errors"][1]["pointer"], "");
        assert_eq!(
            (&body["status"], &body["request_id"], &body["instance"]),
            (&json!(422), &json!("r-1"), &json!("/v1/tasks"))
        );
    }
}
