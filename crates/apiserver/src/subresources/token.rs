//! Issuing service-account tokens.

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
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
    let grant = Grant::read(call, &request, object::uid(&account))?;
    let token = call
        .api
        .signer
        .sign(&grant.claims(call))
        .ok_or_else(|| ApiError::internal("the token could not be signed"))?;
    let answer = grant.answer(call, request, &token);
    Ok(response::value(StatusCode::CREATED, call.representation, &answer))
}

/// What a request gets.
struct Grant {
    audiences: Vec<Value>,
    seconds: i64,
    now: Timestamp,
    /// The claims about the account and what the token is bound to.
    private: Value,
}

impl Grant {
    fn read(call: &Call, request: &Value, account_uid: &str) -> Result<Self> {
        let (namespace, name) = (call.key_namespace(), &call.target.name);
        let spec = kinds::read::get(request, "spec");
        let mut audiences = kinds::read::list(spec, "audiences").to_vec();
        if audiences.is_empty() {
            audiences.push(tokens::ISSUER.into());
        }
        let mut private = json!({
            "namespace": namespace,
            "serviceaccount": { "name": name, "uid": account_uid },
        });
        if let Some(bound) = spec.get("boundObjectRef").filter(|bound| !bound.is_null()) {
            bind(call, namespace, bound, &mut private)?;
        }
        Ok(Self {
            audiences,
            seconds: kinds::read::int(spec, "expirationSeconds").unwrap_or_default(),
            now: Timestamp::now(),
            private,
        })
    }

    fn expires(&self) -> Timestamp {
        self.now + SignedDuration::from_secs(self.seconds)
    }

    fn claims(&self, call: &Call) -> Value {
        json!({
            "iss": tokens::ISSUER,
            "sub": tokens::username(call.key_namespace(), &call.target.name),
            "aud": self.audiences,
            "iat": self.now.as_second(),
            "nbf": self.now.as_second(),
            "exp": self.expires().as_second(),
            "jti": uuid::Uuid::new_v4().to_string(),
            "kubernetes.io": self.private,
        })
    }

    /// The request, with what was not asked for filled in.
    fn answer(&self, call: &Call, mut request: Value, token: &str) -> Value {
        request["kind"] = "TokenRequest".into();
        request["apiVersion"] = "authentication.k8s.io/v1".into();
        request["metadata"] = json!({
            "name": call.target.name,
            "namespace": call.key_namespace(),
            "creationTimestamp": timestamp(self.now),
        });
        request["spec"]["audiences"] = json!(self.audiences);
        request["spec"]["expirationSeconds"] = self.seconds.into();
        request["status"] = json!({ "token": token, "expirationTimestamp": timestamp(self.expires()) });
        request
    }
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
