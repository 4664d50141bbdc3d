//! Custom objects in versions they are not stored in, where their definition names a webhook that
//! converts them. Without one, versions differ in name only, and `Kind` knows all there is to know.

mod review;

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use kinds::read::{at, get, list, text};
use serde_json::Value;
use store::{Event, Object};

use crate::{
    api::Api,
    custom::CustomVersion,
    error::{ApiError, Result},
    kind::Kind,
    object,
    webhook_client::{self, CallError, Endpoint},
};

const TIMEOUT: Duration = Duration::from_secs(30);

/// The webhook of a definition.
pub(crate) struct Converter {
    endpoint: Endpoint,
    /// The first version of the review it names that is known here.
    version: Option<review::Version>,
}

impl Converter {
    /// The webhook a definition names, if it names one.
    pub(crate) fn of(definition: &Value) -> Option<Self> {
        let conversion = at(definition, &["spec", "conversion"]);
        let webhook = get(conversion, "webhook");
        (text(conversion, "strategy") == "Webhook").then(|| Self {
            endpoint: Endpoint::read(get(webhook, "clientConfig")),
            version: review::Version::first_known(list(webhook, "conversionReviewVersions")),
        })
    }

    /// The objects, each as one of the version `to`.
    async fn convert(&self, api: &Api, objects: &[Value], to: &str) -> Result<Vec<Value>> {
        let failed = |why: String| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why);
        let Some(version) = self.version else {
            return Err(failed("no supported conversion review versions".to_owned()));
        };
        let subject = objects.first().map(review::described).unwrap_or_default();
        let failed = |why: String| failed(format!("conversion webhook for {subject} {why}"));
        let uid = uuid::Uuid::new_v4().to_string();
        let question = review::question(version, &uid, objects, to);
        let answer = webhook_client::post(api, &self.endpoint, TIMEOUT, question)
            .await
            .map_err(|error| match error {
                CallError::Crowded(why) => why.into(),
                other => failed(format!("failed: {other}")),
            })?;
        review::read(version, &uid, objects, to, &answer).map_err(failed)
    }
}

/// A custom kind whose versions a webhook converts, and that webhook.
fn converted(kind: &Kind) -> Option<(&CustomVersion, &Converter)> {
    let custom = kind.custom()?;
    Some((custom, custom.converter()?))
}

/// Stored objects in the version of `kind`, ready to be read as such.
pub(crate) async fn shown(api: &Api, kind: &Kind, mut stored: Vec<Arc<Object>>) -> Result<Vec<Arc<Object>>> {
    let Some((custom, converter)) = converted(kind) else {
        return Ok(stored);
    };
    let foreign: Vec<usize> = (0..stored.len())
        .filter(|index| !stored[*index].json().starts_with(kind.prefix.as_bytes()))
        .collect();
    if foreign.is_empty() {
        return Ok(stored);
    }
    let values: Vec<Value> = foreign
        .iter()
        .map(|index| serde_json::from_slice(stored[*index].json()).unwrap_or_default())
        .collect();
    let values = converter.convert(api, &values, &kind.api_version).await?;
    for (index, mut value) in foreign.into_iter().zip(values) {
        custom.upgrade(&mut value);
        stored[index] = Arc::new(stored[index].reshaped(object::encode(&value)));
    }
    Ok(stored)
}

/// One stored object in the version of `kind`.
pub(crate) async fn shown_one(api: &Api, kind: &Kind, stored: Arc<Object>) -> Result<Arc<Object>> {
    if converted(kind).is_none() {
        return Ok(stored);
    }
    let shown = shown(api, kind, vec![stored.clone()]).await?;
    Ok(shown.into_iter().next().unwrap_or(stored))
}

/// Changes in the version of `kind`.
pub(crate) async fn shown_events(api: &Api, kind: &Kind, events: Vec<Arc<Event>>) -> Result<Vec<Arc<Event>>> {
    if converted(kind).is_none() {
        return Ok(events);
    }
    let mut shown_events = Vec::with_capacity(events.len());
    for event in events {
        let states = [Some(&event.object), event.previous.as_ref()];
        let states = states.into_iter().flatten().cloned().collect();
        let mut states = shown(api, kind, states).await?.into_iter();
        let object = states.next().unwrap_or_else(|| event.object.clone());
        shown_events.push(Arc::new(event.reshaped(object, states.next())));
    }
    Ok(shown_events)
}

/// An object of the version of `kind` in the form the store keeps.
pub(crate) async fn to_stored(api: &Api, kind: &Kind, value: Value) -> Result<Value> {
    let Some((custom, converter)) = converted(kind) else {
        return Ok(kind.to_stored(value));
    };
    let storage = custom.storage_api_version();
    if storage == kind.api_version {
        return Ok(value);
    }
    let values = converter.convert(api, &[value], &storage).await?;
    Ok(values.into_iter().next().unwrap_or_default())
}
