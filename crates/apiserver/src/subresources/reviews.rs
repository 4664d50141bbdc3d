//! Questions that are asked by creating an object: who am I, may I, whose token is this.

use http::StatusCode;
use manifests::field::{FieldError, Path};
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

/// The answer to a review, if the kind is one.
pub(crate) async fn answer(call: &Call, bytes: &[u8]) -> Option<Result<Answer>> {
    let ask: fn(&Call, &mut Value) -> Result<()> = match (call.kind.group.as_ref(), call.kind.kind.as_ref()) {
        ("authentication.k8s.io", "TokenReview") => token_review,
        ("authentication.k8s.io", "SelfSubjectReview") => self_subject_review,
        ("authorization.k8s.io", "SubjectAccessReview" | "LocalSubjectAccessReview") => subject_access_review,
        ("authorization.k8s.io", "SelfSubjectAccessReview") => self_access_review,
        ("authorization.k8s.io", "SelfSubjectRulesReview") => rules_review,
        _ => return None,
    };
    Some(review(call, bytes, ask).await)
}

async fn review(call: &Call, bytes: &[u8], ask: fn(&Call, &mut Value) -> Result<()>) -> Result<Answer> {
    let mut review = body::decode(negotiate::content_type(&call.headers), bytes, &call.kind.kind)?.value;
    review["kind"] = call.kind.kind.as_ref().into();
    review["apiVersion"] = call.kind.api_version.as_ref().into();
    if !review.get("metadata").is_some_and(Value::is_object) {
        review["metadata"] = json!({ "creationTimestamp": null });
    }
    let mut writer = Writer::new(call, WriteOptions::read(&call.query, "CreateOptions")?);
    admission::admit_body(&mut writer, &mut review).await?;
    ask(call, &mut review)?;
    Ok(response::value(StatusCode::CREATED, call.representation, &review))
}

#[expect(clippy::unnecessary_wraps, reason = "one of the functions a review may be")]
fn self_subject_review(call: &Call, review: &mut Value) -> Result<()> {
    review["status"] = json!({ "userInfo": call.user.to_info() });
    review["metadata"] = json!({ "creationTimestamp": crate::writes::timestamp(jiff::Timestamp::now()) });
    Ok(())
}

fn token_review(call: &Call, review: &mut Value) -> Result<()> {
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
    review["status"] = match authentication::authenticate_token(&call.api, token, &audiences) {
        Some((user, audiences)) => {
            json!({ "authenticated": true, "user": user.to_info(), "audiences": audiences })
        }
        None => json!({ "user": {}, "error": "invalid bearer token" }),
    };
    Ok(())
}

fn subject_access_review(call: &Call, review: &mut Value) -> Result<()> {
    let spec = kinds::read::get(review, "spec").clone();
    let user = User::from_info(&spec, "user");
    let mut errors = check_attributes(&spec);
    if user.name.is_empty() && user.groups.is_empty() {
        errors.push(FieldError::invalid(
            &Path::new("spec").child("user"),
            &json!(""),
            "at least one of user or group must be specified",
        ));
    }
    if call.kind.kind == "LocalSubjectAccessReview" {
        let namespace = spec
            .pointer("/resourceAttributes/namespace")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if namespace != call.key_namespace() {
            return Err(ApiError::bad_request(format!(
                "spec.resourceAttributes.namespace must match namespace: {}",
                call.key_namespace()
            )));
        }
        review["metadata"]["namespace"] = call.key_namespace().into();
    }
    decide(call, review, &user, &spec, &errors)
}

fn self_access_review(call: &Call, review: &mut Value) -> Result<()> {
    let spec = kinds::read::get(review, "spec").clone();
    let errors = check_attributes(&spec);
    decide(call, review, &call.user.clone(), &spec, &errors)
}

fn check_attributes(spec: &Value) -> Vec<FieldError> {
    let path = Path::new("spec").child("resourceAttributes");
    let (resource, path_attributes) = (
        kinds::read::has(spec, "resourceAttributes"),
        kinds::read::has(spec, "nonResourceAttributes"),
    );
    match (resource, path_attributes) {
        (true, true) => vec![FieldError::invalid(
            &Path::new("spec").child("nonResourceAttributes"),
            kinds::read::get(spec, "nonResourceAttributes"),
            "cannot be specified in combination with resourceAttributes",
        )],
        (false, false) => vec![FieldError::invalid(
            &path,
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )],
        _ => Vec::new(),
    }
}

fn decide(call: &Call, review: &mut Value, user: &User, spec: &Value, errors: &[FieldError]) -> Result<()> {
    if !errors.is_empty() {
        return Err(ApiError::invalid(
            "authorization.k8s.io",
            &call.kind.kind,
            "",
            errors,
        ));
    }
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
    review["status"] = match call.api.authorizer.allowed(&call.api.store, user, attributes) {
        Some(reason) if reason.is_empty() => json!({ "allowed": true }),
        Some(reason) => json!({ "allowed": true, "reason": reason }),
        None => json!({ "allowed": false }),
    };
    Ok(())
}

fn rules_review(call: &Call, review: &mut Value) -> Result<()> {
    let namespace = review
        .pointer("/spec/namespace")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let (resource_rules, path_rules) = call
        .api
        .authorizer
        .rules_for(&call.api.store, &call.user, &namespace);
    review["status"] =
        json!({ "resourceRules": resource_rules, "nonResourceRules": path_rules, "incomplete": false });
    Ok(())
}
