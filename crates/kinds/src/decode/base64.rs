//! Base64 text as Go reads it: line breaks are ignored, errors name the offending byte.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// Reads what [`check`] let through, whatever its unused last bits say.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// Checks the text and rewrites it if it is not canonical; an error is the offset of a bad byte.
pub(super) fn normalize(text: &mut String) -> Result<(), usize> {
    if check(text.as_bytes())? {
        return Ok(());
    }
    text.retain(|c| c != '\n' && c != '\r');
    let decoded = LENIENT.decode(&*text).map_err(|_| text.len())?;
    *text = LENIENT.encode(decoded);
    Ok(())
}

/// Whether the text is canonical: no line breaks, and the unused bits of the last symbol are zero.
fn check(text: &[u8]) -> Result<bool, usize> {
    let mut is_canonical = true;
    let mut filled = 0;
    let mut last = 0;
    for (offset, byte) in text.iter().copied().enumerate() {
        match byte {
            b'\n' | b'\r' => is_canonical = false,
            b'=' => {
                let unused_bits = if filled == 2 { 0b1111 } else { 0b11 };
                check_padding(text, offset, filled)?;
                return Ok(is_canonical && last & unused_bits == 0 && !has_line_break(&text[offset..]));
            }
            _ => {
                last = symbol(byte).ok_or(offset)?;
                filled = (filled + 1) % 4;
            }
        }
    }
    if filled == 0 {
        Ok(is_canonical)
    } else {
        Err(text.len() - filled)
    }
}

/// Everything from the first `=` on.
fn check_padding(text: &[u8], offset: usize, filled: usize) -> Result<(), usize> {
    let mut rest = (offset + 1..text.len()).filter(|at| !matches!(text[*at], b'\n' | b'\r'));
    match filled {
        2 => match rest.next() {
            None => return Err(text.len()),
            Some(at) if text[at] != b'=' => return Err(at),
            Some(_) => {}
        },
        3 => {}
        _ => return Err(offset),
    }
    rest.next().map_or(Ok(()), Err)
}

fn has_line_break(text: &[u8]) -> bool {
    text.iter().any(|byte| matches!(byte, b'\n' | b'\r'))
}

fn symbol(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(text: &str, expected: Result<&str, usize>) {
        let mut owned = text.to_owned();
        assert_eq!(
            normalize(&mut owned).map(|()| owned.as_str()),
            expected,
            "for {text:?}"
        );
    }

    #[test]
    fn canonical_text_is_left_alone() {
        for text in ["", "aGVsbG8=", "aGVsbG8h", "aGU="] {
            check_text(text, Ok(text));
        }
    }

    #[test]
    fn line_breaks_and_loose_bits_are_cleaned() {
        check_text("aGVs\nbG8=\n", Ok("aGVsbG8="));
        check_text("aGV=", Ok("aGU="));
    }

    #[test]
    fn errors_name_the_byte() {
        check_text("a", Err(0));
        check_text("aGVsbG8", Err(4));
        check_text("!!!!", Err(0));
        check_text("aGVs*G8=", Err(4));
        check_text("aGVsbG8=x", Err(8));
        check_text("aG=", Err(3));
        check_text("a===", Err(1));
    }
}
