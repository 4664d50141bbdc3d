//! Objects on their way between the store and a request of another version than the stored one. What
//! has been shown is in the version asked for; whoever reads it need not know that there are others.
//!
//! A stored custom object has the form of its own version. On the way out it is converted, by name
//! alone or by the definition's webhook, and loses what the version asked for does not know; on the
//! way in the same happens towards the stored version. Defaults come from the version a client writes
//! in and from the stored one, never from a version that is only read.

mod review;

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use kinds::read::{at, get, list, text};
use serde_json::Value;
use store::{Event, Object};

use crate::{
    api::Api,
    aside::step_aside,
    custom::CustomVersion,
    error::{ApiError, Result},
    kind::{Definition, Kind},
    list::MANY,
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

/// Objects of any of a kind's versions, each as one of the version `to`.
async fn converted(
    api: &Api,
    custom: &CustomVersion,
    mut objects: Vec<Value>,
    to: &str,
) -> Result<Vec<Value>> {
    let foreign: Vec<usize> = (0..objects.len())
        .filter(|index| text(&objects[*index], "apiVersion") != to)
        .collect();
    if foreign.is_empty() {
        return Ok(objects);
    }
    match custom.converter() {
        None => {
            for index in &foreign {
                objects[*index]["apiVersion"] = to.into();
            }
        }
        Some(webhook) => {
            let asked: Vec<Value> = foreign.iter().map(|index| objects[*index].take()).collect();
            let answered = webhook.convert(api, &asked, to).await?;
            for (index, object) in foreign.iter().zip(answered) {
                objects[*index] = object;
            }
        }
    }
    for index in foreign {
        custom.fit(&mut objects[index]).map_err(failed)?;
    }
    Ok(objects)
}

fn failed(why: String) -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why)
}

/// A stored object as one of the version it is stored in, in the form that version has today.
fn settled(custom: &CustomVersion, stored: &Object) -> Result<Value> {
    let mut object = object::parse(stored)?;
    if !custom.is_current(stored.revision()) {
        custom.settle(&mut object).map_err(failed)?;
    }
    Ok(object)
}

/// Stored objects in the version of `kind`.
pub(crate) async fn shown(api: &Api, kind: &Kind, mut stored: Vec<Arc<Object>>) -> Result<Vec<Arc<Object>>> {
    let foreign: Vec<usize> = (0..stored.len())
        .filter(|index| !kind.serves_as_stored(&stored[*index]))
        .collect();
    if foreign.is_empty() {
        return Ok(stored);
    }
    let parsed = |parse: &dyn Fn(&Object) -> Result<Value>| -> Result<Vec<Value>> {
        let all = || foreign.iter().map(|index| parse(&stored[*index])).collect();
        step_aside(foreign.len() > MANY, all)
    };
    let objects = match &kind.definition {
        Definition::BuiltIn(built_in) => parsed(&|stored| {
            let mut object = object::parse(stored)?;
            built_in.show(&mut object);
            Ok(object)
        })?,
        Definition::Custom(custom) => {
            let settled = parsed(&|stored| settled(custom, stored))?;
            converted(api, custom, settled, &kind.api_version).await?
        }
    };
    for (index, object) in foreign.into_iter().zip(objects) {
        stored[index] = Arc::new(stored[index].reshaped(object::encode(&object)));
    }
    Ok(stored)
}

/// One stored object in the version of `kind`.
pub(crate) async fn shown_one(api: &Api, kind: &Kind, stored: Arc<Object>) -> Result<Arc<Object>> {
    if kind.serves_as_stored(&stored) {
        return Ok(stored);
    }
    let shown = shown(api, kind, vec![stored.clone()]).await?;
    Ok(shown.into_iter().next().unwrap_or(stored))
}

/// Changes in the version of `kind`.
pub(crate) async fn shown_events(api: &Api, kind: &Kind, events: Vec<Arc<Event>>) -> Result<Vec<Arc<Event>>> {
    let is_shown = |event: &Arc<Event>| {
        let mut states = [Some(&event.object), event.previous.as_ref()]
            .into_iter()
            .flatten();
        states.all(|state| kind.serves_as_stored(state))
    };
    if events.iter().all(is_shown) {
        return Ok(events);
    }
    let mut shown_events = Vec::with_capacity(events.len());
    for event in events {
        let states = [Some(event.object.clone()), event.previous.clone()];
        let states = states.into_iter().flatten().collect();
        let mut states = shown(api, kind, states).await?.into_iter();
        let object = states.next().unwrap_or_else(|| event.object.clone());
        shown_events.push(Arc::new(event.reshaped(object, states.next())));
    }
    Ok(shown_events)
}

/// An object of the version of `kind` in the form the store keeps.
pub(crate) async fn to_stored(api: &Api, kind: &Kind, mut object: Value) -> Result<Value> {
    let custom = match &kind.definition {
        Definition::BuiltIn(built_in) => {
            built_in.store(&mut object);
            return Ok(object);
        }
        Definition::Custom(custom) => custom,
    };
    let storage = custom.storage_api_version();
    if storage == kind.api_version {
        return Ok(object);
    }
    let mut stored = one(converted(api, custom, vec![object], &storage).await?);
    // Every reader would see these defaults; stored, they cost nobody anything.
    custom.settle(&mut stored).map_err(failed)?;
    Ok(stored)
}

/// What a client would be shown of an object of the version of `kind` if it were stored.
pub(crate) async fn as_if_stored(api: &Api, kind: &Kind, object: Value) -> Result<Value> {
    match kind.custom() {
        Some(custom) if custom.storage_version() != kind.version => {
            let stored = to_stored(api, kind, object).await?;
            Ok(one(converted(api, custom, vec![stored], &kind.api_version).await?))
        }
        _ => Ok(object),
    }
}

/// As many objects come out of a conversion as go in.
fn one(objects: Vec<Value>) -> Value {
    objects.into_iter().next().unwrap_or_default()
}
