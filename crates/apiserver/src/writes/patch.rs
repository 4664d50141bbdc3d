//! Patching an object in one of the four ways.

mod go_value;
mod settled;

use http::StatusCode;
use kinds::types::TypeRef;
use manifests::{
    apply,
    field::{FieldError, Path},
    json_patch, merge_patch,
    shape::Shape,
    strategic_merge,
};
use serde_json::Value;

use self::settled::Unlike;
use super::{
    Writer,
    create::{self, Recorded},
    faults::Repeated,
    options::{FieldValidation, WriteOptions},
    update::{self, Part},
};
use crate::{
    admission::Operation,
    call::Call,
    error::{ApiError, Result},
    kind::{Definition, Kind},
    negotiate, object, ownership,
    response::Answer,
};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// A patch as it was sent.
struct Patch {
    kind: PatchKind,
    body: Value,
    /// Keys that were given twice, and what no operation has.
    faults: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PatchKind {
    Json,
    Merge,
    Strategic,
}

pub(crate) async fn patch(call: &Call, part: Part, bytes: &[u8]) -> Result<Answer> {
    let content_type = negotiate::content_type(&call.headers);
    if content_type == APPLY {
        return apply_patch(call, part, bytes).await;
    }
    let patch = read(call, content_type, bytes)?;
    let options = options(call, content_type)?;
    let mut writer = Writer::new(call, options);
    let outcome = update::change(&mut writer, part, Operation::Update, |writer, old| {
        let value = patched(call, &patch, old)?;
        let value = settled::settle_type(&call.kind, patch.kind, value).map_err(|error| match error {
            Unlike::Undecodable(why) => undecodable(call, &patch, old, why),
            Unlike::Refused(error) => error,
        })?;
        settled::check_identity(call, &value)?;
        let restored = built_in_shape(&call.kind)
            .filter(|_| patch.kind == PatchKind::Strategic)
            .and_then(|shape| kinds::decode::restore_error(shape, &value));
        if let Some(why) = restored {
            return Err(undecodable(call, &patch, old, why));
        }
        let decoded = writer.decode(value, Repeated::Before(patch.faults.clone()));
        decoded.map_err(|why| undecodable(call, &patch, old, why))
    })
    .await?;
    writer.answer(StatusCode::OK, outcome)
}

/// The options of a patch: an apply has a manager, and only an apply may use force.
pub(crate) fn options(call: &Call, content_type: &str) -> Result<WriteOptions> {
    let options = WriteOptions::read(&call.query, "PatchOptions")?;
    let manager_missing = call.query.text("fieldManager").is_none();
    let error = match content_type {
        APPLY if manager_missing => {
            FieldError::required(&Path::new("fieldManager"), "is required for apply patch")
        }
        APPLY => return Ok(options),
        _ if call.query.get("force").is_some() => {
            FieldError::forbidden(&Path::new("force"), "may not be specified for non-apply patch")
        }
        _ => return Ok(options),
    };
    Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", &[error]))
}

/// The configuration an apply brings, and which of its keys it has twice.
pub(crate) struct Configuration {
    pub(crate) value: Value,
    duplicates: Vec<String>,
}

impl Configuration {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let parsed = manifests::yaml::parse(bytes).map_err(|error| {
            ApiError::bad_request(format!(
                "error decoding YAML: error converting YAML to JSON: {error}"
            ))
        })?;
        let value = match parsed.value {
            // Nothing is an object with nothing in it.
            Value::Null => Value::Object(serde_json::Map::new()),
            value @ Value::Object(_) => value,
            other => {
                let given = manifests::json::go_kind(&other);
                return Err(ApiError::bad_request(format!(
                    "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {given} into Go value of type map[string]interface {{}}"
                )));
            }
        };
        Ok(Self {
            value,
            duplicates: parsed.duplicates,
        })
    }

    /// Tells of keys given twice, as loudly as the client asked for. Whatever else is wrong with a
    /// configuration is said before.
    pub(crate) fn report(&self, writer: &Writer<'_>) -> Result<()> {
        if self.duplicates.is_empty() {
            return Ok(());
        }
        match writer.options.field_validation {
            FieldValidation::Strict => {
                return Err(ApiError::bad_request(format!(
                    "error strict decoding YAML: error converting YAML to JSON: {}",
                    manifests::yaml::duplicates_error(&self.duplicates)
                )));
            }
            FieldValidation::Warn => writer.warn(self.duplicates.clone()),
            FieldValidation::Ignore => {}
        }
        Ok(())
    }
}

fn read(call: &Call, content_type: &str, bytes: &[u8]) -> Result<Patch> {
    let kind = match content_type {
        JSON => PatchKind::Json,
        MERGE => PatchKind::Merge,
        STRATEGIC if !call.kind.is_custom() => PatchKind::Strategic,
        _ => return Err(unsupported(&call.kind)),
    };
    let parsed = manifests::json::parse(bytes).map_err(|error| match kind {
        PatchKind::Strategic => ApiError::bad_request(error.to_string()),
        _ => ApiError::bad_request(format!("error decoding patch: {error}")),
    })?;
    let faults = match kind {
        PatchKind::Json => {
            let faults = [parsed.duplicates, json_patch::unknown_fields(&parsed.value)].concat();
            let faults = manifests::json::in_document_order(bytes, faults).into_iter();
            faults.map(|fault| format!("json patch {fault}")).collect()
        }
        _ => parsed.duplicates,
    };
    Ok(Patch {
        kind,
        body: parsed.value,
        faults,
    })
}

/// A content type that is no patch. The real server turns those of built-in kinds away before it
/// looks at what they accept.
pub(crate) fn unsupported(kind: &Kind) -> ApiError {
    if kind.is_custom() {
        return ApiError::unsupported_media_type(&[JSON, MERGE, APPLY]);
    }
    ApiError::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "UnsupportedMediaType",
        "415: Unsupported Media Type",
    )
    .with_details(serde_json::json!({}))
}

/// The object as the patch makes it, in the version of the request.
fn patched(call: &Call, patch: &Patch, old: &Value) -> Result<Value> {
    let body = &patch.body;
    match patch.kind {
        PatchKind::Json => {
            let mut value = old.clone();
            json_patch::apply(&mut value, body)
                .map_err(|error| patch_error(error.status_code(), error.to_string()))?;
            Ok(value)
        }
        PatchKind::Merge => {
            let mut value = old.clone();
            merge_patch::apply(&mut value, body).map_err(|error| ApiError::bad_request(error.to_string()))?;
            Ok(value)
        }
        PatchKind::Strategic => {
            let Definition::BuiltIn(built_in) = &call.kind.definition else {
                return Err(ApiError::method_not_allowed());
            };
            strategic(old, body, built_in.shape)
        }
    }
}

/// A patch whose result is not an object of its kind. The error shows the result, but of a
/// strategic patch the patch itself; the result is made again, since only errors need it.
fn undecodable(call: &Call, patch: &Patch, old: &Value, why: String) -> ApiError {
    let shown = match patch.kind {
        PatchKind::Strategic => go_value::shown(&patch.body),
        PatchKind::Json | PatchKind::Merge => match patched(call, patch, old) {
            Ok(value) => value.to_string(),
            Err(error) => return error,
        },
    };
    let error = FieldError::invalid(&Path::new("patch"), &shown.into(), why);
    ApiError::invalid("", "", "", &[error])
}

fn strategic<S: Shape>(old: &Value, patch: &Value, shape: S) -> Result<Value> {
    strategic_merge::apply(old.clone(), patch.clone(), shape)
        .map_err(|error| patch_error(error.status_code(), error.to_string()))
}

/// A patch that cannot be applied. The real server hides the cause of a 422.
fn patch_error(code: u16, message: String) -> ApiError {
    match code {
        400 => ApiError::bad_request(message),
        413 => ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            format!("Request entity too large: {message}"),
        ),
        422 => ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Invalid",
            "the server rejected our request due to an error in our request",
        )
        .with_details(serde_json::json!({})),
        _ => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", message),
    }
}

/// Server-side apply: merges what the client wants into what is there, by who owns what.
async fn apply_patch(call: &Call, part: Part, bytes: &[u8]) -> Result<Answer> {
    let mut writer = Writer::new(call, options(call, APPLY)?);
    let configuration = Configuration::read(bytes)?;
    let exists = call
        .api
        .store
        .get(&call.kind.collection, call.key_namespace(), &call.target.name)
        .is_some();
    if !exists {
        if !matches!(part, Part::Main) {
            return Err(ApiError::not_found(call.kind.qualified(), &call.target.name));
        }
        let created = applied(&mut writer, part, &configuration, None)?;
        check_not_expected(call, &created)?;
        match create::create_object(&mut writer, created, Recorded::Already).await {
            // Somebody else created it in between: then this is a change.
            Err(error) if error.reason == "AlreadyExists" => {}
            other => return writer.answer(StatusCode::CREATED, other?),
        }
    }
    let outcome = update::change(&mut writer, part, Operation::Apply, |writer, old| {
        applied(writer, part, &configuration, Some(old))
    })
    .await?;
    writer.answer(StatusCode::OK, outcome)
}

/// What becomes of an object, or of nothing, by a configuration.
fn applied(
    writer: &mut Writer<'_>,
    part: Part,
    configuration: &Configuration,
    live: Option<&Value>,
) -> Result<Value> {
    let kind = &writer.call.kind;
    let merged = ownership::apply(writer, live, &configuration.value, part.subresource())?;
    configuration.report(writer)?;
    update::check_name(writer.call, &merged)?;
    settled::check_namespace(writer.call, &merged)?;
    let restored = built_in_shape(kind).and_then(|shape| kinds::decode::restore_error(shape, &merged));
    let decoded = match restored {
        Some(why) => Err(why),
        None => writer.decode(merged, Repeated::default()),
    };
    decoded.map_err(|why| {
        let subject = apply::described(&configuration.value);
        let gvk = apply::type_name(&kind.api_version, &kind.kind);
        let why = format!(
            "failed to convert new object ({subject}) to proper version: unable to convert unstructured object to {gvk}: {why}"
        );
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why)
    })
}

fn built_in_shape(kind: &Kind) -> Option<TypeRef> {
    Some(kind.built_in()?.shape)
}

/// Who applies to an object of a certain identity does not mean to create one.
fn check_not_expected(call: &Call, created: &Value) -> Result<()> {
    let uid = object::uid(created);
    if uid.is_empty() {
        return Ok(());
    }
    let why =
        format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
    Err(ApiError::conflict(call.kind.qualified(), &call.target.name, &why))
}
