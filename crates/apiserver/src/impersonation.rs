//! Acting as somebody else: whom the `Impersonate-*` headers ask for, and the rights it takes.

use std::collections::BTreeMap;

use http::HeaderMap;

use crate::{
    authentication::{AUTHENTICATED, UNAUTHENTICATED, User},
    authorization::Attributes,
    tokens,
};

/// Somebody a request wants to act as.
pub(crate) struct Impersonation {
    /// With the groups everybody like them is in.
    pub(crate) user: User,
    /// The groups that were asked for.
    groups: Vec<String>,
}

/// The headers ask for something about a user, and for no user.
#[derive(Debug, thiserror::Error)]
#[error("requested [{}] without impersonating a user", .requested.join(" "))]
pub(crate) struct NoUser {
    /// What they ask for, in the words of the real server.
    requested: Vec<String>,
}

impl Impersonation {
    pub(crate) fn read(headers: &HeaderMap) -> Result<Option<Self>, NoUser> {
        // An empty name is none, and so is an empty uid; an empty group is a group.
        let text = |name: &str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let groups: Vec<String> = headers
            .get_all("impersonate-group")
            .iter()
            .filter_map(|value| value.to_str().ok().map(str::to_owned))
            .collect();
        let mut user = User {
            name: text("impersonate-user"),
            uid: text("impersonate-uid"),
            groups: groups.clone(),
            extra: extra(headers),
        };
        if user.name.is_empty() {
            let requested = described(&user);
            return if requested.is_empty() {
                Ok(None)
            } else {
                Err(NoUser { requested })
            };
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

fn extra(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut extra = BTreeMap::<String, Vec<String>>::new();
    for (header, value) in headers {
        let key = header.as_str().strip_prefix("impersonate-extra-");
        if let (Some(key), Ok(value)) = (key, value.to_str()) {
            let key = percent_encoding::percent_decode_str(key).decode_utf8_lossy();
            extra.entry(key.into_owned()).or_default().push(value.to_owned());
        }
    }
    extra
}

/// Everything but the name of a user, as the real server prints its references: kind, namespace, name,
/// uid, version, resource version and field path.
fn described(user: &User) -> Vec<String> {
    const VERSION: &str = "authentication.k8s.io/v1";
    let groups = user.groups.iter().map(|group| format!("{{Group  {group}    }}"));
    let extra = user.extra.iter().flat_map(|(key, values)| {
        let of_key = move |value| format!("{{UserExtra  {value}  {VERSION}  {key}}}");
        values.iter().map(of_key)
    });
    let uid = Some(&user.uid).filter(|uid| !uid.is_empty());
    let uid = uid.map(|uid| format!("{{UID  {uid}  {VERSION}  }}"));
    groups.chain(extra).chain(uid).collect()
}

/// Service accounts are in their groups unless others are asked for. Whoever is somebody is
/// authenticated and nobody is not, unless they are asked for as what they are not.
fn add_implied_groups(user: &mut User) {
    if user.groups.is_empty()
        && let Some((namespace, _)) = tokens::split_username(&user.name)
    {
        user.groups = tokens::groups(namespace);
    }
    let has = |name: &str| user.groups.iter().any(|group| group == name);
    if user.name == User::anonymous().name {
        if !has(UNAUTHENTICATED) {
            user.groups.push(UNAUTHENTICATED.to_owned());
        }
    } else if !has(AUTHENTICATED) && !has(UNAUTHENTICATED) {
        user.groups.push(AUTHENTICATED.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        headers
            .iter()
            .map(|(name, value)| {
                (
                    http::HeaderName::from_static(name),
                    http::HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    fn read(wanted: &[(&'static str, &'static str)]) -> Impersonation {
        Impersonation::read(&headers(wanted)).unwrap().unwrap()
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

    #[test]
    fn an_empty_name_is_nobody() {
        let nobody = |wanted| Impersonation::read(&headers(wanted)).map(|found| found.is_none());
        assert!(nobody(&[("impersonate-user", ""), ("impersonate-uid", "")]).unwrap());
        let error = nobody(&[
            ("impersonate-user", ""),
            ("impersonate-group", "readers"),
            ("impersonate-extra-scope", "view"),
            ("impersonate-uid", "5"),
        ]);
        assert_eq!(
            error.unwrap_err().to_string(),
            "requested [{Group  readers    } {UserExtra  view  authentication.k8s.io/v1  scope} {UID  5  authentication.k8s.io/v1  }] without impersonating a user"
        );
    }

    #[test]
    fn whether_somebody_is_authenticated_can_be_asked_for() {
        let groups = |wanted| read(wanted).user.groups;
        assert_eq!(
            groups(&[("impersonate-user", "system:anonymous")]),
            [UNAUTHENTICATED]
        );
        assert_eq!(
            groups(&[
                ("impersonate-user", "jane"),
                ("impersonate-group", UNAUTHENTICATED)
            ]),
            [UNAUTHENTICATED]
        );
    }
}
