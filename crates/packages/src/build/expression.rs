//! Regular expressions of people who write kustomizations: those of Go, where ours know more or less.

use regex::Regex;

/// Repeated as often as the reference allows.
const MAX_REPEATS: u32 = 1000;

/// An expression, or what is wrong with it.
pub(super) fn expression(text: &str) -> Result<Regex, String> {
    let text = translated(text)?;
    Regex::new(&text).map_err(|error| {
        let told = error.to_string();
        let last = told.lines().last().unwrap_or_default();
        last.trim_start_matches("error: ").to_owned()
    })
}

/// The expression in our spelling.
fn translated(text: &str) -> Result<String, String> {
    let mut translated = String::with_capacity(text.len());
    let mut rest = text;
    // What was read last, if it is a repetition.
    let mut repetition = None;
    while let Some(first) = rest.chars().next() {
        let length = length_of(first, rest);
        let (token, behind) = rest.split_at(length);
        rest = behind;
        match (first, token) {
            (_, "\\Q") => {
                let (literal, behind) = rest.split_once("\\E").unwrap_or((rest, ""));
                translated.push_str(&regex::escape(literal));
                (rest, repetition) = (behind, None);
            }
            ('*' | '+' | '?' | '{', _) if is_repetition(token) => {
                if repetition
                    .is_some_and(|before: &str| token != "?" || before.len() > 1 && before.ends_with('?'))
                {
                    return Err(format!("`{token}` repeats what is repeated already"));
                }
                if counts(token).any(|count| count.is_none_or(|count| count > MAX_REPEATS)) {
                    return Err(format!("`{token}` repeats more than {MAX_REPEATS} times"));
                }
                // Once with the sign that takes as little as can be.
                repetition = Some(if repetition.is_some() { "??" } else { token });
                translated.push_str(token);
            }
            ('(', _) if behind.starts_with("?x") => return Err("there is no flag `x`".to_owned()),
            ('[', _) => {
                translated.push_str(&class(token));
                repetition = None;
            }
            ('{', _) => {
                translated.push_str("\\{");
                repetition = None;
            }
            _ => {
                translated.push_str(token);
                // A group may begin with a question mark, and an anchor may be repeated.
                repetition = None;
                if first == '(' && behind.starts_with('?') {
                    translated.push('?');
                    rest = &behind[1..];
                }
            }
        }
    }
    Ok(translated)
}

/// How long what stands here is: an escape, a count in braces, a class, or a character.
fn length_of(first: char, rest: &str) -> usize {
    let escaped = || rest.chars().nth(1).map_or(0, char::len_utf8);
    match first {
        '\\' => 1 + escaped(),
        '{' => rest.find('}').map_or(1, |end| end + 1),
        '[' => end_of_class(rest),
        first => first.len_utf8(),
    }
}

/// A class ends with a bracket that is not its first character, nor the end of a name in it.
fn end_of_class(text: &str) -> usize {
    let negated = if text.starts_with("[^") { 2 } else { 1 };
    let mut at = negated;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        at += match c {
            '\\' => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            '[' if rest.starts_with("[:") => rest.find(":]").map_or(1, |end| end + 2),
            ']' if at > negated => return at + 1,
            c => c.len_utf8(),
        };
    }
    text.len()
}

/// Brackets in a class are themselves, and there are no operators between classes.
fn class(text: &str) -> String {
    let mut class = String::from("[");
    let mut rest = &text[1..];
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\\' => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            '[' if rest.starts_with("[:") => rest.find(":]").map_or(1, |end| end + 2),
            c => c.len_utf8(),
        };
        let is_sign = matches!(c, '[' | '&' | '~') && length == 1;
        if is_sign {
            class.push('\\');
        }
        class.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    class
}

fn is_repetition(token: &str) -> bool {
    let Some(counts) = token.strip_prefix('{') else {
        return true;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let counts = counts.strip_suffix('}').unwrap_or_default();
    let (from, to) = counts.split_once(',').unwrap_or((counts, counts));
    is_number(from) && (to.is_empty() || is_number(to))
}

/// The numbers in braces; none for one that is too large to be read.
fn counts(token: &str) -> impl Iterator<Item = Option<u32>> {
    let numbers = token.trim_matches(['{', '}']).split(',');
    let numbers = numbers.filter(|number| number.starts_with(|c: char| c.is_ascii_digit()));
    numbers.map(|number| number.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_those_of_go() {
        for (text, is_match) in [
            ("^(?:.*)$", true),
            ("^w?e{1}b+?$", true),
            ("^(?i)WEB$", true),
            ("^(?P<name>w)e(?:b)$", true),
            ("\\Qe\\E", true),
            ("\\Qe.\\E", false),
            ("[[:alpha:]]+", true),
            ("^[]w][e&&x][b[]$", true),
            ("^w{e$", false),
            ("^*web", true),
        ] {
            assert_eq!(
                expression(text).map(|it| it.is_match("web")),
                Ok(is_match),
                "{text}"
            );
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in [
            "a**",
            "a+*",
            "a{2}*",
            "a??*",
            "a{1001}",
            "a{99999999999}",
            "(?x)a",
            "(",
            "[a",
            "a)",
            "(?!a)",
            "*",
            "\\1",
        ] {
            let told = expression(text).expect_err(text);
            assert!(!told.is_empty() && !told.contains('\n'), "{text}: {told}");
        }
        assert_eq!(
            expression("a**").unwrap_err(),
            "`*` repeats what is repeated already"
        );
        assert_eq!(expression("(").unwrap_err(), "unclosed group");
    }
}
