//! Issuing service-account tokens.

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use kinds::read::text;
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
    let account = object::parse(&stored)?;
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
    let (name, uid) = (text(bound, "name"), text(bound, "uid"));
    let bindable = Bindable::read(bound)?;
    let qualified = Qualified {
        group: "",
        name: bindable.plural,
    };
    let key_namespace = if bindable.namespaced { namespace } else { "" };
    let stored = call
        .api
        .store
        .get(&Collection::new("", bindable.plural), key_namespace, name)
        .ok_or_else(|| ApiError::not_found(qualified, name))?;
    let object = object::parse(&stored)?;
    if !uid.is_empty() && uid != object::uid(&object) {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(ApiError::conflict(qualified, name, &why));
    }
    if bindable.claim == "pod" {
        bind_pod(call, &object, private)?;
    }
    private[bindable.claim] = json!({ "name": name, "uid": object::uid(&object) });
    Ok(())
}

/// What a token may be bound to.
struct Bindable {
    claim: &'static str,
    plural: &'static str,
    namespaced: bool,
}

impl Bindable {
    fn read(bound: &Value) -> Result<Self> {
        let (api_version, kind) = (text(bound, "apiVersion"), text(bound, "kind"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let (claim, plural, namespaced) = match (group, kind) {
            ("", "Pod") => ("pod", "pods", true),
            ("", "Secret") => ("secret", "secrets", true),
            ("", "Node") => ("node", "nodes", false),
            _ => {
                return Err(ApiError::bad_request(format!(
                    "cannot bind token to object of type {group}/{version}, Kind={kind}"
                )));
            }
        };
        Ok(Self {
            claim,
            plural,
            namespaced,
        })
    }
}

/// A token of a pod is for the account it runs as, and knows its node.
fn bind_pod(call: &Call, pod: &Value, private: &mut Value) -> Result<()> {
    let spec = kinds::read::get(pod, "spec");
    if text(spec, "serviceAccountName") != call.target.name {
        return Err(ApiError::bad_request(format!(
            "cannot bind token for serviceaccount \"{}\" to pod running with different serviceaccount name.",
            call.target.name
        )));
    }
    let node = text(spec, "nodeName");
    if !node.is_empty() {
        private["node"] = node_claim(call, node);
    }
    Ok(())
}

/// Where the pod of a token runs. A node nobody registered has a name all the same.
fn node_claim(call: &Call, name: &str) -> Value {
    match call.api.store.get(&Collection::new("", "nodes"), "", name) {
        Some(stored) => json!({ "name": name, "uid": crate::thin::read(&stored).metadata.uid }),
        None => json!({ "name": name }),
    }
}
