//! Acting as somebody else: whom the `Impersonate-*` headers ask for, and the rights it takes.

use http::HeaderMap;

use crate::{
    authentication::{AUTHENTICATED, User},
    authorization::Attributes,
    error::{ApiError, Result},
    tokens,
};

/// Somebody a request wants to act as.
pub(crate) struct Impersonation {
    /// With the groups everybody like them is in.
    pub(crate) user: User,
    /// The groups that were asked for.
    groups: Vec<String>,
}

impl Impersonation {
    pub(crate) fn read(headers: &HeaderMap) -> Result<Option<Self>> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let Some(name) = text("impersonate-user") else {
            let any = headers
                .keys()
                .any(|name| name.as_str().starts_with("impersonate-"));
            return if any {
                Err(ApiError::internal(
                    "requested &user.DefaultInfo{} to be impersonated without impersonating a user",
                ))
            } else {
                Ok(None)
            };
        };
        let groups: Vec<String> = headers
            .get_all("impersonate-group")
            .iter()
            .filter_map(|value| value.to_str().ok().map(str::to_owned))
            .collect();
        let mut user = User {
            name: name.to_owned(),
            uid: text("impersonate-uid").unwrap_or_default().to_owned(),
            groups: groups.clone(),
            ..User::default()
        };
        for (header, value) in headers {
            let key = header.as_str().strip_prefix("impersonate-extra-");
            if let (Some(key), Ok(value)) = (key, value.to_str()) {
                let key = percent_encoding::percent_decode_str(key).decode_utf8_lossy();
                user.extra
                    .entry(key.into_owned())
                    .or_default()
                    .push(value.to_owned());
            }
        }
        add_implied_groups(&mut user);
        Ok(Some(Self { user, groups }))
    }

    /// Everything the one who asks must be allowed to impersonate.
    pub(crate) fn rights(&self) -> Vec<Attributes<'_>> {
        let mut rights = vec![match tokens::split_username(&self.user.name) {
            Some((namespace, name)) => right("", "serviceaccounts", "", namespace, name),
            None => right("", "users", "", "", &self.user.name),
        }];
        rights.extend(self.groups.iter().map(|group| right("", "groups", "", "", group)));
        for (key, values) in &self.user.extra {
            let of_key = |value| right("authentication.k8s.io", "userextras", key, "", value);
            rights.extend(values.iter().map(|value| of_key(value.as_str())));
        }
        if !self.user.uid.is_empty() {
            rights.push(right("authentication.k8s.io", "uids", "", "", &self.user.uid));
        }
        rights
    }
}

fn right<'a>(
    group: &'a str,
    resource: &'a str,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
) -> Attributes<'a> {
    Attributes::Resource {
        verb: "impersonate",
        group,
        resource,
        subresource,
        namespace,
        name,
    }
}

/// Service accounts are in their groups unless others are asked for; whoever is somebody is
/// authenticated.
fn add_implied_groups(user: &mut User) {
    if user.groups.is_empty()
        && let Some((namespace, _)) = tokens::split_username(&user.name)
    {
        user.groups = tokens::groups(namespace);
    }
    if user.name != "system:anonymous" && !user.groups.iter().any(|group| group == AUTHENTICATED) {
        user.groups.push(AUTHENTICATED.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&'static str, &'static str)]) -> Impersonation {
        let headers = headers
            .iter()
            .map(|(name, value)| {
                (
                    http::HeaderName::from_static(name),
                    http::HeaderValue::from_static(value),
                )
            })
            .collect();
        Impersonation::read(&headers).unwrap().unwrap()
    }

    fn asked(impersonation: &Impersonation) -> Vec<String> {
        let shown = |attributes: &Attributes<'_>| match attributes {
            Attributes::Resource {
                resource,
                subresource,
                namespace,
                name,
                ..
            } => format!("{resource}/{subresource} {namespace}/{name}"),
            Attributes::Path { path, .. } => (*path).to_owned(),
        };
        impersonation.rights().iter().map(shown).collect()
    }

    #[test]
    fn every_header_takes_a_right_of_its_own() {
        let wanted = read(&[
            ("impersonate-user", "jane"),
            ("impersonate-group", "readers"),
            ("impersonate-uid", "5"),
            ("impersonate-extra-a%2fb", "view"),
        ]);
        assert_eq!(
            asked(&wanted),
            [
                "users/ /jane",
                "groups/ /readers",
                "userextras/a/b /view",
                "uids/ /5"
            ]
        );
        assert_eq!(wanted.user.groups, ["readers", AUTHENTICATED]);
    }

    #[test]
    fn an_account_brings_its_groups_which_take_no_right() {
        let wanted = read(&[("impersonate-user", "system:serviceaccount:ns:a")]);
        assert_eq!(asked(&wanted), ["serviceaccounts/ ns/a"]);
        assert_eq!(wanted.user.groups, tokens::groups("ns"));
    }
}
