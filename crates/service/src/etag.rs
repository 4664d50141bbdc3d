//! Versions of what can be changed: clients say which one they have seen, so that nobody undoes what another did.

use http::{HeaderMap, header};

use crate::problem::{Code, Outcome, Problem};

/// The tag of a version.
pub(crate) fn tag(version: &str) -> String {
    format!("\"{version}\"")
}

/// Whether a client has this version already.
pub(crate) fn is_known(headers: &HeaderMap, version: &str) -> bool {
    listed(headers, &header::IF_NONE_MATCH).is_some_and(|tags| matches(&tags, version, true))
}

/// What a change is conditional on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// Refuses a change of something that is not as the client thinks.
pub(crate) fn check(headers: &HeaderMap, version: &str, need: Need) -> Outcome<()> {
    match listed(headers, &header::IF_MATCH) {
        Some(tags) if matches(&tags, version, false) => Ok(()),
        Some(_) => Err(Problem::new(
            Code::Changed,
            "it has changed since; read it again and send its new ETag in `If-Match`",
        )),
        None if need == Need::Required => Err(Problem::new(
            Code::VersionRequired,
            "send the ETag of what you change in `If-Match`, or `*` to change it whatever it is",
        )),
        None => Ok(()),
    }
}

fn listed(headers: &HeaderMap, name: &header::HeaderName) -> Option<Vec<String>> {
    let mut values = headers.get_all(name).iter().peekable();
    values.peek()?;
    let texts = values.filter_map(|value| value.to_str().ok());
    Some(
        texts
            .flat_map(|text| text.split(',').map(|tag| tag.trim().to_owned()))
            .collect(),
    )
}

/// Weak tags count for reading, not for changing.
fn matches(tags: &[String], version: &str, takes_weak: bool) -> bool {
    let own = tag(version);
    tags.iter().any(|given| {
        let given = match given.strip_prefix("W/") {
            Some(weak) if takes_weak => weak,
            _ => given,
        };
        given == "*" || given == own
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn a_change_names_the_version_it_changes() {
        let check = |value| check(&headers(header::IF_MATCH, value), "7", Need::Required);
        assert_eq!(check("\"7\""), Ok(()));
        assert_eq!(check("*"), Ok(()));
        assert_eq!(check("\"6\", \"7\""), Ok(()));
        for stale in ["\"6\"", "7", "W/\"7\"", ""] {
            assert_eq!(check(stale).unwrap_err().code, Code::Changed, "{stale}");
        }
        let nothing = HeaderMap::new();
        let code = super::check(&nothing, "7", Need::Required).unwrap_err().code;
        assert_eq!(code, Code::VersionRequired);
        assert_eq!(super::check(&nothing, "7", Need::Optional), Ok(()));
    }

    #[test]
    fn a_reader_who_has_it_gets_nothing() {
        assert!(is_known(&headers(header::IF_NONE_MATCH, "W/\"7\""), "7"));
        assert!(!is_known(&headers(header::IF_NONE_MATCH, "\"6\""), "7"));
        assert!(!is_known(&HeaderMap::new(), "7"));
    }
}
