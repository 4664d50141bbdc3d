//! Webhooks that may refuse the request, all asked at once: a slow one costs its own time only.

use futures_util::future::join_all;
use serde_json::Value;

use super::{
    ask,
    failure::{self, Failure},
    is_exempt, wanted_as,
};
use crate::{
    admission::{
        Operation,
        attributes::Attributes,
        matching::{Matcher, Objects},
    },
    error::Result,
    writes::Writer,
};

/// Lets every webhook that wants to see the request refuse it. The first refusal in the order of the
/// configurations is the one that is told.
pub(crate) async fn validate(
    writer: &mut Writer<'_>,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<()> {
    let call = writer.call;
    let webhooks = call.api.webhooks.validating.webhooks(&call.api.store);
    if webhooks.is_empty() || is_exempt(call) {
        return Ok(());
    }
    let attributes = Attributes::of(writer, operation, object);
    let objects = Objects { new: object, old };
    let mut wanted = Vec::new();
    {
        let matcher = Matcher::new(&attributes);
        for webhook in webhooks.iter() {
            if let Some(kind) = wanted_as(webhook, &attributes, &matcher, objects)? {
                wanted.push((webhook, kind));
            }
        }
    }
    let calls = wanted
        .iter()
        .map(|(webhook, kind)| ask(webhook, &attributes, kind, objects, false));
    let answers = join_all(calls).await;
    let mut refusal = None;
    for ((webhook, _), answer) in wanted.iter().zip(answers) {
        let failure = match answer {
            Ok(answer) => {
                writer.warn(answer.warnings);
                (!answer.allowed).then(|| Failure::Refusal(failure::denied(&webhook.name, &answer.status)))
            }
            Err(failure) => Some(failure),
        };
        let error = failure.and_then(|failure| failure.into_error(&webhook.name, webhook.fails_open));
        refusal = refusal.or(error);
    }
    refusal.map_or(Ok(()), Err)
}
