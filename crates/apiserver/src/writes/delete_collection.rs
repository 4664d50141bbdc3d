//! Deleting every object a selection finds.

use http::StatusCode;
use serde_json::json;

use super::{
    Outcome, Writer,
    delete::{self, DeleteOptions},
    options::WriteOptions,
};
use crate::{
    call::Call,
    error::Result,
    list::ListOptions,
    negotiate,
    response::{self, Answer},
    selection::Selection,
};

pub(crate) async fn delete_collection(call: &Call, bytes: &[u8]) -> Result<Answer> {
    let options = DeleteOptions::read(&call.query, negotiate::content_type(&call.headers), bytes)?;
    let selection = Selection::read(&call.query, &call.kind)?;
    ListOptions::read(&call.query)?;
    let mut writer = Writer::new(
        call,
        WriteOptions {
            dry_run: options.dry_run,
            ..WriteOptions::default()
        },
    );
    let list = call
        .api
        .store
        .list(&call.kind.collection, call.namespace(), None, None);
    let mut items = Vec::new();
    for stored in list
        .items
        .iter()
        .filter(|stored| selection.matches(&call.kind, stored))
    {
        // Another client may have been faster; the collection is as empty as was asked.
        match delete::delete_in(
            &mut writer,
            stored.key().namespace(),
            stored.key().name(),
            &options,
        )
        .await
        {
            Ok(Outcome::Deleted(value) | Outcome::DryRun(value)) => items.push(value),
            Ok(Outcome::Stored(stored)) => items.push(call.kind.read(&stored)),
            Err(error) if error.code == StatusCode::NOT_FOUND => {}
            Err(error) => return Err(error),
        }
    }
    let answered = json!({
        "kind": call.kind.list_kind,
        "apiVersion": call.kind.api_version,
        "metadata": { "resourceVersion": list.revision.to_string() },
        "items": items,
    });
    Ok(response::value(StatusCode::OK, call.representation, &answered))
}
