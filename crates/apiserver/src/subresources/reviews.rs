//! Questions that are asked by creating an object: who am I, may I, whose token is this.

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    admission,
    authentication::{self, User},
    authorization::Attributes,
    body,
    call::Call,
    error::{ApiError, Result},
    negotiate,
    response::{self, Answer},
    writes::{Writer, options::WriteOptions},
};

/// The status of a review that broke no rule.
type Ask = fn(&Call, &Value) -> Result<Value>;

/// The answer to a review, if the kind is one.
pub(crate) async fn answer(call: &Call, bytes: &[u8]) -> Option<Result<Answer>> {
    let ask: Ask = match (call.kind.group.as_ref(), call.kind.kind.as_ref()) {
        ("authentication.k8s.io", "TokenReview") => token_review,
        ("authentication.k8s.io", "SelfSubjectReview") => {
            |call, _| Ok(json!({ "userInfo": call.user.to_info() }))
        }
        ("authorization.k8s.io", "SubjectAccessReview" | "LocalSubjectAccessReview") => |call, review| {
            let user = User::from_info(kinds::read::get(review, "spec"), "user");
            Ok(access_review(call, review, &user))
        },
        ("authorization.k8s.io", "SelfSubjectAccessReview") => {
            |call, review| Ok(access_review(call, review, &call.user))
        }
        ("authorization.k8s.io", "SelfSubjectRulesReview") => rules_review,
        _ => return None,
    };
    Some(review(call, bytes, ask).await)
}

async fn review(call: &Call, bytes: &[u8], ask: Ask) -> Result<Answer> {
    let mut review = body::decode(negotiate::content_type(&call.headers), bytes, &call.kind.kind)?.value;
    if !review.get("metadata").is_some_and(Value::is_object) {
        review["metadata"] = json!({ "creationTimestamp": null });
    }
    let mut writer = Writer::new(call, WriteOptions::read(&call.query, "CreateOptions")?);
    admission::admit_body(&mut writer, &mut review).await?;
    review["status"] = ask(call, &review)?;
    // Of all reviews only this one says when it was made.
    if call.kind.kind == "SelfSubjectReview" {
        review["metadata"] = json!({ "creationTimestamp": writer.timestamp() });
    }
    Ok(response::value(StatusCode::CREATED, call.representation, &review))
}

fn token_review(call: &Call, review: &Value) -> Result<Value> {
    let spec = kinds::read::get(review, "spec");
    let token = kinds::read::text(spec, "token");
    if token.is_empty() {
        return Err(ApiError::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let audiences: Vec<String> = kinds::read::list(spec, "audiences")
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    Ok(
        match authentication::authenticate_token(&call.api, token, &audiences) {
            Some((user, audiences)) => {
                json!({ "authenticated": true, "user": user.to_info(), "audiences": audiences })
            }
            None => json!({ "user": {}, "error": "invalid bearer token" }),
        },
    )
}

fn access_review(call: &Call, review: &Value, user: &User) -> Value {
    let spec = kinds::read::get(review, "spec");
    let text = |path: &str| spec.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let attributes = if kinds::read::has(spec, "nonResourceAttributes") {
        Attributes::Path {
            verb: text("/nonResourceAttributes/verb"),
            path: text("/nonResourceAttributes/path"),
        }
    } else {
        Attributes::Resource {
            verb: text("/resourceAttributes/verb"),
            group: text("/resourceAttributes/group"),
            resource: text("/resourceAttributes/resource"),
            subresource: text("/resourceAttributes/subresource"),
            namespace: text("/resourceAttributes/namespace"),
            name: text("/resourceAttributes/name"),
        }
    };
    let decision = call.api.authorizer.decide(&call.api.store, user, attributes);
    let mut status = json!({ "allowed": decision.is_allowed() });
    if !decision.reason().is_empty() {
        status["reason"] = decision.reason().into();
    }
    status
}

fn rules_review(call: &Call, review: &Value) -> Result<Value> {
    let namespace = kinds::read::text(kinds::read::get(review, "spec"), "namespace");
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let authorizer = &call.api.authorizer;
    let rules = authorizer.rules_for(&call.api.store, &call.user, namespace);
    let mut status =
        json!({ "resourceRules": rules.resources, "nonResourceRules": rules.paths, "incomplete": false });
    if let Some(error) = rules.error {
        status["evaluationError"] = error.into();
    }
    Ok(status)
}
