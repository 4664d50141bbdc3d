//! Leaving HTTP: what a client asks to switch to, what is agreed on, and the answer that says so.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use ring::digest;

use crate::{
    error::{ApiError, Result},
    response::{self, Answer},
};

const SPDY: &str = "SPDY/3.1";
const STREAM_PROTOCOL: HeaderName = HeaderName::from_static("x-stream-protocol-version");
const ACCEPTED_PROTOCOLS: HeaderName = HeaderName::from_static("x-accepted-stream-protocol-versions");
/// What the answer to a WebSocket's key is made with.
const KEY_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// What a client asks to switch to, and the protocols it could speak then, best first.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    WebSocket { key: String, protocols: Vec<String> },
    Spdy { protocols: Vec<String> },
}

/// Why the connection stays what it is, as the real server's node says it: plain text.
#[derive(Debug)]
pub(super) struct Refusal {
    code: StatusCode,
    text: String,
    accepted: &'static [&'static str],
}

pub(super) fn is_upgrade(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CONNECTION).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.to_ascii_lowercase().contains("upgrade"))
}

pub(super) fn is_websocket(headers: &HeaderMap) -> bool {
    let wanted = headers.get(header::UPGRADE).map(HeaderValue::as_bytes);
    is_upgrade(headers) && wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(b"websocket"))
}

impl Wanted {
    /// A request that asks for nothing of this kind is a mistake.
    pub(super) fn read(headers: &HeaderMap) -> Result<Self> {
        if !is_upgrade(headers) {
            return Err(ApiError::bad_request("Upgrade request required"));
        }
        let text = |name: &HeaderName| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().trim().to_owned()
        };
        if text(&header::UPGRADE).eq_ignore_ascii_case("websocket") {
            let (key, version) = (
                text(&header::SEC_WEBSOCKET_KEY),
                text(&header::SEC_WEBSOCKET_VERSION),
            );
            if key.is_empty() || version != "13" {
                return Err(ApiError::bad_request(
                    "a WebSocket needs a Sec-WebSocket-Key and Sec-WebSocket-Version 13",
                ));
            }
            let protocols = listed(headers, &header::SEC_WEBSOCKET_PROTOCOL);
            return Ok(Self::WebSocket { key, protocols });
        }
        if text(&header::UPGRADE)
            .to_ascii_lowercase()
            .contains(&SPDY.to_ascii_lowercase())
        {
            let protocols = listed(headers, &STREAM_PROTOCOL);
            return Ok(Self::Spdy { protocols });
        }
        Err(ApiError::bad_request(
            "unable to upgrade: missing upgrade headers in request",
        ))
    }
}

/// The values of a header that may be repeated or separated by commas.
fn listed(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let values = headers.get_all(name).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|protocol| protocol.trim().to_owned())
        .filter(|protocol| !protocol.is_empty())
        .collect()
}

/// The first protocol the client names that is known here.
pub(super) fn first_known(
    offered: &[String],
    known: &'static [&'static str],
) -> Result<&'static str, Refusal> {
    offered
        .iter()
        .find_map(|offer| known.iter().find(|protocol| *protocol == offer))
        .copied()
        .ok_or_else(|| Refusal {
            code: StatusCode::FORBIDDEN,
            text: format!(
                "unable to upgrade: unable to negotiate protocol: client supports [{}], server accepts [{}]",
                offered.join(" "),
                known.join(" ")
            ),
            accepted: known,
        })
}

impl Refusal {
    pub(super) fn new(code: StatusCode, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
            accepted: &[],
        }
    }

    pub(super) fn no_protocol() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "unable to upgrade: X-Stream-Protocol-Version is required",
        )
    }

    pub(super) fn into_answer(self) -> Answer {
        let mut answer = response::text(self.code, format!("{}\n", self.text));
        for protocol in self.accepted {
            answer
                .headers_mut()
                .append(ACCEPTED_PROTOCOLS, HeaderValue::from_static(protocol));
        }
        answer
    }
}

/// The answer after which the connection is a WebSocket.
pub(super) fn to_websocket(key: &str, protocol: &str) -> Answer {
    let mut hash = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(key.as_bytes());
    hash.update(KEY_SUFFIX);
    let accept = BASE64_STANDARD.encode(hash.finish());
    let mut answer = switching("websocket");
    let headers = answer.headers_mut();
    put(headers, header::SEC_WEBSOCKET_ACCEPT, &accept);
    if !protocol.is_empty() {
        put(headers, header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    answer
}

/// The answer after which the connection speaks SPDY.
pub(super) fn to_spdy(protocol: &str) -> Answer {
    let mut answer = switching(SPDY);
    put(answer.headers_mut(), STREAM_PROTOCOL, protocol);
    answer
}

fn switching(to: &'static str) -> Answer {
    let mut answer = Answer::new(response::full(Bytes::new()));
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = answer.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static(to));
    answer
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn a_websocket_is_agreed_on_as_the_standard_says() {
        let answer = to_websocket("dGhlIHNhbXBsZSBub25jZQ==", "v5.channel.k8s.io");
        assert_eq!(
            answer.headers()[header::SEC_WEBSOCKET_ACCEPT],
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
    }

    #[test]
    fn what_a_client_wants_is_in_its_headers() {
        let spdy = headers(&[
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "SPDY/3.1"),
            (
                "x-stream-protocol-version",
                "v5.channel.k8s.io, v4.channel.k8s.io",
            ),
        ]);
        let protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"].map(str::to_owned);
        assert_eq!(
            Wanted::read(&spdy).unwrap(),
            Wanted::Spdy {
                protocols: protocols.to_vec()
            }
        );
        let error = Wanted::read(&headers(&[("upgrade", "websocket")])).unwrap_err();
        assert_eq!(error.message, "Upgrade request required");
    }

    #[test]
    fn without_a_common_protocol_the_client_is_told_what_there_is() {
        let refusal = first_known(&["v9".to_owned()], &["v4", "v3"]).unwrap_err();
        let answer = refusal.into_answer();
        assert_eq!(answer.status(), StatusCode::FORBIDDEN);
        let accepted: Vec<_> = answer.headers().get_all(ACCEPTED_PROTOCOLS).iter().collect();
        assert_eq!(accepted, ["v4", "v3"]);
    }
}
