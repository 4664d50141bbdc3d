//! Applying what a webhook wants changed.

use manifests::json_patch;
use serde_json::Value;

use super::{failure::Failure, review::Patch};
use crate::{admission::conversion::convert, error::ApiError, kind::Kind, writes::Writer};

/// Patches the object as the webhook saw it, brings it back into form, and tells whether it changed.
pub(super) fn apply(
    writer: &mut Writer<'_>,
    webhook: &str,
    kind: &Kind,
    object: Option<&mut Value>,
    patch: &Patch,
) -> Result<bool, Failure> {
    let operations = manifests::json::parse(&patch.bytes)
        .map_err(|error| Failure::Call(format!("received undecodable patch in webhook response: {error}")))?;
    let operations = operations.value;
    if operations.as_array().is_some_and(Vec::is_empty) {
        return Ok(false);
    }
    let refuse = |why: String| Failure::Refusal(ApiError::internal(why));
    let Some(object) = object else {
        return Err(refuse(format!(
            "admission webhook {webhook:?} attempted to modify the object, which is not supported for this operation"
        )));
    };
    if patch.kind != "JSONPatch" {
        return Err(Failure::Call(format!("unsupported patch type {:?}", patch.kind)));
    }
    let mut patched = convert(object, &writer.call.kind, kind).into_owned();
    let identity = identity(&patched);
    json_patch::apply(&mut patched, &operations).map_err(|error| refuse(error.to_string()))?;
    if self::identity(&patched) != identity {
        return Err(refuse(format!(
            "admission webhook {webhook:?} attempted to change the type of the object"
        )));
    }
    let patched = convert(&patched, kind, &writer.call.kind).into_owned();
    let patched = complete(writer, patched).map_err(refuse)?;
    let changed = patched != *object;
    *object = patched;
    Ok(changed)
}

fn identity(object: &Value) -> (String, String) {
    let text = |field: &str| kinds::read::text(object, field).to_owned();
    (text("apiVersion"), text("kind"))
}

/// Decodes and defaults the object again, as if it had been sent like this.
fn complete(writer: &mut Writer<'_>, mut object: Value) -> Result<Value, String> {
    let kind = &writer.call.kind;
    let (version, own_kind) = identity(&object);
    if version == kind.api_version && own_kind == kind.kind {
        return writer.decode_silently(object);
    }
    // The body of a subresource: a `Scale`, an `Eviction`.
    if let Some(shape) = kinds::resources::type_of(&version, &own_kind) {
        crate::body::normalize(shape, &mut object).map_err(|error| error.to_string())?;
    }
    Ok(object)
}
