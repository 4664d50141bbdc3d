//! Answers: JSON and YAML bodies, Status errors, warnings, and streams.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use serde_json::Value;

use crate::{
    error::ApiError,
    negotiate::{Encoding, Representation},
    object,
    sending::NotTaken,
};

/// The body of an answer: bytes, or a stream of them.
pub type Body = UnsyncBoxBody<Bytes, NotTaken>;

pub type Answer = Response<Body>;

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// A JSON body as it stands.
pub(crate) fn json_bytes(code: StatusCode, bytes: impl Into<Bytes>) -> Answer {
    with_type(code, "application/json", full(bytes))
}

pub(crate) fn with_type(code: StatusCode, content_type: &'static str, body: Body) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = code;
    answer
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

pub(crate) fn text(code: StatusCode, text: impl Into<Bytes>) -> Answer {
    with_type(code, "text/plain; charset=utf-8", full(text))
}

/// A value in the encoding the client asked for.
pub(crate) fn value(code: StatusCode, representation: Representation, value: &Value) -> Answer {
    let mut bytes = Vec::with_capacity(1024);
    match representation.encoding {
        Encoding::Json => object::write(&mut bytes, value),
        Encoding::Yaml => bytes = manifests::yaml::to_string(value).into_bytes(),
    }
    with_type(code, representation.content_type(), full(bytes))
}

/// Serialised JSON in the encoding the client asked for.
pub(crate) fn encoded(code: StatusCode, representation: Representation, json: Bytes) -> Answer {
    match representation.encoding {
        Encoding::Json => json_bytes(code, json),
        Encoding::Yaml => match manifests::json::read_own(&json) {
            Ok(parsed) => value(code, representation, &parsed),
            Err(fault) => error(&ApiError::internal(format!("an answer is not JSON: {fault}"))),
        },
    }
}

/// Errors are JSON whatever the client asked for; every client reads that.
pub(crate) fn error(error: &ApiError) -> Answer {
    let mut bytes = Vec::with_capacity(256);
    object::write(&mut bytes, &error.to_status());
    let mut answer = json_bytes(error.code, bytes);
    if let Some(seconds) = error.retry_after() {
        answer.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    answer
}

/// What the real server's filters say when they fail: plain text that names the request.
pub(crate) fn internal(uri: &Uri, error: &dyn std::fmt::Display) -> Answer {
    let asked = uri.path_and_query().map_or("", http::uri::PathAndQuery::as_str);
    let message = format!(
        "Internal Server Error: {}: {error}\n",
        manifests::field::quoted(asked)
    );
    let message = message
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let mut answer = text(StatusCode::INTERNAL_SERVER_ERROR, message);
    let nosniff = HeaderValue::from_static("nosniff");
    answer
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    answer
}

/// Adds `Warning` headers, which kubectl shows to the user.
pub(crate) fn add_warnings(answer: &mut Answer, warnings: &[String]) {
    for warning in warnings {
        let text = format!("299 - {}", manifests::field::quoted(&printable(warning)));
        if let Ok(value) = HeaderValue::from_str(&text) {
            answer.headers_mut().append(header::WARNING, value);
        }
    }
}

/// Header values hold no control characters and have a bounded length.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(4096).collect()
}
