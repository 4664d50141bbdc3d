//! Patching an object in one of the four ways.

use http::StatusCode;
use manifests::{json_patch, merge_patch, shape::Shape, strategic_merge};
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
enum Patch {
    Json(Value),
    Merge(Value),
    Strategic(Value),
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
            &[manifests::field::FieldError::forbidden(
                &manifests::field::Path::new("force"),
                "may not be specified for non-apply patch",
            )],
        ));
    }
    let mut writer = Writer::new(call, options);
    let outcome = update::change(&mut writer, part, Operation::Update, |writer, old| {
        let patched = patched(call, &patch, old)?;
        check_identity(call, &patched)?;
        writer.complete(patched, Vec::new())
    })
    .await?;
    writer.answer(StatusCode::OK, outcome)
}

fn read(call: &Call, content_type: &str, bytes: &[u8]) -> Result<Patch> {
    let parse = || {
        manifests::json::parse(bytes)
            .map(|parsed| parsed.value)
            .map_err(|error| {
                let prefix = if content_type == STRATEGIC {
                    ""
                } else {
                    "error decoding patch: "
                };
                ApiError::bad_request(format!("{prefix}{error}"))
            })
    };
    match content_type {
        JSON => Ok(Patch::Json(parse()?)),
        MERGE => Ok(Patch::Merge(parse()?)),
        STRATEGIC if !call.kind.is_custom() => Ok(Patch::Strategic(parse()?)),
        _ => Err(ApiError::unsupported_media_type(if call.kind.is_custom() {
            &[JSON, MERGE, APPLY]
        } else {
            &[JSON, MERGE, STRATEGIC, APPLY]
        })),
    }
}

/// The object as the patch makes it, in the version of the request.
fn patched(call: &Call, patch: &Patch, old: &Value) -> Result<Value> {
    match patch {
        Patch::Json(operations) => {
            let mut value = old.clone();
            json_patch::apply(&mut value, operations)
                .map_err(|error| patch_error(error.status_code(), error.to_string()))?;
            Ok(value)
        }
        Patch::Merge(patch) => {
            let mut value = old.clone();
            merge_patch::apply(&mut value, patch)
                .map_err(|error| ApiError::bad_request(error.to_string()))?;
            Ok(value)
        }
        Patch::Strategic(patch) => {
            let Definition::BuiltIn(built_in) = &call.kind.definition else {
                return Err(ApiError::method_not_allowed());
            };
            strategic(old, patch, built_in.shape)
        }
    }
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
            &[manifests::field::FieldError::required(
                &manifests::field::Path::new("fieldManager"),
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
