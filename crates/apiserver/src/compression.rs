//! Long answers are compressed for clients that can read it.

use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, header};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt as _, StreamBody};

use crate::{
    response::{Answer, Body},
    sending::NotTaken,
};

/// Below this, compressing costs the client more time than it saves.
const THRESHOLD: u64 = 128 * 1024;

/// Bodies are compressed in pieces of this size, so that other requests get their turn in between.
const PIECE: usize = 128 * 1024;

/// Whether a client takes gzip. Weights are not read: nobody sends them.
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accepted| accepted.split(',').any(|encoding| encoding.trim() == "gzip"))
}

/// Compresses an answer that is long, or so long that nobody has counted.
pub(crate) fn compress(answer: Answer) -> Answer {
    if answer
        .body()
        .size_hint()
        .upper()
        .is_some_and(|length| length <= THRESHOLD)
    {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    parts
        .headers
        .insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts
        .headers
        .append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    Answer::from_parts(parts, gzip(body))
}

fn gzip(body: Body) -> Body {
    let compressor = Compressor {
        body,
        waiting: Bytes::new(),
        encoder: GzEncoder::new(Vec::new(), Compression::fast()),
    };
    let pieces = futures_util::stream::unfold(Some(compressor), |compressor| async move {
        let (piece, compressor) = compressor?.next().await;
        Some((piece.map(Frame::data), compressor))
    });
    StreamBody::new(pieces).boxed_unsync()
}

struct Compressor {
    body: Body,
    /// What came from the body and is not compressed yet.
    waiting: Bytes,
    encoder: GzEncoder<Vec<u8>>,
}

impl Compressor {
    /// The next compressed piece; with the last one the compressor is gone.
    async fn next(mut self) -> (Result<Bytes, NotTaken>, Option<Self>) {
        loop {
            if self.waiting.is_empty() {
                match self.body.frame().await {
                    Some(Ok(frame)) => self.waiting = frame.into_data().unwrap_or_default(),
                    Some(Err(error)) => return (Err(error), None),
                    // Neither this nor the write below can fail: the encoder writes to memory.
                    None => return (Ok(self.encoder.finish().unwrap_or_default().into()), None),
                }
            }
            let piece = self.waiting.split_to(self.waiting.len().min(PIECE));
            let _ = self.encoder.write_all(&piece);
            let compressed = std::mem::take(self.encoder.get_mut());
            if !compressed.is_empty() {
                return (Ok(compressed.into()), Some(self));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use http::StatusCode;

    use super::*;
    use crate::response;

    async fn compressed(body: Body) -> (String, Vec<u8>) {
        let answer = compress(response::with_type(StatusCode::OK, "application/json", body));
        let encoding = answer.headers().get(header::CONTENT_ENCODING);
        let encoding = encoding.map_or("", |value| value.to_str().unwrap()).to_owned();
        (
            encoding,
            answer.into_body().collect().await.unwrap().to_bytes().into(),
        )
    }

    fn unpacked(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn gzip_must_be_asked_for() {
        for (accepted, expected) in [("gzip", true), ("br, gzip", true), ("br", false), ("", false)] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(is_accepted(&headers), expected, "for {accepted}");
        }
        assert!(!is_accepted(&HeaderMap::new()));
    }

    #[tokio::test]
    async fn long_answers_are_compressed_and_short_ones_are_not() {
        let long = b"text ".repeat(200_000);
        let (encoding, bytes) = compressed(response::full(long.clone())).await;
        assert_eq!(encoding, "gzip");
        assert!(bytes.len() < long.len() / 10);
        assert_eq!(unpacked(&bytes), long);
        let short = b"x".repeat(THRESHOLD as usize);
        assert_eq!(
            compressed(response::full(short.clone())).await,
            (String::new(), short)
        );
    }

    #[tokio::test]
    async fn answers_of_unknown_length_are_compressed_piece_by_piece() {
        let pieces = (0..10).map(|n| Ok(Frame::data(Bytes::from(vec![b'a' + n; 100_000]))));
        let body = StreamBody::new(futures_util::stream::iter(pieces)).boxed_unsync();
        let (encoding, bytes) = compressed(body).await;
        assert_eq!((encoding.as_str(), unpacked(&bytes).len()), ("gzip", 1_000_000));
    }
}
