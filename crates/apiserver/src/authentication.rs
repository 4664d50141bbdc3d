//! Who is asking: client certificates, the administrator's token, service-account tokens.

use std::collections::BTreeMap;

use http::HeaderMap;
use serde_json::{Value, json};

use crate::{
    api::Api,
    error::{ApiError, Result},
    tokens,
};

/// An authenticated user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

pub(crate) const MASTERS: &str = "system:masters";
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";

/// What anybody may ask, because probes know no secrets.
const PUBLIC: [&str; 3] = ["/healthz", "/livez", "/readyz"];

impl User {
    pub fn new(name: &str, groups: &[&str]) -> Self {
        let groups = groups
            .iter()
            .copied()
            .chain([AUTHENTICATED])
            .map(str::to_owned)
            .collect();
        Self {
            name: name.to_owned(),
            groups,
            ..Self::default()
        }
    }

    /// Somebody who did not say who they are.
    pub fn anonymous() -> Self {
        Self {
            name: "system:anonymous".to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..Self::default()
        }
    }

    /// The administrator whose token is in the kubeconfig.
    pub fn admin() -> Self {
        Self::new("trainyard-admin", &[MASTERS])
    }

    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }

    /// `UserInfo` as reviews and webhooks carry it.
    pub fn to_info(&self) -> Value {
        let mut info = json!({ "username": self.name, "groups": self.groups });
        if !self.uid.is_empty() {
            info["uid"] = self.uid.as_str().into();
        }
        if !self.extra.is_empty() {
            info["extra"] = json!(self.extra);
        }
        info
    }

    /// A user from a `UserInfo` or the spec of a review.
    pub fn from_info(info: &Value, name_field: &str) -> Self {
        let texts = |value: Option<&Value>| {
            value
                .and_then(Value::as_array)
                .map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default()
        };
        let extra = info.get("extra").and_then(Value::as_object);
        Self {
            name: kinds::read::text(info, name_field).to_owned(),
            uid: kinds::read::text(info, "uid").to_owned(),
            groups: texts(info.get("groups")),
            extra: extra
                .map(|map| {
                    map.iter()
                        .map(|(key, value)| (key.clone(), texts(Some(value))))
                        .collect()
                })
                .unwrap_or_default(),
        }
    }
}

/// The user behind a request, or 401. A certificate says it before a token does, which then is not
/// looked at.
pub(crate) fn authenticate(
    api: &Api,
    path: &str,
    headers: &HeaderMap,
    certificate: Option<&User>,
) -> Result<User> {
    if let Some(user) = certificate {
        return Ok(user.clone());
    }
    match bearer_token(headers) {
        Some(token) => authenticate_token(api, token, &[])
            .map(|(user, _)| user)
            .ok_or_else(ApiError::unauthorized),
        None if PUBLIC.contains(&path) => Ok(User::anonymous()),
        None => Err(ApiError::unauthorized()),
    }
}

/// The user behind a token and the audiences it is good for.
pub(crate) fn authenticate_token(
    api: &Api,
    token: &str,
    audiences: &[String],
) -> Option<(User, Vec<String>)> {
    let own = vec![tokens::ISSUER.to_owned()];
    let wanted: &[String] = if audiences.is_empty() { &own } else { audiences };
    if same(token.as_bytes(), api.admin_token.as_bytes()) {
        let is_meant = wanted.iter().any(|audience| audience == tokens::ISSUER);
        return is_meant.then(|| (User::admin(), own));
    }
    tokens::verify(api, token, wanted)
}

/// The second word of the header. One after two spaces is none, and what follows it does not matter.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let mut words = value.trim().split(' ');
    let scheme = words.next()?;
    let token = words.next().filter(|token| !token.is_empty());
    token.filter(|_| scheme.eq_ignore_ascii_case("bearer"))
}

/// Compares without telling by its time how much was right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (x, y)| difference | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header};

    use super::*;

    #[test]
    fn a_token_is_the_second_word_of_its_header() {
        for (value, expected) in [
            ("Bearer abc", Some("abc")),
            ("bearer abc", Some("abc")),
            (" Bearer abc ", Some("abc")),
            ("Bearer abc def", Some("abc")),
            ("Bearer  abc", None),
            ("Bearer", None),
            ("Bearer ", None),
            ("Basic abc", None),
        ] {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))]);
            assert_eq!(bearer_token(&headers), expected, "for {value:?}");
        }
    }
}
