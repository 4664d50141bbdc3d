//! Tokens of the service's own: how they look, what is kept of them, and who holds one. What is kept cannot be
//! turned back into the token.

use base64::{Engine as _, prelude::BASE64_STANDARD, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::rand::SecureRandom as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::roles::Grant;

/// What every token begins with, so that one in the wrong place is recognised.
const PREFIX: &str = "ty_";
/// On the Secrets that tokens are kept in.
pub(crate) const LABEL: &str = "trainyard.dev/token";
const TYPE: &str = "trainyard.dev/token";

/// What is known of a token, without the token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Token {
    #[serde(skip)]
    pub(crate) id: String,
    /// Who holds it: the `creator` of what is made with it.
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    pub(crate) grants: Vec<Grant>,
    pub(crate) created_by: String,
    pub(crate) created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
}

impl Token {
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }
}

/// A token nobody has seen before: its identifier, and the text its holder sends.
pub(crate) fn mint() -> Result<(String, String), ring::error::Unspecified> {
    let random = ring::rand::SystemRandom::new();
    let (mut id, mut secret) = ([0; 8], [0; 32]);
    random.fill(&mut id)?;
    random.fill(&mut secret)?;
    let id = crate::hex(&id);
    let text = format!("{PREFIX}{id}_{}", BASE64_URL_SAFE_NO_PAD.encode(secret));
    Ok((id, text))
}

/// The identifier of a token of ours; none where it is somebody else's.
pub(crate) fn id_of(text: &str) -> Option<&str> {
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    let is_id = id.len() == 16 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (is_id && !secret.is_empty()).then_some(id)
}

/// The Secret of a token.
pub(crate) fn secret_name(id: &str) -> String {
    format!("token-{id}")
}

/// What is stored of a token.
pub(crate) fn to_secret(token: &Token, text: &str, namespace: &str) -> Value {
    let encoded = |text: &str| BASE64_STANDARD.encode(text);
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": secret_name(&token.id),
            "namespace": namespace,
            "labels": {LABEL: "true"},
        },
        "type": TYPE,
        "immutable": true,
        "data": {"hash": encoded(&hash(text)), "token": encoded(&json!(token).to_string())},
    })
}

/// The token of a Secret, and its hash; none where the Secret holds none.
pub(crate) fn from_secret(secret: &Value) -> Option<(Token, String)> {
    let decoded = |key: &str| {
        let bytes = BASE64_STANDARD.decode(secret["data"][key].as_str()?).ok()?;
        String::from_utf8(bytes).ok()
    };
    let id = secret["metadata"]["name"].as_str()?.strip_prefix("token-")?;
    if secret["type"] != TYPE {
        return None;
    }
    let mut token: Token = serde_json::from_str(&decoded("token")?).ok()?;
    id.clone_into(&mut token.id);
    Some((token, decoded("hash")?))
}

/// Tokens have 32 random bytes, so that nobody finds one by trying, whatever they are hashed with.
pub(crate) fn hash(text: &str) -> String {
    crate::hex(&Sha256::digest(text))
}

/// Whether a token has this hash, in a time that does not tell how much of it is right.
pub(crate) fn is_right(text: &str, expected: &str) -> bool {
    let found = hash(text);
    let differences = found
        .bytes()
        .zip(expected.bytes())
        .fold(0, |all, (one, other)| all | (one ^ other));
    found.len() == expected.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Role;

    #[test]
    fn what_is_stored_knows_the_token_and_does_not_hold_it() {
        let (id, text) = mint().unwrap();
        check_what_is_stored(id, &text);
    }

    #[test]
    fn a_secret_part_may_have_the_character_that_parts_a_token() {
        let id = "0123456789abcdef".to_owned();
        check_what_is_stored(id.clone(), &format!("{PREFIX}{id}_{}_e", "A".repeat(41)));
    }

    fn check_what_is_stored(id: String, text: &str) {
        let token = Token {
            id: id.clone(),
            name: "ada".to_owned(),
            description: String::new(),
            grants: vec![Grant {
                role: Role::Viewer,
                namespace: "team".to_owned(),
            }],
            created_by: "admin".to_owned(),
            created_at: "2026-01-01T00:00:00Z".parse().unwrap(),
            expires_at: None,
        };
        let secret = to_secret(&token, text, "trainyard-system");
        let secret_part = text.strip_prefix(&format!("{PREFIX}{id}_")).unwrap();
        assert_eq!(secret_part.len(), 43);
        assert!(!secret.to_string().contains(secret_part));
        let (read, hash) = from_secret(&secret).unwrap();
        assert_eq!(read, token);
        assert_eq!(id_of(text), Some(&*id));
        assert!(is_right(text, &hash));
        assert!(!is_right(&format!("{text}x"), &hash));
        assert!(!is_right(text, ""));
    }

    #[test]
    fn tokens_of_others_are_not_taken_for_ours() {
        for text in [
            "",
            "ty_",
            "ty_0123456789abcdef_",
            "ty_../../x_y",
            "eyJhbGciOi",
            "ty_0123456789ABCDEF_x",
        ] {
            assert_eq!(id_of(text), None, "{text}");
        }
    }

    #[test]
    fn a_token_ends_at_its_time() {
        let mut secret = json!({"metadata": {"name": "token-1"}, "type": TYPE});
        assert!(from_secret(&secret).is_none());
        secret["data"] = json!({"hash": "", "token": BASE64_STANDARD.encode(
            r#"{"name":"a","grants":[],"created_by":"b","created_at":"2026-01-01T00:00:00Z","expires_at":"2026-01-02T00:00:00Z"}"#)});
        let (token, _) = from_secret(&secret).unwrap();
        assert!(!token.is_expired("2026-01-01T23:59:59Z".parse().unwrap()));
        assert!(token.is_expired("2026-01-02T00:00:00Z".parse().unwrap()));
    }
}
