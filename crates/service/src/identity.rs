//! Who asks and what they may: by tokens of the service's own, or by those of the cluster, whose rights the
//! cluster is asked for.

use std::{
    collections::HashMap,
    hash::Hash,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    objects::{About as _, Folder, Objects},
    problem::{Code, Outcome, Problem},
    roles::{self, EVERYWHERE, Grant, Right},
    tokens,
};

/// So long an answer about somebody is believed: a token that is revoked ends after so long on other replicas.
const BELIEVED: Duration = Duration::from_secs(5);
/// So many answers are kept.
const KEPT: usize = 10_000;
/// The longest token that is looked at; those of a cluster are long.
const LONGEST: usize = 16 * 1024;

/// Somebody who is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) held: Held,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Held {
    /// A token of the service's own.
    Token {
        id: String,
        grants: Vec<Grant>,
        expires_at: Option<Timestamp>,
    },
    /// One of the cluster's.
    Cluster {
        uid: String,
        groups: Vec<String>,
        extra: Value,
    },
}

impl Identity {
    /// The namespace that is meant where none is named: that of a token that has rights in one alone.
    pub(crate) fn namespace(&self) -> &str {
        const DEFAULT: &str = "default";
        match &self.held {
            Held::Token { grants, .. } => match grants.as_slice() {
                [first, rest @ ..]
                    if first.namespace != EVERYWHERE
                        && rest.iter().all(|grant| grant.namespace == first.namespace) =>
                {
                    &first.namespace
                }
                _ => DEFAULT,
            },
            Held::Cluster { .. } => DEFAULT,
        }
    }

    pub(crate) fn token(&self) -> Option<&str> {
        match &self.held {
            Held::Token { id, .. } => Some(id),
            Held::Cluster { .. } => None,
        }
    }

    pub(crate) fn json(&self) -> Value {
        let mut value = json!({"name": self.name, "namespace": self.namespace()});
        match &self.held {
            Held::Token {
                grants, expires_at, ..
            } => {
                value["kind"] = json!("token");
                value["grants"] = json!(grants);
                if let Some(expires_at) = expires_at {
                    value["expires_at"] = json!(expires_at);
                }
            }
            Held::Cluster { groups, .. } => {
                value["kind"] = json!("kubernetes");
                value["groups"] = json!(groups);
            }
        }
        value
    }
}

/// Answers that are believed for a moment.
struct Believed<K, V> {
    answers: Mutex<HashMap<K, (Instant, V)>>,
}

impl<K: Eq + Hash, V: Clone> Believed<K, V> {
    fn new() -> Self {
        Self {
            answers: Mutex::default(),
        }
    }

    fn get(&self, key: &K, now: Instant) -> Option<V> {
        let answers = self.answers.lock();
        let (at, answer) = answers.get(key)?;
        is_believed(*at, now).then(|| answer.clone())
    }

    fn put(&self, key: K, answer: V, now: Instant) {
        let mut answers = self.answers.lock();
        if answers.len() >= KEPT {
            answers.retain(|_, (at, _)| is_believed(*at, now));
        }
        if answers.len() < KEPT {
            answers.insert(key, (now, answer));
        }
    }

    fn forget(&self) {
        self.answers.lock().clear();
    }
}

fn is_believed(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < BELIEVED
}

/// Knows everybody.
pub(crate) struct Doorkeeper {
    objects: Objects,
    /// Where tokens are.
    folder: Folder,
    known: Believed<String, Identity>,
    allowed: Believed<(String, Vec<String>, Right, String), bool>,
}

impl Doorkeeper {
    pub(crate) fn new(objects: Objects, namespace: &str) -> Self {
        Self {
            objects,
            folder: Folder::core(namespace, "secrets"),
            known: Believed::new(),
            allowed: Believed::new(),
        }
    }

    /// Whose the token of an `Authorization` header is.
    pub(crate) async fn identify(&self, authorization: Option<&http::HeaderValue>) -> Outcome<Identity> {
        let unknown = |detail: &str| Problem::new(Code::Unauthenticated, detail);
        let header = authorization.ok_or_else(|| unknown("send a token: `Authorization: Bearer ty_…`"))?;
        let text = header.to_str().ok().and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let token = text
            .filter(|token| !token.is_empty() && token.len() <= LONGEST)
            .ok_or_else(|| unknown("`Authorization` is not of the form `Bearer TOKEN`"))?;
        let key = tokens::hash(token);
        let identity = if let Some(identity) = self.known.get(&key, Instant::now()) {
            identity
        } else {
            let found = match tokens::id_of(token) {
                Some(id) => self.of_token(id, token).await?,
                None => self.of_cluster(token).await?,
            };
            let identity = found.ok_or_else(|| unknown("the token is unknown, revoked or has ended"))?;
            self.known.put(key, identity.clone(), Instant::now());
            identity
        };
        match &identity.held {
            Held::Token {
                expires_at: Some(end),
                ..
            } if *end <= Timestamp::now() => Err(unknown("the token is unknown, revoked or has ended")),
            _ => Ok(identity),
        }
    }

    async fn of_token(&self, id: &str, text: &str) -> Outcome<Option<Identity>> {
        let secret = self
            .objects
            .find(&self.folder, &tokens::secret_name(id))
            .await
            .about("token", id)?;
        let found = secret.as_ref().and_then(tokens::from_secret);
        Ok(found.and_then(|(token, hash)| {
            tokens::is_right(text, &hash).then_some(Identity {
                name: token.name,
                held: Held::Token {
                    id: token.id,
                    grants: token.grants,
                    expires_at: token.expires_at,
                },
            })
        }))
    }

    async fn of_cluster(&self, token: &str) -> Outcome<Option<Identity>> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        });
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let answer = self
            .objects
            .review(path, &review)
            .await
            .about("review of", "a token")?;
        let status = &answer["status"];
        if status["authenticated"] != true {
            return Ok(None);
        }
        let user = &status["user"];
        let groups = user["groups"].as_array().into_iter().flatten();
        Ok(user["username"].as_str().map(|name| Identity {
            name: name.to_owned(),
            held: Held::Cluster {
                uid: user["uid"].as_str().unwrap_or_default().to_owned(),
                groups: groups.filter_map(Value::as_str).map(str::to_owned).collect(),
                extra: user["extra"].clone(),
            },
        }))
    }

    /// Whether somebody may do something in a namespace, or in all with `*`.
    pub(crate) async fn allows(&self, identity: &Identity, right: Right, namespace: &str) -> Outcome<bool> {
        let (uid, groups, extra) = match &identity.held {
            Held::Token { grants, .. } => return Ok(roles::allowed(grants, right, namespace)),
            Held::Cluster { uid, groups, extra } => (uid, groups, extra),
        };
        let namespace = if namespace == EVERYWHERE || right.resource.is_cluster_wide() {
            ""
        } else {
            namespace
        };
        let key = (identity.name.clone(), groups.clone(), right, namespace.to_owned());
        if let Some(answer) = self.allowed.get(&key, Instant::now()) {
            return Ok(answer);
        }
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": identity.name,
                "uid": uid,
                "groups": groups,
                "extra": if extra.is_object() { extra.clone() } else { json!({}) },
                "resourceAttributes": {
                    "namespace": namespace,
                    "verb": right.verb.name(),
                    "group": resources::tasks::GROUP,
                    "resource": right.resource.plural(),
                    "subresource": right.resource.subresource(),
                },
            },
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = self
            .objects
            .review(path, &review)
            .await
            .about("review of", "a right")?;
        let is_allowed = answer["status"]["allowed"] == true;
        self.allowed.put(key, is_allowed, Instant::now());
        Ok(is_allowed)
    }

    /// Refuses what somebody may not do.
    pub(crate) async fn check(&self, identity: &Identity, right: Right, namespace: &str) -> Outcome<()> {
        if self.allows(identity, right, namespace).await? {
            return Ok(());
        }
        let place = if right.resource.is_cluster_wide() || namespace == EVERYWHERE {
            "everywhere".to_owned()
        } else {
            format!("in the namespace `{namespace}`")
        };
        Err(Problem::new(
            Code::Forbidden,
            format!(
                "`{}` may not {} {} {place}",
                identity.name,
                right.verb.name(),
                right.resource.plural()
            ),
        ))
    }

    /// A token was revoked: what was believed of it is not any more.
    pub(crate) fn forget(&self) {
        self.known.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Role;

    fn holder(namespaces: &[&str]) -> Identity {
        let grants = namespaces.iter().map(|namespace| Grant {
            role: Role::Submitter,
            namespace: (*namespace).to_owned(),
        });
        Identity {
            name: "ada".to_owned(),
            held: Held::Token {
                id: String::new(),
                grants: grants.collect(),
                expires_at: None,
            },
        }
    }

    #[test]
    fn a_token_for_one_namespace_means_it() {
        assert_eq!(holder(&["team"]).namespace(), "team");
        assert_eq!(holder(&["team", "team"]).namespace(), "team");
        assert_eq!(holder(&["team", "other"]).namespace(), "default");
        assert_eq!(holder(&["*"]).namespace(), "default");
        assert_eq!(holder(&[]).namespace(), "default");
    }

    #[test]
    fn answers_are_believed_for_a_moment_and_not_without_end() {
        let (believed, start) = (Believed::new(), Instant::now());
        for number in 0..=KEPT {
            believed.put(number, true, start);
        }
        assert_eq!(believed.answers.lock().len(), KEPT);
        assert_eq!(believed.get(&1, start), Some(true));
        assert_eq!(believed.get(&KEPT, start), None, "there was no room for it");
        let later = start + BELIEVED;
        assert_eq!(believed.get(&1, later), None);
        believed.put(KEPT, true, later);
        assert_eq!(believed.answers.lock().len(), 1, "what is old makes room");
        believed.forget();
        assert_eq!(believed.get(&KEPT, later), None);
    }
}
