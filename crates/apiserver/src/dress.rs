//! How an answer is dressed for its client: indented for people, compressed when it is long.

use http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::BodyExt as _;

use crate::{
    compression,
    query::Query,
    request_info::RequestInfo,
    response::{self, Answer},
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dress {
    indent: bool,
    compress: bool,
}

impl Dress {
    pub(crate) fn of(query: &Query, headers: &HeaderMap, info: &RequestInfo) -> Self {
        // A stream is sent as it comes.
        if info.is_long_running() {
            return Self::default();
        }
        Self {
            indent: wants_indentation(query, headers),
            compress: compression::is_accepted(headers),
        }
    }

    /// Nobody may keep an answer unless it says otherwise.
    pub(crate) async fn put_on(self, mut answer: Answer) -> Answer {
        let headers = answer.headers_mut();
        headers
            .entry(header::CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-cache, private"));
        let is_json = headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        if self.indent && is_json {
            answer = indent(answer).await;
        }
        if self.compress {
            answer = compression::compress(answer);
        }
        answer
    }
}

/// People who look at answers get them indented: by asking, or by using a browser or curl.
fn wants_indentation(query: &Query, headers: &HeaderMap) -> bool {
    if let Some(asked) = query.text("pretty") {
        return matches!(asked, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    let agent = headers
        .get(header::USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    ["curl", "Wget", "Mozilla/5.0"]
        .iter()
        .any(|prefix| agent.starts_with(prefix))
}

async fn indent(answer: Answer) -> Answer {
    let (parts, body) = answer.into_parts();
    let bytes = match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(never) => match never {},
    };
    Response::from_parts(parts, response::full(manifests::json::indented(&bytes)))
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[track_caller]
    fn check(query: &str, agent: &'static str, expected: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(header::USER_AGENT, HeaderValue::from_static(agent));
        let indent = wants_indentation(&Query::parse(Some(query)), &headers);
        assert_eq!(indent, expected, "for {query} by {agent}");
    }

    #[test]
    fn people_get_indented_answers() {
        check("", "curl/8.0", true);
        check("", "Mozilla/5.0 (X11)", true);
        check("", "kubectl/v1.34.4", false);
        check("pretty=true", "kubectl/v1.34.4", true);
        check("pretty=false", "curl/8.0", false);
        check("pretty=", "curl/8.0", true);
    }

    #[test]
    fn a_watch_is_sent_as_it_comes() {
        let mut headers = HeaderMap::new();
        headers.insert(header::USER_AGENT, HeaderValue::from_static("curl/8.0"));
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        let of = |watch| {
            let info = RequestInfo::read(&Method::GET, "/api/v1/pods", watch);
            Dress::of(&Query::default(), &headers, &info)
        };
        assert_eq!(of(true), Dress::default());
        assert_eq!(
            of(false),
            Dress {
                indent: true,
                compress: true
            }
        );
    }
}
