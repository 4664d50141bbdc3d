//! Issuing service-account tokens.

use http::StatusCode;
use manifests::field::{FieldError, Path};
use serde_json::{Value, json};
use store::Collection;

use crate::{
    admission, body,
    call::Call,
    error::{ApiError, Qualified, Result},
    negotiate, object,
    response::{self, Answer},
    tokens,
    writes::{Writer, options::WriteOptions, timestamp},
};

const DEFAULT_SECONDS: i64 = 3600;
const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;

pub(crate) async fn issue(call: &Call, bytes: &[u8]) -> Result<Answer> {
    let mut request = body::decode(negotiate::content_type(&call.headers), bytes, "TokenRequest")?.value;
    let spec = kinds::read::object_mut(&mut request, "spec");
    spec.entry("expirationSeconds")
        .or_insert_with(|| DEFAULT_SECONDS.into());
    let mut writer = Writer::new(call, WriteOptions::read(&call.query, "CreateOptions")?);
    admission::admit_body(&mut writer, &mut request).await?;
    let (namespace, name) = (call.key_namespace(), call.target.name.as_str());
    let stored = call
        .api
        .store
        .get(&call.kind.collection, namespace, name)
        .ok_or_else(|| ApiError::not_found(call.kind.qualified(), name))?;
    let account = call.kind.read(&stored);
    let spec = kinds::read::get(&request, "spec").clone();
    let seconds = kinds::read::int(&spec, "expirationSeconds").unwrap_or(DEFAULT_SECONDS);
    check_seconds(seconds)?;
    let mut audiences = kinds::read::list(&spec, "audiences").to_vec();
    if audiences.is_empty() {
        audiences.push(tokens::ISSUER.into());
    }
    let mut private = json!({
        "namespace": namespace,
        "serviceaccount": { "name": name, "uid": object::uid(&account) },
    });
    if let Some(bound) = spec.get("boundObjectRef").filter(|bound| !bound.is_null()) {
        bind(call, namespace, bound, &mut private)?;
    }
    let now = jiff::Timestamp::now();
    let expires = now + jiff::SignedDuration::from_secs(seconds);
    let claims = json!({
        "iss": tokens::ISSUER,
        "sub": tokens::username(namespace, name),
        "aud": audiences,
        "iat": now.as_second(),
        "nbf": now.as_second(),
        "exp": expires.as_second(),
        "jti": uuid::Uuid::new_v4().to_string(),
        "kubernetes.io": private,
    });
    let token = call
        .api
        .signer
        .sign(&claims)
        .ok_or_else(|| ApiError::internal("the token could not be signed"))?;
    request["kind"] = "TokenRequest".into();
    request["apiVersion"] = "authentication.k8s.io/v1".into();
    request["metadata"] =
        json!({ "name": name, "namespace": namespace, "creationTimestamp": timestamp(now) });
    request["spec"] = spec;
    request["spec"]["audiences"] = Value::Array(audiences);
    request["spec"]["expirationSeconds"] = seconds.into();
    request["status"] = json!({ "token": token, "expirationTimestamp": timestamp(expires) });
    Ok(response::value(
        StatusCode::CREATED,
        call.representation,
        &request,
    ))
}

fn check_seconds(seconds: i64) -> Result<()> {
    let path = Path::new("spec").child("expirationSeconds");
    let error = if seconds < MIN_SECONDS {
        FieldError::invalid(
            &path,
            &json!(seconds),
            "may not specify a duration less than 10 minutes",
        )
    } else if seconds > MAX_SECONDS {
        FieldError::invalid(
            &path,
            &json!(seconds),
            "may not specify a duration larger than 2^32 seconds",
        )
    } else {
        return Ok(());
    };
    // A request for a token has no name; that of the account does not appear.
    Err(ApiError::invalid(
        "authentication.k8s.io",
        "TokenRequest",
        "",
        &[error],
    ))
}

/// Ties the token to an object that is there, and is the one meant.
fn bind(call: &Call, namespace: &str, bound: &Value, private: &mut Value) -> Result<()> {
    let (kind, name, uid) = (
        kinds::read::text(bound, "kind"),
        kinds::read::text(bound, "name"),
        kinds::read::text(bound, "uid"),
    );
    let (claim, plural, key_namespace) = match kind {
        "Pod" => ("pod", "pods", namespace),
        "Secret" => ("secret", "secrets", namespace),
        "Node" => ("node", "nodes", ""),
        _ => {
            return Err(ApiError::bad_request(format!(
                "cannot bind token to object of type {kind}"
            )));
        }
    };
    let qualified = Qualified {
        group: "",
        name: plural,
    };
    let stored = call
        .api
        .store
        .get(&Collection::new("", plural), key_namespace, name)
        .ok_or_else(|| ApiError::not_found(qualified, name))?;
    let object: Value = serde_json::from_slice(stored.json()).unwrap_or_default();
    if !uid.is_empty() && uid != object::uid(&object) {
        return Err(ApiError::conflict(
            qualified,
            name,
            &format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
            ),
        ));
    }
    if kind == "Pod" {
        let account = object
            .pointer("/spec/serviceAccountName")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if account != call.target.name {
            return Err(ApiError::bad_request(format!(
                "cannot bind token for serviceaccount \"{}\" to pod running with different serviceaccount name.",
                call.target.name
            )));
        }
        let node = object
            .pointer("/spec/nodeName")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if let Some(stored) = call.api.store.get(&Collection::new("", "nodes"), "", node) {
            let thin = crate::thin::read(&stored);
            private["node"] = json!({ "name": node, "uid": thin.metadata.uid });
        }
    }
    private[claim] = json!({ "name": name, "uid": object::uid(&object) });
    Ok(())
}
