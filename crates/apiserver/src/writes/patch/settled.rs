//! What a patch makes of an object's type and name: it may not turn it into another one.

use manifests::field::{FieldError, Path};
use serde_json::Value;

use super::PatchKind;
use crate::{
    body,
    call::Call,
    error::{ApiError, Result},
    kind::Kind,
    object,
    writes::typed::{self, Mismatch},
};

/// Why the result of a patch is not taken for an object of its kind.
pub(super) enum Unlike {
    /// It cannot be read as one.
    Undecodable(String),
    Refused(ApiError),
}

/// The result of a patch with its type as the kind has it, or for custom kinds as it says.
pub(super) fn settle_type(kind: &Kind, patch: PatchKind, mut value: Value) -> Result<Value, Unlike> {
    if patch == PatchKind::Strategic {
        // Its result is read into an object that is of its kind already.
        set_type(kind, &mut value);
        return Ok(value);
    }
    let mut value = body::typed(value).map_err(Unlike::Undecodable)?;
    let (version, name) = (text(&value, "apiVersion"), text(&value, "kind"));
    if kind.is_custom() {
        if name.is_empty() {
            let why = format!("Object 'Kind' is missing in '{value}'");
            return Err(Unlike::Undecodable(why));
        }
        if version.is_empty() {
            let why = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
            return Err(Unlike::Refused(ApiError::internal(why)));
        }
        return Ok(value);
    }
    match typed::mismatch(kind, version, name) {
        None => {
            set_type(kind, &mut value);
            Ok(value)
        }
        Some(Mismatch::Type(why)) => Err(Unlike::Undecodable(why)),
        Some(Mismatch::Version) => Err(Unlike::Refused(typed::another_version(kind, version))),
    }
}

/// What is no text is left for those who read the object to complain about.
fn set_type(kind: &Kind, value: &mut Value) {
    for (field, text) in [("apiVersion", &kind.api_version), ("kind", &kind.kind)] {
        let sent = value.get(field).unwrap_or(&Value::Null);
        if sent.is_null() || sent.is_string() {
            value[field] = text.as_ref().into();
        }
    }
}

/// Checks that the result is the object that was to be patched.
pub(super) fn check_identity(call: &Call, patched: &Value) -> Result<()> {
    let sent = object::name(patched);
    if sent != call.target.name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({sent}) does not match the name on the URL ({})",
            call.target.name
        )));
    }
    if call.kind.namespaced && object::namespace(patched) != call.key_namespace() {
        return Err(another_namespace());
    }
    let errors = type_errors(&call.kind, patched);
    if errors.is_empty() {
        return Ok(());
    }
    let (group, _) = text(patched, "apiVersion").split_once('/').unwrap_or_default();
    Err(ApiError::invalid(group, text(patched, "kind"), sent, &errors))
}

/// Checks that an applied object, which may leave its namespace to the path, does not name another.
pub(super) fn check_namespace(call: &Call, applied: &Value) -> Result<()> {
    let sent = object::namespace(applied);
    if call.kind.namespaced && !sent.is_empty() && sent != call.key_namespace() {
        return Err(another_namespace());
    }
    Ok(())
}

fn another_namespace() -> ApiError {
    ApiError::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    )
}

fn type_errors(kind: &Kind, patched: &Value) -> Vec<FieldError> {
    let wanted = [("kind", &kind.kind), ("apiVersion", &kind.api_version)];
    let wrong = wanted
        .into_iter()
        .filter(|(field, wanted)| text(patched, field) != wanted.as_ref());
    wrong
        .map(|(field, wanted)| {
            let why = format!("must be {wanted}");
            FieldError::invalid(&Path::new(field), &text(patched, field).into(), why)
        })
        .collect()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    kinds::read::text(value, field)
}
