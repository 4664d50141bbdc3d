//! Deleting every object a selection finds.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use serde_json::{Value, json};
use store::Object;

use super::{
    Outcome, Writer,
    delete::{self, DeleteOptions},
    options::WriteOptions,
};
use crate::{
    call::Call,
    conversion,
    error::Result,
    list::ListOptions,
    negotiate, object,
    response::{self, Answer},
    selection::Selection,
};

/// Deletions under way at a time: enough to share commits, few enough to let others have their turn.
const AT_A_TIME: usize = 64;

pub(crate) async fn delete_collection(call: &Call, bytes: &[u8]) -> Result<Answer> {
    let options = DeleteOptions::read(&call.query, negotiate::content_type(&call.headers), bytes)?;
    let selection = Selection::read(&call.query, &call.kind)?;
    ListOptions::read(&call.query)?;
    let list = call
        .api
        .store
        .list(&call.kind.collection, call.namespace(), None, None);
    let mut selected = Vec::new();
    for stored in conversion::shown(&call.api, &call.kind, list.items).await? {
        if selection.matches(&call.kind, &stored)? {
            selected.push(stored);
        }
    }
    let mut deletions = stream::iter(selected)
        .map(|stored| delete_one(call, stored, &options))
        .buffered(AT_A_TIME);
    let mut items = Vec::new();
    while let Some(deleted) = deletions.next().await {
        items.extend(deleted?);
    }
    let mut answered = json!({
        "kind": call.kind.list_kind,
        "apiVersion": call.kind.api_version,
        "metadata": { "resourceVersion": list.revision.to_string() },
    });
    answered["items"] = Value::Array(items);
    Ok(response::value(StatusCode::OK, call.representation, &answered))
}

/// What an object was or has become; none when another client was faster: the collection is as empty
/// as was asked.
async fn delete_one(call: &Call, object: Arc<Object>, options: &DeleteOptions) -> Result<Option<Value>> {
    let write_options = WriteOptions {
        dry_run: options.dry_run,
        ..WriteOptions::default()
    };
    let mut writer = Writer::new(call, write_options);
    let value = match delete::delete_in(&mut writer, object.namespace(), object.name(), options).await {
        Ok(Outcome::Deleted(value) | Outcome::DryRun(value)) => value,
        Ok(Outcome::Stored(stored)) => object::parse(&stored)?,
        Err(error) if error.code == StatusCode::NOT_FOUND => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(value))
}
