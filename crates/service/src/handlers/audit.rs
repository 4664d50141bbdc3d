//! `/v1/audit`.

use std::sync::Arc;

use super::page;
use crate::{
    answer::Answer,
    app::{App, Asked},
    cursor,
    problem::Outcome,
};

pub(super) async fn list(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let after: Option<String> = asked.text("cursor").map(cursor::decode).transpose()?;
    let namespace = asked.one_namespace();
    let (records, next) = app
        .audit
        .page(after.as_deref(), asked.limit(), |record| {
            namespace.is_none_or(|namespace| record["namespace"] == namespace)
        })
        .await?;
    // Records are found from the latest on; whoever wants to go back begins anew.
    let beside = cursor::Beside { next, previous: None };
    Ok(page(asked, records, &beside))
}
