//! Which headers go through a proxy, and which are between neighbours only.

use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};

use super::links::Links;
use crate::{
    call::Call,
    streams::{Incoming, Peer},
};

/// What concerns one connection.
const NEIGHBOURLY: [&str; 9] = [
    "connection",
    "proxy-connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");

/// The headers of a request as its backend sees them. Pages are to come as they are, so that links on
/// them can be corrected.
pub(super) fn for_the_backend(call: &Call, incoming: &Incoming, links: &Links) -> HeaderMap {
    let mut headers = call.headers.clone();
    remove_neighbourly(&mut headers);
    headers.remove(header::ACCEPT_ENCODING);
    prepare(&mut headers, &incoming.uri, incoming.peer);
    if let Ok(uri) = HeaderValue::from_str(&format!(
        "{}{}",
        links.prefix,
        incoming
            .uri
            .path()
            .strip_prefix(&links.prefix)
            .unwrap_or_default()
    )) {
        headers.insert(FORWARDED_URI, uri);
    }
    headers
}

/// The same for a request to leave HTTP, which is all about the connection.
pub(super) fn for_an_upgrade(call: &Call, uri: &Uri, peer: Option<Peer>) -> HeaderMap {
    let mut headers = call.headers.clone();
    prepare(&mut headers, uri, peer);
    headers
}

/// The backend learns who asks, but not with which rights.
fn prepare(headers: &mut HeaderMap, uri: &Uri, peer: Option<Peer>) {
    if let Ok(host) = HeaderValue::from_str(&host(headers, uri)) {
        headers.insert(header::HOST, host);
    }
    headers.remove(header::AUTHORIZATION);
    let impersonating: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with("impersonate-"))
        .cloned()
        .collect();
    for name in impersonating {
        headers.remove(name);
    }
    let Some(Peer(peer)) = peer else { return };
    let before = headers.get(&FORWARDED_FOR).and_then(|value| value.to_str().ok());
    let chain = match before {
        Some(before) => format!("{before}, {}", peer.ip()),
        None => peer.ip().to_string(),
    };
    if let Ok(chain) = HeaderValue::from_str(&chain) {
        headers.insert(FORWARDED_FOR, chain);
    }
}

/// The host a client asked; with HTTP/2 it is part of the address.
pub(super) fn host(headers: &HeaderMap, uri: &Uri) -> String {
    let header = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    let authority = uri.authority().map(http::uri::Authority::as_str);
    header.or(authority).unwrap_or_default().to_owned()
}

/// Takes from an answer what is not for the client.
pub(super) fn for_the_client(headers: &mut HeaderMap) {
    remove_neighbourly(headers);
    for name in [
        header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        header::ACCESS_CONTROL_ALLOW_METHODS,
        header::ACCESS_CONTROL_ALLOW_ORIGIN,
    ] {
        headers.remove(name);
    }
}

fn remove_neighbourly(headers: &mut HeaderMap) {
    let listed: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    for name in listed.iter().map(String::as_str).chain(NEIGHBOURLY) {
        headers.remove(name);
    }
}

/// Whether the body is a page whose text can be read.
pub(super) fn is_plain_html(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let kind = text(header::CONTENT_TYPE);
    kind.split(';').next().unwrap_or_default().trim() == "text/html"
        && text(header::CONTENT_ENCODING).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_concerns_a_connection_stays_on_it() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Secret"),
            ("x-secret", "1"),
            ("te", "x"),
            ("accept", "*/*"),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        remove_neighbourly(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["accept"]);
    }

    #[test]
    fn a_backend_never_sees_credentials() {
        let mut headers = HeaderMap::new();
        for name in ["authorization", "impersonate-user", "impersonate-extra-x"] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("secret"));
        }
        let peer = Peer("10.1.2.3:4".parse().unwrap());
        prepare(&mut headers, &Uri::from_static("/"), Some(peer));
        assert_eq!(headers[FORWARDED_FOR], "10.1.2.3");
        assert!(headers.values().all(|value| value != "secret"));
    }
}
