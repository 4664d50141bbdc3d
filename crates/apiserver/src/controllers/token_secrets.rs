//! Secrets that ask for a token of a service account get one that does not end, and go when the
//! account goes.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use store::{Collection, Object};

use super::feed::{Change, Feed};
use crate::{
    api::Api,
    error::Result,
    internal, object,
    tokens::kept,
    writes::{delete::DeleteOptions, update::Part},
};

const NAME: &str = "serviceaccount-token-controller";
const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

pub(crate) async fn run(api: Arc<Api>) {
    let mut secrets = Feed::new(&api.store, &collection("secrets"));
    let mut accounts = Feed::new(&api.store, &collection("serviceaccounts"));
    loop {
        tokio::select! {
            change = secrets.next() => match change {
                None => return,
                Some(Change::Present(stored)) => settle(&api, &stored).await,
                Some(Change::Gone(_)) => {}
            },
            change = accounts.next() => match change {
                None => return,
                Some(Change::Present(_)) => {}
                Some(Change::Gone(account)) => {
                    let list = api.store.list(&collection("secrets"), Some(account.namespace()), None, None);
                    for stored in list.items {
                        settle(&api, &stored).await;
                    }
                }
            },
        }
    }
}

fn collection(plural: &str) -> Collection {
    Collection::new("", plural)
}

/// What is to be done about a secret.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    Fill,
    Delete,
}

fn is_token(secret: &Value) -> bool {
    kinds::read::text(secret, "type") == TYPE
}

fn annotation<'a>(secret: &'a Value, name: &str) -> &'a str {
    kinds::read::text(kinds::read::at(secret, &["metadata", "annotations"]), name)
}

/// Decides about a token secret; `account` is the account it names, if there is one.
fn step(secret: &Value, account: Option<&Value>, ca_pem: &str) -> Step {
    if object::is_deleting(secret) {
        return Step::Nothing;
    }
    let wanted_uid = annotation(secret, ACCOUNT_UID);
    let is_another = |account: &Value| !wanted_uid.is_empty() && wanted_uid != object::uid(account);
    if account.is_none_or(is_another) {
        return Step::Delete;
    }
    let data = kinds::read::get(secret, "data");
    let has = |key: &str| !kinds::read::text(data, key).is_empty();
    if has("token") && has("namespace") && kinds::read::text(data, "ca.crt") == BASE64_STANDARD.encode(ca_pem)
    {
        return Step::Nothing;
    }
    Step::Fill
}

/// The secret with all that its kind promises. A token it has stays.
fn filled(secret: &Value, account: &Value, ca_pem: &str, token: &str) -> Value {
    let mut new = secret.clone();
    let metadata = kinds::read::object_mut(&mut new, "metadata");
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    annotations[ACCOUNT_NAME] = object::name(account).into();
    annotations[ACCOUNT_UID] = object::uid(account).into();
    let data = kinds::read::object_mut(&mut new, "data");
    data.insert("ca.crt".to_owned(), BASE64_STANDARD.encode(ca_pem).into());
    for (key, text) in [("namespace", object::namespace(account)), ("token", token)] {
        let value = data.entry(key).or_insert(Value::Null);
        if value.as_str().is_none_or(str::is_empty) {
            *value = BASE64_STANDARD.encode(text).into();
        }
    }
    new
}

async fn settle(api: &Arc<Api>, stored: &Object) {
    let Some(secret) = object::readable(stored).filter(is_token) else {
        return;
    };
    let account = account_of(api, &secret);
    let done = match step(&secret, account.as_ref(), &api.ca_pem) {
        Step::Nothing => return,
        Step::Delete => delete(api, &secret).await,
        Step::Fill => fill(api, &secret).await,
    };
    if let Err(error) = done
        && error.reason != "NotFound"
    {
        tracing::warn!(secret = stored.name(), error = %error.message, "cannot settle the token");
    }
}

fn account_of(api: &Api, secret: &Value) -> Option<Value> {
    let name = annotation(secret, ACCOUNT_NAME);
    let stored = api
        .store
        .get(&collection("serviceaccounts"), object::namespace(secret), name)?;
    object::readable(&stored)
}

async fn delete(api: &Arc<Api>, secret: &Value) -> Result<()> {
    let Some(kind) = api.registry.snapshot().get("", "v1", "secrets").cloned() else {
        return Ok(());
    };
    let options = DeleteOptions {
        uid: Some(object::uid(secret).to_owned()),
        ..DeleteOptions::default()
    };
    let (namespace, name) = (object::namespace(secret), object::name(secret));
    internal::delete(api, &kind, NAME, namespace, name, &options)
        .await
        .map(drop)
}

async fn fill(api: &Arc<Api>, secret: &Value) -> Result<()> {
    let Some(kind) = api.registry.snapshot().get("", "v1", "secrets").cloned() else {
        return Ok(());
    };
    let (namespace, name) = (object::namespace(secret), object::name(secret));
    internal::change(api, &kind, NAME, Part::Main, namespace, name, |old| {
        let account = account_of(api, old);
        let (true, Some(account)) = (is_token(old), &account) else {
            return old.clone();
        };
        if step(old, Some(account), &api.ca_pem) != Step::Fill {
            return old.clone();
        }
        match api.signer.sign(&kept::claims(old, account)) {
            Some(token) => filled(old, account, &api.ca_pem, &token),
            None => old.clone(),
        }
    })
    .await
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> Value {
        json!({
            "metadata": {"name": "s", "namespace": "ns", "annotations": {ACCOUNT_NAME: "a"}}, "type": TYPE,
        })
    }

    fn account(uid: &str) -> Value {
        json!({"metadata": {"name": "a", "namespace": "ns", "uid": uid}})
    }

    #[test]
    fn a_secret_is_filled_once() {
        let account = account("1");
        assert_eq!(step(&secret(), Some(&account), "pem"), Step::Fill);
        let full = filled(&secret(), &account, "pem", "t");
        assert_eq!(
            full["data"],
            json!({"ca.crt": "cGVt", "namespace": "bnM=", "token": "dA=="})
        );
        assert_eq!(full["metadata"]["annotations"][ACCOUNT_UID], "1");
        assert_eq!(step(&full, Some(&account), "pem"), Step::Nothing);
        assert_eq!(filled(&full, &account, "pem", "other"), full);
    }

    #[test]
    fn a_secret_goes_with_its_account() {
        let full = filled(&secret(), &account("1"), "pem", "t");
        assert_eq!(step(&full, None, "pem"), Step::Delete);
        assert_eq!(step(&full, Some(&account("2")), "pem"), Step::Delete);
    }
}
