//! Addresses a backend gives out, made to lead through the proxy again.

use http::{HeaderMap, HeaderValue, header};

/// Where a backend is, for itself and for the client.
#[derive(Clone, Debug)]
pub(super) struct Links {
    /// The path under which the client sees the backend's root.
    pub prefix: String,
    /// The backend's own host and port.
    pub authority: String,
    /// The host the client asked, which the backend may have believed to be its own.
    pub asked_host: String,
}

impl Links {
    /// Corrects where an answer sends the client, if it sends it anywhere.
    pub(super) fn correct_location(&self, headers: &mut HeaderMap) -> bool {
        let Some(location) = headers.get(header::LOCATION) else {
            return false;
        };
        if let Ok(location) = location.to_str()
            && let Ok(corrected) = HeaderValue::from_str(&self.correct(location))
        {
            headers.insert(header::LOCATION, corrected);
        }
        true
    }

    /// An address as the client must write it. Those of other hosts and relative ones stay.
    pub(super) fn correct(&self, address: &str) -> String {
        let (origin, host, path) = split(address);
        let is_elsewhere = !host.is_empty() && host != self.authority && host != self.asked_host;
        if is_elsewhere || !path.starts_with('/') {
            return address.to_owned();
        }
        // The host the client asked is right as it is.
        let origin = if host == self.asked_host { origin } else { "" };
        if path.starts_with(&self.prefix) {
            return format!("{origin}{path}");
        }
        format!("{origin}{}{path}", self.prefix)
    }
}

/// An address as scheme and host, the host alone, and the rest.
fn split(address: &str) -> (&str, &str, &str) {
    let scheme = address.find("//").filter(|index| {
        let before = &address[..*index];
        before.is_empty() || (before.ends_with(':') && !before.contains(['/', '?', '#']))
    });
    let Some(scheme) = scheme else {
        return ("", "", address);
    };
    let after = &address[scheme + 2..];
    let end = after.find(['/', '?', '#']).unwrap_or(after.len());
    (&address[..scheme + 2 + end], &after[..end], &after[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: &str) {
        let links = Links {
            prefix: "/api/v1/namespaces/ns/services/web/proxy".to_owned(),
            authority: "10.0.0.1:80".to_owned(),
            asked_host: "localhost:8001".to_owned(),
        };
        assert_eq!(links.correct(address), expected);
    }

    #[test]
    fn only_the_backends_own_addresses_are_corrected() {
        check("/a?b#c", "/api/v1/namespaces/ns/services/web/proxy/a?b#c");
        check(
            "http://10.0.0.1:80/a/",
            "/api/v1/namespaces/ns/services/web/proxy/a/",
        );
        check(
            "http://localhost:8001/a",
            "http://localhost:8001/api/v1/namespaces/ns/services/web/proxy/a",
        );
        check(
            "/api/v1/namespaces/ns/services/web/proxy/a",
            "/api/v1/namespaces/ns/services/web/proxy/a",
        );
        for same in [
            "a/b",
            "?x",
            "http://example.com/a",
            "//example.com/a",
            "mailto:a@b",
            "#top",
            "",
        ] {
            check(same, same);
        }
        check(
            "/a?next=http://x",
            "/api/v1/namespaces/ns/services/web/proxy/a?next=http://x",
        );
    }
}
