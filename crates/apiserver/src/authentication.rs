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

/// The user behind a request, or 401.
pub(crate) fn authenticate(
    api: &Api,
    path: &str,
    headers: &HeaderMap,
    certificate: Option<&User>,
) -> Result<User> {
    if let Some(token) = bearer_token(headers) {
        return authenticate_token(api, token, &[])
            .map(|(user, _)| user)
            .ok_or_else(ApiError::unauthorized);
    }
    if let Some(user) = certificate {
        return Ok(user.clone());
    }
    if PUBLIC.contains(&path) && !headers.contains_key(http::header::AUTHORIZATION) {
        return Ok(User::anonymous());
    }
    Err(ApiError::unauthorized())
}

/// The user behind a token and the audiences it is good for.
pub(crate) fn authenticate_token(
    api: &Api,
    token: &str,
    audiences: &[String],
) -> Option<(User, Vec<String>)> {
    let own = vec![tokens::ISSUER.to_owned()];
    let wanted = if audiences.is_empty() { &own } else { audiences };
    if same(token.as_bytes(), api.admin_token.as_bytes()) {
        return Some((User::admin(), wanted.to_vec()));
    }
    tokens::verify(api, token, wanted)
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim())
        .filter(|token| !token.is_empty())
}

/// Compares without telling by its time how much was right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (x, y)| difference | (x ^ y)) == 0
}
