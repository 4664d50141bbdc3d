//! Webhooks that may change the object, one after the other: each sees what the ones before it did.

use serde_json::Value;

use super::{
    Rounds, ask,
    failure::{self, Failure},
    is_exempt, patch,
    review::Answer,
    wanted_as,
};
use crate::{
    admission::{
        Operation,
        attributes::Attributes,
        matching::{Matcher, Objects},
    },
    error::Result,
    kind::Kind,
    writes::Writer,
};

/// Lets every webhook that wants to see the request change its object. Deletions have none to change.
pub(crate) async fn mutate(
    writer: &mut Writer<'_>,
    operation: Operation,
    mut object: Option<&mut Value>,
    old: Option<&Value>,
    rounds: &mut Rounds,
) -> Result<()> {
    let call = writer.call;
    let webhooks = call.api.webhooks.mutating.webhooks(&call.api.store);
    if webhooks.is_empty() || is_exempt(call) {
        return Ok(());
    }
    let attributes = Attributes::of(writer, operation, object.as_deref());
    let matcher = Matcher::new(&attributes);
    rounds.begin(object.as_deref());
    for webhook in webhooks.iter() {
        let objects = Objects {
            new: object.as_deref(),
            old,
        };
        let Some(kind) = wanted_as(webhook, &attributes, &matcher, objects)? else {
            continue;
        };
        if !rounds.includes(&webhook.id) {
            continue;
        }
        let asked = ask(webhook, &attributes, &kind, objects, true).await;
        let changed = match asked {
            Ok(answer) => accept(writer, &webhook.name, &kind, object.as_deref_mut(), answer),
            Err(failure) => Err(failure),
        };
        match changed {
            Ok(true) => rounds.record_change(),
            Ok(false) => {}
            Err(failure) => {
                if let Some(error) = failure.into_error(&webhook.name, webhook.fails_open) {
                    return Err(error);
                }
            }
        }
        if webhook.reinvoked {
            rounds.record_call(&webhook.id);
        }
    }
    rounds.end(object.as_deref());
    Ok(())
}

/// Does what the webhook answered; true when that changed the object.
fn accept(
    writer: &mut Writer<'_>,
    webhook: &str,
    kind: &Kind,
    object: Option<&mut Value>,
    answer: Answer,
) -> Result<bool, Failure> {
    writer.warn(answer.warnings);
    if !answer.allowed {
        return Err(Failure::Refusal(failure::denied(webhook, &answer.status)));
    }
    match answer.patch {
        Some(patch) => patch::apply(writer, webhook, kind, object, &patch),
        None => Ok(false),
    }
}
