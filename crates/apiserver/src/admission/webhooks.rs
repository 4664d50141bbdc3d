//! The cluster's own admission over HTTPS: webhooks that may change or refuse a write.

mod configuration;
mod failure;
mod mutating;
mod patch;
mod review;
mod rounds;
mod validating;

use std::sync::Arc;

use schemas::cel::admission::Inputs;
use serde_json::Value;

use self::{
    configuration::{Configurations, Webhook},
    failure::Failure,
    review::Answer,
};
use super::{
    attributes::Attributes,
    authorizer::Permissions,
    conversion::convert,
    matching::{Matcher, Objects},
};
use crate::{
    call::Call,
    error::{ApiError, Result},
    kind::Kind,
    webhook_client::{self, CallError},
};

pub(crate) use self::{mutating::mutate, rounds::Rounds, validating::validate};

/// The webhooks of the cluster, as they are configured now.
pub struct Caller {
    mutating: Configurations,
    validating: Configurations,
}

impl Caller {
    pub fn new() -> Self {
        Self {
            mutating: Configurations::new("mutatingwebhookconfigurations"),
            validating: Configurations::new("validatingwebhookconfigurations"),
        }
    }
}

impl Default for Caller {
    fn default() -> Self {
        Self::new()
    }
}

/// The configuration of admission itself is never put to webhooks: a broken one could not be mended.
fn is_exempt(call: &Call) -> bool {
    const KINDS: [&str; 6] = [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ];
    call.kind.group == "admissionregistration.k8s.io" && KINDS.contains(&call.kind.kind.as_ref())
}

/// The resource as which a webhook wants to see the request, if it wants to see it at all.
fn wanted_as(
    webhook: &Webhook,
    attributes: &Attributes<'_>,
    matcher: &Matcher<'_>,
    objects: Objects<'_>,
) -> Result<Option<Arc<Kind>>> {
    let Some(kind) = matcher.find(&webhook.criteria, objects)? else {
        return Ok(None);
    };
    if webhook.conditions.is_empty() {
        return Ok(Some(kind));
    }
    let own = &attributes.call.kind;
    let new = objects.new.map(|object| convert(object, own, &kind));
    let old = objects.old.map(|object| convert(object, own, &kind));
    let inputs = Inputs {
        object: new.as_deref().unwrap_or(&Value::Null),
        old_object: old.as_deref().unwrap_or(&Value::Null),
        request: &attributes.to_request(&kind),
        params: &Value::Null,
        namespace_object: &Value::Null,
        authorizer: Some(&Permissions(attributes.call)),
    };
    match webhook.conditions.hold(inputs, &[]) {
        Ok(holds) => Ok(holds.then_some(kind)),
        Err(_) if webhook.fails_open => Ok(None),
        Err(why) => Err(ApiError::forbidden(own.qualified(), &attributes.name, &why)),
    }
}

/// Puts the request to a webhook, as a request to `kind`.
async fn ask(
    webhook: &Webhook,
    attributes: &Attributes<'_>,
    kind: &Kind,
    objects: Objects<'_>,
    mutating: bool,
) -> Result<Answer, Failure> {
    if attributes.dry_run && !webhook.allows_dry_run {
        return Err(failure::no_dry_run(&webhook.name));
    }
    let version = webhook.review_version.ok_or_else(|| {
        Failure::Call(
            "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
                .to_owned(),
        )
    })?;
    let uid = uuid::Uuid::new_v4().to_string();
    let question = {
        let own = &attributes.call.kind;
        let new = objects.new.map(|object| convert(object, own, kind));
        let old = objects.old.map(|object| convert(object, own, kind));
        let seen = Objects {
            new: new.as_deref(),
            old: old.as_deref(),
        };
        review::question(version, &uid, &attributes.to_request(kind), seen)
    };
    let api = &attributes.call.api;
    let answer = webhook_client::post(api, &webhook.endpoint, webhook.timeout, question)
        .await
        .map_err(|error| match error {
            CallError::Configuration(why) => Failure::Call(format!("could not get REST client: {why}")),
            CallError::Call(why) => Failure::Call(format!("failed to call webhook: {why}")),
            CallError::Crowded(why) => Failure::Refusal(why.into()),
        })?;
    review::read(version, &uid, mutating, &answer)
        .map_err(|why| Failure::Call(format!("received invalid webhook response: {why}")))
}
