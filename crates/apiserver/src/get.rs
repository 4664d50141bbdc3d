//! Reading one object.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::json;

use crate::{
    call::Call,
    conversion,
    error::{ApiError, Result},
    list::check_revision_exists,
    negotiate::Form,
    object,
    response::{self, Answer},
    rows::{self, IncludeObject},
};

pub(crate) async fn get(call: &Call) -> Result<Answer> {
    if let Some(revision) = call.query.text("resourceVersion") {
        let revision = revision.parse().map_err(|_| {
            ApiError::bad_request(format!("resourceVersion: Invalid value: \"{revision}\": strconv.ParseUint: parsing \"{revision}\": invalid syntax"))
        })?;
        check_revision_exists(call, revision).await?;
    }
    let stored = call
        .api
        .store
        .get(&call.kind.collection, call.key_namespace(), &call.target.name)
        .ok_or_else(|| ApiError::not_found(call.kind.qualified(), &call.target.name))?;
    let stored = conversion::shown_one(&call.api, &call.kind, stored).await?;
    show_stored(call, StatusCode::OK, &stored)
}

/// Shows a stored object in the form the client asked for, made of its text where that will do.
pub(crate) fn show_stored(call: &Call, code: StatusCode, stored: &store::Object) -> Result<Answer> {
    let json = match call.representation.form {
        Form::Object => stored.json().clone(),
        Form::Metadata => {
            let mut json = Vec::new();
            rows::write_metadata(&mut json, object::metadata_text(stored)?);
            json.into()
        }
        Form::Table(_) => return show(call, code, object::parse(stored)?),
    };
    Ok(response::encoded(code, call.representation, json))
}

/// Shows a value in the form the client asked for.
pub(crate) fn show(call: &Call, code: StatusCode, value: serde_json::Value) -> Result<Answer> {
    let shown = match call.representation.form {
        Form::Object => value,
        Form::Metadata => rows::metadata(&value),
        Form::Table(version) => {
            let include = IncludeObject::read(&call.query)?;
            let metadata = json!({ "resourceVersion": object::resource_version(&value) });
            let row = rows::row(&call.kind, value, include, Timestamp::now());
            rows::table(version, &call.kind, metadata, vec![row], true)
        }
    };
    Ok(response::value(code, call.representation, &shown))
}
