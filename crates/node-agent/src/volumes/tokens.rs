//! Tokens of service accounts for pods, fetched ahead of time and renewed before they expire.

use std::{collections::HashMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    authentication::v1 as authentication,
    core::v1::{Pod, ServiceAccount},
};
use kube::{Api, Client, api::PostParams};
use parking_lot::Mutex;

use super::content::{self, TokenRequest};

/// However long a token lives, it is not used for longer.
const LONGEST_USE: SignedDuration = SignedDuration::from_hours(24);
/// When a renewal failed and the token is still good.
const AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// The tokens of all pods of this node.
pub struct Tokens {
    client: Client,
    known: Mutex<HashMap<Key, Known>>,
}

/// A pod, and what it asked for.
type Key = (String, TokenRequest);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    Token(Token),
    /// Why there is none.
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    text: String,
    renew: Timestamp,
    expires: Timestamp,
}

impl Tokens {
    pub fn new(client: Client) -> Self {
        Self {
            client,
            known: Mutex::new(HashMap::new()),
        }
    }

    /// Fetches the tokens the pod's volumes ask for, where there is none or it is time for another.
    /// Returns how long they will do.
    pub async fn refresh(&self, pod: &Pod, now: Timestamp) -> Option<Duration> {
        let mut next: Option<Timestamp> = None;
        for request in content::tokens(pod) {
            let key = (uid(pod).to_owned(), request);
            let before = self.known.lock().get(&key).cloned();
            let known = match before {
                Some(Known::Token(token)) if now < token.renew => Known::Token(token),
                before => after_fetch(before, self.fetch(pod, &key.1).await, now),
            };
            if let Known::Token(token) = &known {
                next = Some(next.map_or(token.renew, |next| next.min(token.renew)));
            }
            self.known.lock().insert(key, known);
        }
        next.map(|next| Duration::try_from(next.duration_since(now)).unwrap_or_default())
    }

    /// What was fetched last, for [`super::VolumeSources::token`].
    pub fn get(&self, pod: &Pod, request: &TokenRequest) -> Result<String, String> {
        let key = (uid(pod).to_owned(), request.clone());
        match self.known.lock().get(&key) {
            Some(Known::Token(token)) => Ok(token.text.clone()),
            Some(Known::Refused(reason)) => Err(reason.clone()),
            None => Err("not asked for yet".to_owned()),
        }
    }

    /// For pods that are gone.
    pub fn forget(&self, pod_uid: &str) {
        self.known.lock().retain(|(uid, _), _| uid != pod_uid);
    }

    async fn fetch(&self, pod: &Pod, wanted: &TokenRequest) -> Result<Token, String> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let account = pod
            .spec
            .as_ref()
            .and_then(|spec| spec.service_account_name.as_deref());
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let name = account.unwrap_or("default");
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request(pod, wanted))
            .await;
        match answer {
            Ok(answer) => token(answer, wanted.seconds),
            Err(kube::Error::Api(status)) => Err(status.message.clone()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn uid(pod: &Pod) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

/// A token that is good for nothing once the pod is gone.
fn request(pod: &Pod, wanted: &TokenRequest) -> authentication::TokenRequest {
    let audience = Some(wanted.audience.clone()).filter(|audience| !audience.is_empty());
    authentication::TokenRequest {
        spec: authentication::TokenRequestSpec {
            audiences: audience.into_iter().collect(),
            expiration_seconds: Some(wanted.seconds),
            bound_object_ref: Some(authentication::BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: pod.metadata.name.clone(),
                uid: pod.metadata.uid.clone(),
            }),
        },
        ..authentication::TokenRequest::default()
    }
}

fn token(answer: authentication::TokenRequest, asked_seconds: i64) -> Result<Token, String> {
    let status = answer.status.ok_or("the answer has no token")?;
    let seconds = answer.spec.expiration_seconds.unwrap_or(asked_seconds);
    let expires = status.expiration_timestamp.0;
    Ok(Token {
        text: status.token,
        renew: renewal(expires, seconds),
        expires,
    })
}

/// After four fifths of its life, and after a day at the latest.
fn renewal(expires: Timestamp, seconds: i64) -> Timestamp {
    let life = SignedDuration::from_secs(seconds);
    let issued = expires.saturating_sub(life).unwrap_or(expires);
    let used = (life * 4 / 5).min(LONGEST_USE);
    issued.saturating_add(used).unwrap_or(expires)
}

/// A token that still works is better than none.
fn after_fetch(before: Option<Known>, fetched: Result<Token, String>, now: Timestamp) -> Known {
    match (fetched, before) {
        (Ok(token), _) => Known::Token(token),
        (Err(_), Some(Known::Token(token))) if now < token.expires => Known::Token(Token {
            renew: now.saturating_add(AGAIN).unwrap_or(now),
            ..token
        }),
        (Err(reason), _) => Known::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn good_until(expires: i64) -> Token {
        Token {
            text: "t".to_owned(),
            renew: at(0),
            expires: at(expires),
        }
    }

    #[test]
    fn tokens_are_renewed_after_four_fifths_of_their_life_or_a_day() {
        assert_eq!(renewal(at(3600), 3600), at(2880));
        assert_eq!(renewal(at(365 * 86_400), 365 * 86_400), at(86_400));
    }

    #[test]
    fn a_refused_renewal_keeps_what_still_works() {
        let refused = || Err("gone".to_owned());
        let kept = after_fetch(Some(Known::Token(good_until(100))), refused(), at(50));
        assert!(matches!(kept, Known::Token(token) if token.renew == at(80)));
        let lost = after_fetch(Some(Known::Token(good_until(100))), refused(), at(100));
        assert_eq!(lost, Known::Refused("gone".to_owned()));
        assert_eq!(
            after_fetch(None, Ok(good_until(9)), at(0)),
            Known::Token(good_until(9))
        );
    }
}
