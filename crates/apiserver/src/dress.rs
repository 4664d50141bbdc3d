//! How an answer is dressed for its client: indented for people, compressed when it is long.

use http::{HeaderMap, HeaderValue, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use manifests::json::Indenter;

use crate::{
    compression,
    query::Query,
    request_info::RequestInfo,
    response::{Answer, Body},
};

/// Bodies are indented in pieces of this size, so that other requests get their turn in between.
const PIECE: usize = 128 * 1024;

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
    pub(crate) fn put_on(self, mut answer: Answer) -> Answer {
        let headers = answer.headers_mut();
        headers
            .entry(header::CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-cache, private"));
        let is_json = headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        if self.indent && is_json {
            answer = answer.map(indented);
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

fn indented(body: Body) -> Body {
    let state = (body, bytes::Bytes::new(), Indenter::default());
    let pieces = futures_util::stream::unfold(state, |(mut body, mut waiting, mut indenter)| async move {
        while waiting.is_empty() {
            match body.frame().await? {
                Ok(frame) => waiting = frame.into_data().unwrap_or_default(),
                Err(error) => return Some((Err(error), (body, waiting, indenter))),
            }
        }
        let piece = waiting.split_to(waiting.len().min(PIECE));
        let mut out = Vec::with_capacity(2 * piece.len());
        indenter.write(&piece, &mut out);
        Some((Ok(Frame::data(out.into())), (body, waiting, indenter)))
    });
    StreamBody::new(pieces).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use http::{Method, StatusCode};

    use super::*;
    use crate::response;

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

    #[tokio::test]
    async fn long_answers_are_indented_piece_by_piece() {
        let list = serde_json::json!({ "items": vec!["text"; 100_000] });
        let dress = Dress {
            indent: true,
            compress: false,
        };
        let answer = dress.put_on(response::json_bytes(StatusCode::OK, list.to_string()));
        let mut body = answer.into_body();
        let (mut whole, mut pieces) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let data = frame.unwrap().into_data().unwrap();
            assert!(data.len() < 4 * PIECE, "{}", data.len());
            whole.extend_from_slice(&data);
            pieces += 1;
        }
        assert!(pieces > 3, "{pieces}");
        assert_eq!(whole, serde_json::to_vec_pretty(&list).unwrap());
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
