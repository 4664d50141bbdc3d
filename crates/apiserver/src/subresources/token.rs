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

pub(crate) async fn issue(call: &Call, bytes: &[u8]) -> Result<Answer> {
    let mut request = body::decode(negotiate::content_type(&call.headers), bytes, "TokenRequest")?.value;
    check_name(call, &request)?;
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
    let seconds = kinds::read::int(&spec, "expirationSeconds").unwrap_or_default();
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

/// A request may name the account it is for, and then must mean the one in the path.
fn check_name(call: &Call, request: &Value) -> Result<()> {
    let (sent, name) = (object::name(request), &call.target.name);
    if sent.is_empty() || sent == name {
        return Ok(());
    }
    Err(ApiError::invalid(
        "authentication.k8s.io",
        "TokenRequest",
        name,
        &[FieldError::invalid(
            &Path::new("metadata").child("name"),
            &json!(sent),
            "must match the service account name if specified",
        )],
    ))
}

/// Ties the token to an object that is there, and is the one meant.
fn bind(call: &Call, namespace: &str, bound: &Value, private: &mut Value) -> Result<()> {
    let (kind, name, uid) = (
        kinds::read::text(bound, "kind"),
        kinds::read::text(bound, "name"),
        kinds::read::text(bound, "uid"),
    );
    let api_version = kinds::read::text(bound, "apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let (claim, plural, key_namespace) = match (group, kind) {
        ("", "Pod") => ("pod", "pods", namespace),
        ("", "Secret") => ("secret", "secrets", namespace),
        ("", "Node") => ("node", "nodes", ""),
        _ => {
            return Err(ApiError::bad_request(format!(
                "cannot bind token to object of type {group}/{version}, Kind={kind}"
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
        if !node.is_empty() {
            private["node"] = node_claim(call, node);
        }
    }
    private[claim] = json!({ "name": name, "uid": object::uid(&object) });
    Ok(())
}

/// Where the pod of a token runs. A node nobody registered has a name all the same.
fn node_claim(call: &Call, name: &str) -> Value {
    match call.api.store.get(&Collection::new("", "nodes"), "", name) {
        Some(stored) => json!({ "name": name, "uid": crate::thin::read(&stored).metadata.uid }),
        None => json!({ "name": name }),
    }
}
