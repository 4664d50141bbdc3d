//! Service-account tokens: signed claims that bind a bearer to a service account and, where asked, to
//! a pod, secret or node. A token dies with what it is bound to.

pub(crate) mod kept;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
    },
};
use serde_json::{Value, json};
use store::Collection;

use crate::{
    api::Api,
    authentication::{AUTHENTICATED, User},
    object,
};

/// The issuer of every token and the audience of those for the API itself.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

const USER_PREFIX: &str = "system:serviceaccount:";

/// Signs and checks tokens.
pub struct Signer {
    key: EcdsaKeyPair,
    random: SystemRandom,
    key_id: String,
}

/// Why a signing key could not be used.
#[derive(Debug, thiserror::Error)]
#[error("the service-account signing key is not a PKCS #8 P-256 key")]
pub struct BadKey;

impl Signer {
    pub fn from_pkcs8(pkcs8: &[u8]) -> Result<Self, BadKey> {
        let random = SystemRandom::new();
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random).map_err(|_| BadKey)?;
        let digest = ring::digest::digest(&ring::digest::SHA256, key.public_key().as_ref());
        Ok(Self {
            key,
            random,
            key_id: BASE64_URL_SAFE_NO_PAD.encode(digest),
        })
    }

    pub fn sign(&self, claims: &Value) -> Option<String> {
        let header = json!({ "alg": "ES256", "kid": self.key_id });
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = self.key.sign(&self.random, signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The claims of a token this key signed.
    fn open(&self, token: &str) -> Option<Value> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (_, claims) = signed.split_once('.')?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.key.public_key().as_ref())
            .verify(signed.as_bytes(), &signature)
            .ok()?;
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }

    /// The public key as a JSON Web Key Set.
    pub fn key_set(&self) -> Value {
        // An uncompressed point: a tag byte, then x and y of 32 bytes each.
        let point = self.key.public_key().as_ref();
        json!({ "keys": [{
            "use": "sig", "kty": "EC", "kid": self.key_id, "crv": "P-256", "alg": "ES256",
            "x": BASE64_URL_SAFE_NO_PAD.encode(&point[1..33]),
            "y": BASE64_URL_SAFE_NO_PAD.encode(&point[33..65]),
        }]})
    }
}

/// The user name of a service account.
pub(crate) fn username(namespace: &str, name: &str) -> String {
    format!("{USER_PREFIX}{namespace}:{name}")
}

/// The namespace and name behind a service account's user name.
pub(crate) fn split_username(user: &str) -> Option<(&str, &str)> {
    user.strip_prefix(USER_PREFIX)?.split_once(':')
}

/// The groups every service account of a namespace is in.
pub(crate) fn groups(namespace: &str) -> Vec<String> {
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
        AUTHENTICATED.to_owned(),
    ]
}

/// What a token is bound to beside its service account: the claim's name and the collection.
const BINDINGS: [(&str, &str); 3] = [("pod", "pods"), ("secret", "secrets"), ("node", "nodes")];

/// The user of a valid token and the wanted audiences it has.
pub(crate) fn verify(api: &Api, token: &str, wanted: &[String]) -> Option<(User, Vec<String>)> {
    let claims = api.signer.open(token)?;
    match claims.get("iss")?.as_str()? {
        ISSUER => verify_bound(api, &claims, wanted),
        kept::KEPT_ISSUER => kept::verify(api, token, &claims, wanted),
        _ => None,
    }
}

/// The same for a token that ends by itself.
fn verify_bound(api: &Api, claims: &Value, wanted: &[String]) -> Option<(User, Vec<String>)> {
    if !is_valid_at(claims, Timestamp::now()) {
        return None;
    }
    let audiences = audiences(claims, wanted)?;
    let (namespace, name) = split_username(claims.get("sub")?.as_str()?)?;
    let private = claims.get("kubernetes.io")?;
    let account_uid = private.pointer("/serviceaccount/uid")?.as_str()?;
    if !is_alive(api, "serviceaccounts", namespace, name, account_uid) {
        return None;
    }
    let mut user = User {
        name: username(namespace, name),
        uid: account_uid.to_owned(),
        groups: groups(namespace),
        ..User::default()
    };
    for (claim, plural) in BINDINGS {
        if let Some(bound) = private.get(claim) {
            // A pod's token names its node too; the node may be long gone while the pod ends.
            let is_informational = claim == "node" && private.get("pod").is_some();
            let bound_namespace = if claim == "node" { "" } else { namespace };
            let (bound_name, bound_uid) = name_and_uid(bound)?;
            if !is_informational && !is_alive(api, plural, bound_namespace, bound_name, bound_uid) {
                return None;
            }
            if claim != "secret" {
                tell(&mut user, &format!("{claim}-name"), bound_name);
                tell(&mut user, &format!("{claim}-uid"), bound_uid);
            }
        }
    }
    if let Some(id) = claims.get("jti").and_then(Value::as_str) {
        tell(&mut user, "credential-id", &format!("JTI={id}"));
    }
    Some((user, audiences))
}

fn is_valid_at(claims: &Value, now: Timestamp) -> bool {
    /// Clocks differ a little.
    const SKEW: i64 = 5;
    let second = |name: &str| claims.get(name).and_then(Value::as_i64);
    second("exp").is_some_and(|end| end > now.as_second())
        && second("nbf").is_none_or(|start| start <= now.as_second() + SKEW)
}

/// The wanted audiences a token is for, if there are any.
fn audiences(claims: &Value, wanted: &[String]) -> Option<Vec<String>> {
    let named = claims.get("aud")?.as_array()?.iter().filter_map(Value::as_str);
    let found: Vec<String> = named
        .filter(|audience| wanted.iter().any(|wanted| wanted == audience))
        .map(str::to_owned)
        .collect();
    (!found.is_empty()).then_some(found)
}

/// What a token is bound to. Of the node a pod's token names only the name may be known.
fn name_and_uid(bound: &Value) -> Option<(&str, &str)> {
    Some((bound.get("name")?.as_str()?, kinds::read::text(bound, "uid")))
}

/// Adds what is known of a user beside who it is.
fn tell(user: &mut User, field: &str, value: &str) {
    if !value.is_empty() {
        let key = format!("authentication.kubernetes.io/{field}");
        user.extra.insert(key, vec![value.to_owned()]);
    }
}

/// A token outlives the deletion of what it is bound to for this long, while that winds down.
const AFTERLIFE: SignedDuration = SignedDuration::from_mins(1);

/// Whether the object is there, is the same one, and is not long past its deletion.
fn is_alive(api: &Api, plural: &str, namespace: &str, name: &str, uid: &str) -> bool {
    api.store
        .get(&Collection::new("", plural), namespace, name)
        .and_then(|stored| object::readable(&stored))
        .is_some_and(|object| {
            let deleted = crate::object::meta_text(&object, "deletionTimestamp");
            let is_past = deleted
                .parse::<Timestamp>()
                .is_ok_and(|deleted| Timestamp::now().duration_since(deleted) > AFTERLIFE);
            crate::object::uid(&object) == uid && !is_past
        })
}
