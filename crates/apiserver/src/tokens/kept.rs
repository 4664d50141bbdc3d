//! Tokens kept in secrets, as they were before tokens had an end. One is good as long as its secret
//! holds it and its account is there.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use store::Collection;

use super::{ISSUER, groups, is_alive, split_username, username};
use crate::{api::Api, authentication::User, object};

pub(crate) const KEPT_ISSUER: &str = "kubernetes/serviceaccount";

/// The claims, below this prefix.
const PREFIX: &str = "kubernetes.io/serviceaccount/";

/// What a token says that a secret keeps for an account.
pub(crate) fn claims(secret: &Value, account: &Value) -> Value {
    let (namespace, name) = (object::namespace(account), object::name(account));
    let mut claims = json!({ "iss": KEPT_ISSUER, "sub": username(namespace, name) });
    for (claim, value) in [
        ("namespace", namespace),
        ("secret.name", object::name(secret)),
        ("service-account.name", name),
        ("service-account.uid", object::uid(account)),
    ] {
        claims[format!("{PREFIX}{claim}")] = value.into();
    }
    claims
}

/// The user of a kept token and the wanted audiences it has: it is for the API alone.
pub(super) fn verify(
    api: &Api,
    token: &str,
    claims: &Value,
    wanted: &[String],
) -> Option<(User, Vec<String>)> {
    let claim = |name: &str| claims.get(format!("{PREFIX}{name}")).and_then(Value::as_str);
    let (namespace, name, uid) = (
        claim("namespace")?,
        claim("service-account.name")?,
        claim("service-account.uid")?,
    );
    let audiences: Vec<String> = wanted
        .iter()
        .filter(|audience| *audience == ISSUER)
        .cloned()
        .collect();
    let is_good = !audiences.is_empty()
        && split_username(claims.get("sub")?.as_str()?) == Some((namespace, name))
        && is_kept(api, namespace, claim("secret.name")?, token)
        && is_alive(api, "serviceaccounts", namespace, name, uid);
    let user = User {
        name: username(namespace, name),
        uid: uid.to_owned(),
        groups: groups(namespace),
        ..User::default()
    };
    is_good.then_some((user, audiences))
}

fn is_kept(api: &Api, namespace: &str, secret: &str, token: &str) -> bool {
    let stored = api.store.get(&Collection::new("", "secrets"), namespace, secret);
    let Some(secret) = stored.and_then(|stored| object::readable(&stored)) else {
        return false;
    };
    let kept = kinds::read::text(kinds::read::get(&secret, "data"), "token");
    !object::is_deleting(&secret) && BASE64_STANDARD.encode(token) == kept
}
