//! Patching an object in one of the four ways.

mod go_value;

use http::StatusCode;
use manifests::{
    field::{FieldError, Path},
    json_patch, merge_patch,
    shape::Shape,
    strategic_merge,
};
use serde_json::Value;

use super::{
    Writer,
    create::{self, Recorded},
    options::WriteOptions,
    update::{self, Part},
};
use crate::{
    admission::Operation,
    call::Call,
    error::{ApiError, Result},
    kind::Definition,
    negotiate, object, ownership,
    response::Answer,
};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A patch as it was sent.
struct Patch {
    kind: PatchKind,
    body: Value,
    /// Fields that were given twice, each as a complaint.
    duplicates: Vec<String>,
}

#[derive(Clone, Copy)]
enum PatchKind {
    Json,
    Merge,
    Strategic,
}

pub(crate) async fn patch(call: &Call, part: Part, bytes: &[u8]) -> Result<Answer> {
    let content_type = negotiate::content_type(&call.headers);
    if content_type == APPLY {
        return apply(call, part, bytes).await;
    }
    let patch = read(call, content_type, bytes)?;
    let options = WriteOptions::read(&call.query, "PatchOptions")?;
    if call.query.get("force").is_some() {
        return Err(ApiError::invalid(
            "meta.k8s.io",
            "PatchOptions",
            "",
            &[FieldError::forbidden(
                &Path::new("force"),
                "may not be specified for non-apply patch",
            )],
        ));
    }
    let mut writer = Writer::new(call, options);
    let outcome = update::change(&mut writer, part, Operation::Update, |writer, old| {
        let value = patched(call, &patch, old)?;
        check_identity(call, &value)?;
        let decoded = writer.decode(value, patch.duplicates.clone());
        decoded.map_err(|why| undecodable(call, &patch, old, why))
    })
    .await?;
    writer.answer(StatusCode::OK, outcome)
}

fn read(call: &Call, content_type: &str, bytes: &[u8]) -> Result<Patch> {
    let kind = match content_type {
        JSON => PatchKind::Json,
        MERGE => PatchKind::Merge,
        STRATEGIC if !call.kind.is_custom() => PatchKind::Strategic,
        _ if call.kind.is_custom() => return Err(ApiError::unsupported_media_type(&[JSON, MERGE, APPLY])),
        _ => return Err(ApiError::unsupported_media_type(&[JSON, MERGE, STRATEGIC, APPLY])),
    };
    let parsed = manifests::json::parse(bytes).map_err(|error| match kind {
        PatchKind::Strategic => ApiError::bad_request(error.to_string()),
        _ => ApiError::bad_request(format!("error decoding patch: {error}")),
    })?;
    let duplicates = match kind {
        PatchKind::Json => parsed
            .duplicates
            .iter()
            .map(|complaint| format!("json patch {complaint}"))
            .collect(),
        _ => parsed.duplicates,
    };
    Ok(Patch {
        kind,
        body: parsed.value,
        duplicates,
    })
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

/// A patch may not turn the object into another one.
fn check_identity(call: &Call, patched: &Value) -> Result<()> {
    let sent = object::name(patched);
    if sent != call.target.name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({sent}) does not match the name on the URL ({})",
            call.target.name
        )));
    }
    if call.kind.namespaced && object::namespace(patched) != call.key_namespace() {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let (version, kind) = (
        kinds::read::text(patched, "apiVersion"),
        kinds::read::text(patched, "kind"),
    );
    if version != call.kind.api_version || kind != call.kind.kind {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({})",
            call.kind.api_version
        )));
    }
    Ok(())
}

/// Server-side apply: merges what the client wants into what is there, by who owns what.
async fn apply(call: &Call, part: Part, bytes: &[u8]) -> Result<Answer> {
    let options = WriteOptions::read(&call.query, "PatchOptions")?;
    if call.query.text("fieldManager").is_none() {
        return Err(ApiError::invalid(
            "meta.k8s.io",
            "PatchOptions",
            "",
            &[FieldError::required(
                &Path::new("fieldManager"),
                "is required for apply patch",
            )],
        ));
    }
    let parsed = manifests::yaml::parse(bytes).map_err(|error| {
        ApiError::bad_request(format!(
            "error decoding YAML: error converting YAML to JSON: {error}"
        ))
    })?;
    let mut writer = Writer::new(call, options);
    let configuration = ownership::read_configuration(&mut writer, parsed.value, parsed.duplicates)?;
    let exists = call
        .api
        .store
        .get(&call.kind.collection, call.key_namespace(), &call.target.name)
        .is_some();
    if !exists {
        if !matches!(part, Part::Main) {
            return Err(ApiError::not_found(call.kind.qualified(), &call.target.name));
        }
        let created = ownership::apply(&writer, None, &configuration, part.subresource())?;
        let created = writer.complete(created, Vec::new())?;
        match create::create_object(&mut writer, created, Recorded::Already).await {
            // Somebody else created it in between: then this is a change.
            Err(error) if error.reason == "AlreadyExists" => {}
            other => return writer.answer(StatusCode::CREATED, other?),
        }
    }
    let outcome = update::change(&mut writer, part, Operation::Apply, |writer, old| {
        let merged = ownership::apply(writer, Some(old), &configuration, part.subresource())?;
        writer.complete(merged, Vec::new())
    })
    .await?;
    writer.answer(StatusCode::OK, outcome)
}
