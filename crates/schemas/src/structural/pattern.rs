//! Regular expressions as Go reads them. The `regex` crate shares its syntax with RE2 but for a few
//! corners: classes such as `\d` are ASCII, `[` and a lone `{` can be literal, `\Q...\E` quotes.

use std::fmt::Write as _;

use regex::Regex;

/// Compiles a pattern; the error is worded as Go words it.
pub(crate) fn compile_pattern(pattern: &str) -> Result<Regex, String> {
    Regex::new(&translated(pattern))
        .map_err(|error| format!("error parsing regexp: {}", reworded(pattern, &error)))
}

fn translated(pattern: &str) -> String {
    let chars: Vec<char> = pattern.chars().collect();
    let mut out = String::with_capacity(pattern.len());
    let mut in_class = false;
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        at += match rest[0] {
            '\\' => escape(rest, &mut out),
            '[' if in_class => class_in_class(rest, &mut out),
            '[' => {
                in_class = true;
                class_start(rest, &mut out)
            }
            ']' if in_class => {
                in_class = false;
                literal(']', &mut out)
            }
            c @ ('&' | '~' | '-') if in_class && rest.get(1) == Some(&c) => {
                out.push('\\');
                literal(c, &mut out)
            }
            '{' if !in_class && !is_repetition(rest) => {
                out.push('\\');
                literal('{', &mut out)
            }
            c => literal(c, &mut out),
        };
    }
    out
}

fn literal(c: char, out: &mut String) -> usize {
    out.push(c);
    1
}

/// An escape; answers with its length.
fn escape(rest: &[char], out: &mut String) -> usize {
    let Some(&c) = rest.get(1) else {
        return literal('\\', out);
    };
    match c {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str(r"[\t\n\x0C\r ]"),
        'S' => out.push_str(r"[^\t\n\x0C\r ]"),
        'b' => out.push_str(r"(?-u:\b)"),
        'B' => out.push_str(r"(?-u:\B)"),
        '<' | '>' => out.push(c),
        'Q' => {
            let quoted: String = rest[2..].iter().collect();
            let end = quoted.find("\\E").unwrap_or(quoted.len());
            out.push_str(&regex::escape(&quoted[..end]));
            return 2 + quoted[..end].chars().count() + if end < quoted.len() { 2 } else { 0 };
        }
        _ => {
            out.push('\\');
            out.push(c);
        }
    }
    2
}

/// The start of a class; a `]` right after it is literal.
fn class_start(rest: &[char], out: &mut String) -> usize {
    out.push('[');
    let negated = rest.get(1) == Some(&'^');
    if negated {
        out.push('^');
    }
    let length = 1 + usize::from(negated);
    if rest.get(length) == Some(&']') {
        out.push_str("\\]");
        return length + 1;
    }
    length
}

/// `[:alpha:]` stays, every other `[` within a class is literal.
fn class_in_class(rest: &[char], out: &mut String) -> usize {
    if rest.get(1) != Some(&':') {
        out.push('\\');
    }
    literal('[', out)
}

/// Whether a brace starts `{n}`, `{n,}` or `{n,m}`.
fn is_repetition(rest: &[char]) -> bool {
    let Some(end) = rest.iter().position(|c| *c == '}') else {
        return false;
    };
    let inner: String = rest[1..end].iter().collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match inner.split_once(',') {
        None => is_number(&inner),
        Some((low, high)) => is_number(low) && (high.is_empty() || is_number(high)),
    }
}

fn reworded(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let has = |part: &str| text.contains(part);
    let from = |part: &str| pattern.find(part).map_or(pattern, |at| &pattern[at..]);
    if has("unclosed group") {
        format!("missing closing ): `{pattern}`")
    } else if has("unopened group") {
        format!("unexpected ): `{pattern}`")
    } else if has("unclosed character class") {
        format!("missing closing ]: `{}`", from("["))
    } else if has("look-around") {
        let start = ["(?=", "(?!", "(?<=", "(?<!"]
            .into_iter()
            .find(|start| pattern.contains(start));
        format!(
            "invalid or unsupported Perl syntax: `{}`",
            start.map_or("(?", |start| &start[..3])
        )
    } else if has("repetition operator missing expression") {
        let operator = pattern.find(['*', '+', '?']).map_or("", |at| &pattern[at..=at]);
        format!("missing argument to repetition operator: `{operator}`")
    } else if has("backreferences") || has("unrecognized escape sequence") {
        let escape: String = from("\\").chars().take(2).collect();
        format!("invalid escape sequence: `{escape}`")
    } else if has("invalid character class range") {
        format!("invalid character class range: `{pattern}`")
    } else {
        let mut message = String::new();
        let _ = write!(
            message,
            "{}: `{pattern}`",
            text.lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
        );
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, good: &[&str], bad: &[&str]) {
        let regex = compile_pattern(pattern).unwrap();
        for text in good {
            assert!(regex.is_match(text), "{text:?} should match {pattern}");
        }
        for text in bad {
            assert!(!regex.is_match(text), "{text:?} should not match {pattern}");
        }
    }

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        check(r"^\d+$", &["12"], &["１２", "a"]);
        check(r"^[\w-]+$", &["a_b-1"], &["ä"]);
        check(r"^\S+$", &["ä"], &["a b"]);
        check(r"^[[a]+$", &["[a["], &["b"]);
        check(r"^[]a]+$", &["]a"], &["b"]);
        check(r"^[^]a]+$", &["b"], &["]"]);
        check(r"^[[:alpha:]]+$", &["abc"], &["1"]);
        check(r"^a{,2}$", &["a{,2}"], &["aa"]);
        check(r"^{a}$", &["{a}"], &["a"]);
        check(r"^a{2}$", &["aa"], &["a"]);
        check(r"^\Qa.b\E+$", &["a.b", "a.bb"], &["axb"]);
        check(r"^\<x\>$", &["<x>"], &["x"]);
        check(r"^[a&&b]+$", &["a&b"], &["c"]);
        check(r"a\b", &["a", "a b", "aä"], &["ab"]);
    }

    #[test]
    fn errors_are_worded_as_go_words_them() {
        let cases = [
            ("(", "error parsing regexp: missing closing ): `(`"),
            ("a)", "error parsing regexp: unexpected ): `a)`"),
            ("x[a", "error parsing regexp: missing closing ]: `[a`"),
            (
                "(?=a)",
                "error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
            ),
            (
                "*a",
                "error parsing regexp: missing argument to repetition operator: `*`",
            ),
            (r"(a)\1", r"error parsing regexp: invalid escape sequence: `\1`"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(compile_pattern(pattern).unwrap_err(), expected);
        }
    }
}
