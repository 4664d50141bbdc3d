//! Comparing what a command printed with what a session expects.

/// Whether the lines match the pattern's lines.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<&str> = pattern.lines().collect();
    let text: Vec<&str> = text.lines().collect();
    lines_match(&pattern, &text)
}

fn lines_match(pattern: &[&str], text: &[&str]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((&"[...]", rest)), _) => (0..=text.len()).any(|skipped| lines_match(rest, &text[skipped..])),
        (Some((first, pattern)), Some((line, text))) => {
            line_matches(first, line) && lines_match(pattern, text)
        }
        _ => false,
    }
}

/// Whether a line matches; its pieces between the gaps must come in order, the outer ones at the
/// ends.
pub(crate) fn line_matches(pattern: &str, line: &str) -> bool {
    let mut pieces: Vec<&str> = pattern.split("[..]").collect();
    let Some(last) = pieces.pop().filter(|_| !pieces.is_empty()) else {
        return pattern == line;
    };
    let Some(mut rest) = line.strip_prefix(pieces.remove(0)) else {
        return false;
    };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_stand_for_text_and_for_lines() {
        assert!(matches("web   [..]s", "web   12s"));
        assert!(matches("a\n[...]\nz", "a\nb\nc\nz"));
        assert!(matches("a\n[...]\nz", "a\nz"));
        assert!(matches("x[..]y[..]z", "x1y2z"));
        assert!(!matches("x[..]y[..]z", "x1z2y"));
        assert!(!matches("a", "a\nb"));
        assert!(!matches("ab[..]bc", "abc"));
        assert!(!matches("", "error"));
    }
}
