//! What Go's decoder accepts and a strict one refuses: bytes that are not UTF-8 and halves of
//! surrogate pairs, both read as U+FFFD.

use std::borrow::Cow;

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// The text of the bytes, with one replacement character for each byte that is not UTF-8.
pub(super) fn utf8(mut bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    loop {
        match str::from_utf8(bytes) {
            Ok(rest) => {
                text.push_str(rest);
                return Cow::Owned(text);
            }
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(valid));
                text.push(REPLACEMENT);
                bytes = &rest[1..];
            }
        }
    }
}

/// The text with every escaped half of a surrogate pair replaced; `None` when there is none.
pub(super) fn surrogates(text: &str) -> Option<String> {
    let mut repaired = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        repaired.push_str(before);
        let length = escape_length(escape);
        if length == 6 && surrogate(escape).is_some() {
            repaired.push(REPLACEMENT);
        } else {
            repaired.push_str(&escape[..length]);
        }
        rest = &escape[length..];
    }
    repaired.push_str(rest);
    (repaired != text).then_some(repaired)
}

/// How long the escape is: a whole surrogate pair, one `\u1234`, or a backslash and a character.
fn escape_length(escape: &str) -> usize {
    let is_pair = matches!(surrogate(escape), Some(0xD800..=0xDBFF))
        && escape
            .get(6..)
            .is_some_and(|next| matches!(surrogate(next), Some(0xDC00..=0xDFFF)));
    let is_unicode = escape.as_bytes().get(1) == Some(&b'u');
    let length = match (is_pair, is_unicode) {
        (true, _) => 12,
        (_, true) => 6,
        _ => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
    };
    if escape.is_char_boundary(length) {
        length.min(escape.len())
    } else {
        escape.len()
    }
}

fn surrogate(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16)
        .ok()
        .filter(|unit| (0xD800..=0xDFFF).contains(unit))
}
