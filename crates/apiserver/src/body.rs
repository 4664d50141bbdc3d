//! Request bodies, decoded from JSON, YAML or protobuf into a value.

use bytes::Bytes;
use http::StatusCode;
use http_body_util::combinators::UnsyncBoxBody;
use kinds::{protobuf, types::TypeRef};
use serde_json::Value;

use crate::{
    error::{ApiError, Result},
    writes::faults::Repeated,
};

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
#[derive(Debug)]
pub(crate) struct Decoded<'b> {
    pub value: Value,
    pub repeated: Repeated<'b>,
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const ACCEPTED: &[&str] = &["application/json", "application/yaml", PROTOBUF];

/// Decodes an object of a type. A missing content type means JSON: the Python client sends none.
pub(crate) fn decode<'b>(content_type: &str, bytes: &'b [u8], expected_kind: &str) -> Result<Decoded<'b>> {
    parse(content_type, bytes).map_err(|error| match error {
        Unreadable::MediaType => ApiError::unsupported_media_type(ACCEPTED),
        Unreadable::Document(why) => ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {expected_kind}): {why} ({})",
            summary(bytes)
        )),
        Unreadable::Object {
            api_version,
            kind,
            why,
        } => unfit(&api_version, &kind, expected_kind, &why),
    })
}

/// Decodes the options of a deletion, which any version may be of. What is wrong with them counts as
/// the server's fault, as it always has.
pub(crate) fn decode_delete_options(content_type: &str, bytes: &[u8]) -> Result<Value> {
    const KIND: &str = "DeleteOptions";
    let failed = |why: String| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why);
    let mut options = parse(content_type, bytes)
        .map_err(|error| match error {
            Unreadable::MediaType => ApiError::unsupported_media_type(ACCEPTED),
            Unreadable::Document(why) | Unreadable::Object { why, .. } => failed(why),
        })?
        .value;
    let kind = kinds::read::text(&options, "kind");
    if !matches!(kind, "" | KIND) {
        let api_version = match kinds::read::text(&options, "apiVersion") {
            "" => "meta.k8s.io/v1",
            version => version,
        };
        return Err(failed(not_registered(api_version, kind)));
    }
    if let Some(shape) = kinds::resources::type_of("v1", KIND) {
        normalize(shape, &mut options).map_err(|error| failed(error.to_string()))?;
    }
    Ok(options)
}

/// Why a body is no object.
enum Unreadable {
    /// It is in no format we read.
    MediaType,
    /// It is not what it should be, or does not say what it is.
    Document(String),
    /// It says what it is, but is not.
    Object {
        api_version: String,
        kind: String,
        why: String,
    },
}

fn parse<'b>(content_type: &str, bytes: &'b [u8]) -> Result<Decoded<'b>, Unreadable> {
    let (value, repeated) = match content_type {
        "" | "application/json" | "*/*" => {
            let parsed = manifests::json::parse(bytes).map_err(|error| unknown_type(&error))?;
            let repeated = Repeated::Json {
                faults: parsed.duplicates,
                document: bytes,
            };
            (parsed.value, repeated)
        }
        "application/yaml" => {
            let parsed =
                manifests::yaml::parse(bytes).map_err(|error| Unreadable::Document(error.to_string()))?;
            (parsed.value, Repeated::Yaml(parsed.duplicates))
        }
        PROTOBUF => (parse_protobuf(bytes)?, Repeated::default()),
        _ => return Err(Unreadable::MediaType),
    };
    let value = typed(value).map_err(Unreadable::Document)?;
    Ok(Decoded { value, repeated })
}

fn parse_protobuf(bytes: &[u8]) -> Result<Value, Unreadable> {
    let envelope = protobuf::envelope(bytes).map_err(|error| Unreadable::Document(error.to_string()))?;
    let (api_version, kind) = (envelope.api_version, envelope.kind);
    let decoded = match kinds::resources::type_of(&api_version, &kind) {
        None => Err(not_registered(&api_version, &kind)),
        Some(shape) => protobuf::decode(shape, envelope.raw).map_err(|error| error.to_string()),
    };
    match decoded {
        Ok(mut value) => {
            value["apiVersion"] = api_version.into();
            value["kind"] = kind.into();
            Ok(value)
        }
        Err(why) => Err(Unreadable::Object {
            api_version,
            kind,
            why,
        }),
    }
}

fn unknown_type(why: &dyn std::fmt::Display) -> Unreadable {
    Unreadable::Document(format!("couldn't get version/kind; json parse error: {why}"))
}

/// A value whose type can be read, whether it is there or not. A version without a group may have the
/// slash that would follow it.
pub(crate) fn typed(mut value: Value) -> Result<Value, String> {
    const GO_TYPE: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    let mismatch = |value: &Value, target: &str| {
        let given = manifests::json::go_kind(value);
        format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {given} into Go {target}"
        )
    };
    let fields = match &value {
        Value::Object(fields) => fields,
        Value::Null => return Ok(Value::Object(serde_json::Map::new())),
        other => return Err(mismatch(other, &format!("value of type {GO_TYPE}"))),
    };
    for name in ["apiVersion", "kind"] {
        match fields.get(name) {
            None | Some(Value::Null | Value::String(_)) => {}
            Some(other) => return Err(mismatch(other, &format!("struct field .{name} of type string"))),
        }
    }
    let version = kinds::read::text(&value, "apiVersion");
    if version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {version}"));
    }
    if let Some(version) = version.strip_prefix('/') {
        value["apiVersion"] = version.into();
    }
    Ok(value)
}

/// A body that names a group and no version of it.
pub(crate) fn missing_version(kind: &str, expected_kind: &str, bytes: &[u8]) -> ApiError {
    let sent = String::from_utf8_lossy(bytes);
    unfit(
        "",
        kind,
        expected_kind,
        &format!("Object 'apiVersion' is missing in '{sent}'"),
    )
}

/// A body that had to say its kind and does not.
pub(crate) fn missing_kind(kind: &str, bytes: &[u8]) -> ApiError {
    let sent = String::from_utf8_lossy(bytes);
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): Object 'Kind' is missing in '{sent}' ({})",
        summary(bytes)
    ))
}

/// Something that says what it is, and cannot be what it has to be.
pub(crate) fn unfit(api_version: &str, kind: &str, expected_kind: &str, why: &str) -> ApiError {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    ApiError::bad_request(format!(
        "{kind} in version \"{version}\" cannot be handled as a {expected_kind}: {why}"
    ))
}

/// The real server names the line of its source that made its table of types, and so do we.
pub(crate) fn not_registered(api_version: &str, kind: &str) -> String {
    format!(
        "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:110\""
    )
}

/// The beginning of a body, in its own words or, where it has none, in bytes.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refuses(content_type: &str, bytes: &[u8], expected: &str) {
        let error = decode(content_type, bytes, "ConfigMap").unwrap_err();
        assert_eq!(error.message, expected);
    }

    #[test]
    fn a_body_must_say_its_type_in_words() {
        refuses(
            "application/json",
            br#"{"kind":5}"#,
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({\"kind\":5})",
        );
        refuses(
            "application/yaml",
            b"apiVersion: a/b/c",
            "the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion string: a/b/c (61706956657273696f6e3a20612f622f63)",
        );
        let slash = decode("", br#"{"apiVersion":"/v1"}"#, "ConfigMap").unwrap();
        assert_eq!(slash.value, json!({ "apiVersion": "v1" }));
        let nothing = decode("application/json", b"null", "ConfigMap").unwrap();
        assert_eq!(nothing.value, json!({}));
    }

    #[test]
    fn protobuf_is_shown_as_bytes() {
        refuses(
            PROTOBUF,
            b"",
            "the object provided is unrecognized (must be of type ConfigMap): empty data (<empty>)",
        );
        refuses(
            PROTOBUF,
            b"nonsense",
            "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (6e6f6e73656e7365)",
        );
        refuses(
            PROTOBUF,
            b"k8s\0\x0a\x0a\x0a\x02v9\x12\x04Nope",
            "Nope in version \"v9\" cannot be handled as a ConfigMap: no kind \"Nope\" is registered for version \"v9\" in scheme \"pkg/runtime/scheme.go:110\"",
        );
    }

    #[test]
    fn delete_options_may_be_of_any_version_but_of_no_other_kind() {
        let options = br#"{"apiVersion":"apps/v1","kind":"DeleteOptions","gracePeriodSeconds":5}"#;
        let options = decode_delete_options("", options).unwrap();
        assert_eq!(options["gracePeriodSeconds"], 5);
        let error = decode_delete_options("", br#"{"apiVersion":"v1","kind":"ConfigMap"}"#).unwrap_err();
        assert_eq!(error.code, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(
            error.message,
            "no kind \"ConfigMap\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:110\""
        );
    }
}
