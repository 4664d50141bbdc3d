//! Request bodies, decoded from JSON, YAML or protobuf into a value.

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use kinds::{protobuf, types::TypeRef};
use serde_json::Value;

use crate::error::{ApiError, Result};

/// The largest body the server reads.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;

pub type RequestBody = UnsyncBoxBody<Bytes, BodyError>;

/// The client stopped sending, or sent what is no body.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BodyError(String);

impl BodyError {
    pub fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// What a body said, and which of its keys it said twice.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub value: Value,
    pub duplicates: Vec<String>,
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const ACCEPTED: &[&str] = &["application/json", "application/yaml", PROTOBUF];

/// Decodes an object of a type. A missing content type means JSON: the Python client sends none.
pub(crate) fn decode(content_type: &str, bytes: &[u8], expected_kind: &str) -> Result<Decoded> {
    match content_type {
        "" | "application/json" | "*/*" => decode_json(bytes, expected_kind),
        "application/yaml" => decode_yaml(bytes, expected_kind),
        PROTOBUF => decode_protobuf(bytes, expected_kind),
        _ => Err(ApiError::unsupported_media_type(ACCEPTED)),
    }
}

/// Decodes an optional options object (`DeleteOptions`); an empty body is an empty object.
pub(crate) fn decode_options(content_type: &str, bytes: &[u8], kind: &str) -> Result<Value> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    // Options come with patch-like content types from some clients; what they hold is JSON.
    let content_type = if ACCEPTED.contains(&content_type) {
        content_type
    } else {
        ""
    };
    Ok(decode(content_type, bytes, kind)?.value)
}

fn decode_json(bytes: &[u8], kind: &str) -> Result<Decoded> {
    let parsed = manifests::json::parse(bytes).map_err(|error| {
        let why = format!("couldn't get version/kind; json parse error: {error}");
        unrecognized(kind, &why, bytes)
    })?;
    object_only(
        Decoded {
            value: parsed.value,
            duplicates: parsed.duplicates,
        },
        kind,
        bytes,
    )
}

fn decode_yaml(bytes: &[u8], kind: &str) -> Result<Decoded> {
    let parsed =
        manifests::yaml::parse(bytes).map_err(|error| unrecognized(kind, &error.to_string(), bytes))?;
    object_only(
        Decoded {
            value: parsed.value,
            duplicates: parsed.duplicates,
        },
        kind,
        bytes,
    )
}

fn decode_protobuf(bytes: &[u8], kind: &str) -> Result<Decoded> {
    let (api_version, object_kind, mut value) =
        protobuf::decode_object(bytes).map_err(|error| unrecognized(kind, &error.to_string(), b""))?;
    if let Value::Object(fields) = &mut value {
        fields.insert("apiVersion".to_owned(), api_version.into());
        fields.insert("kind".to_owned(), object_kind.into());
    }
    Ok(Decoded {
        value,
        duplicates: Vec::new(),
    })
}

fn object_only(decoded: Decoded, kind: &str, bytes: &[u8]) -> Result<Decoded> {
    if decoded.value.is_object() {
        return Ok(decoded);
    }
    Err(unrecognized(
        kind,
        "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
        bytes,
    ))
}

/// A body that is not an object of the expected kind; its beginning is shown, as far as it is short.
fn unrecognized(kind: &str, why: &str, bytes: &[u8]) -> ApiError {
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({})",
        summary(bytes)
    ))
}

fn summary(bytes: &[u8]) -> String {
    const SHOWN: usize = 30;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).into_owned();
    match bytes {
        [] => "<empty>".to_owned(),
        [b'{', ..] if bytes.len() > SHOWN => format!("{text} ..."),
        [b'{', ..] => text,
        _ => {
            let hex: String = bytes
                .iter()
                .take(SHOWN)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            if bytes.len() > SHOWN {
                format!("{hex} ...")
            } else {
                hex
            }
        }
    }
}

/// Brings a decoded value into the exact form of its type; the fields nobody knows are named.
pub(crate) fn normalize(
    shape: TypeRef,
    value: &mut Value,
) -> Result<Vec<String>, kinds::decode::DecodeError> {
    kinds::decode::normalize(shape, value)
}
