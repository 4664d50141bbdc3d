//! The few bytes that gRPC puts around messages, for both sides.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use prost::Message;

use crate::{
    compression::unpacked,
    failure::{Code, Failure, Outcome},
};

/// A flag for compression and the length.
const HEAD: usize = 5;
/// Headers that are larger are refused by some clients, and nobody reads them.
const LONGEST_WORDS: usize = 4096;
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// A message as it is sent.
pub(crate) fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(HEAD + length);
    bytes.put_u8(0);
    bytes.put_u32(length as u32);
    // It has the room it asked for.
    let _ = message.encode(&mut bytes);
    bytes.freeze()
}

/// The one message of a request or an answer. Of a compressed one each piece is asked for before it is kept.
pub(crate) fn message(
    headers: &HeaderMap,
    bytes: &Bytes,
    may_take: impl FnMut(usize) -> Outcome<()>,
) -> Outcome<Bytes> {
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else {
        return Err(Failure::new(Code::Internal, "there is no message"));
    };
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length != rest.len() {
        return Err(Failure::new(
            Code::Internal,
            format!("the message has {} bytes, not the {length} it says", rest.len()),
        ));
    }
    if head[0] == 0 {
        return Ok(bytes.slice(HEAD..));
    }
    let encoding = headers.get("grpc-encoding").and_then(|value| value.to_str().ok());
    unpacked(encoding.unwrap_or("something"), rest, may_take)
}

/// Why there is no answer, in headers.
pub(crate) fn status(headers: &mut HeaderMap, failure: &Failure) {
    headers.insert("grpc-status", HeaderValue::from(failure.code as u32));
    let mut words = utf8_percent_encode(&failure.message, ESCAPED).to_string();
    words.truncate(LONGEST_WORDS);
    // Escaped words are ASCII without controls.
    if let Ok(words) = HeaderValue::from_str(&words) {
        headers.insert("grpc-message", words);
    }
}

/// Words of a status as they were before they were made a header.
pub(crate) fn unescaped(words: &str) -> String {
    percent_decode_str(words).decode_utf8_lossy().into_owned()
}

/// How long a client waits, where it says so.
pub(crate) fn deadline(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number.checked_mul(3600)?),
        "M" => Duration::from_secs(number.checked_mul(60)?),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::inference::ModelRequest;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let sent = ModelRequest {
            name: "digits".to_owned(),
            version: "3".to_owned(),
        };
        let bytes = framed(&sent);
        let read = message(&HeaderMap::new(), &bytes, |_| Ok(())).unwrap();
        assert_eq!(ModelRequest::decode(read).unwrap(), sent);
        for cut in 0..bytes.len() {
            assert!(
                message(&HeaderMap::new(), &bytes.slice(..cut), |_| Ok(())).is_err(),
                "{cut}"
            );
        }
    }

    #[test]
    fn words_survive_as_headers() {
        let mut headers = HeaderMap::new();
        let words = "100 % of “x”\nand more";
        status(&mut headers, &Failure::new(Code::NotFound, words));
        assert_eq!(headers["grpc-status"], "5");
        assert_eq!(unescaped(headers["grpc-message"].to_str().unwrap()), words);
    }

    #[test]
    fn deadlines_have_units() {
        let read = |text: &str| {
            deadline(&HeaderMap::from_iter([(
                "grpc-timeout".parse().unwrap(),
                text.parse().unwrap(),
            )]))
        };
        assert_eq!(read("250m"), Some(Duration::from_millis(250)));
        assert_eq!(read("2S"), Some(Duration::from_secs(2)));
        for wrong in ["", "m", "5", "5x", "99999999999999999999H"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
