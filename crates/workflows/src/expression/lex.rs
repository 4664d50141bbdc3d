//! Characters to words.

use super::ExpressionError;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Integer(i64),
    Float(f64),
    Text(String),
    Name(String),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
}

/// Longer ones first, so that the longest is taken.
const SIGNS: [&str; 35] = [
    "...", "**", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "..", "::", "(", ")", "[", "]", "{", "}",
    "+", "-", "*", "/", "%", "^", "<", ">", "!", "?", ":", ".", ",", "|", "#", ";", "=",
];

/// Words with the character each begins at.
pub(super) fn lex(text: &str) -> Result<Vec<(usize, Token)>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            return Ok(tokens);
        };
        let (token, length) = match first {
            '0'..='9' => number(rest, at)?,
            '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => number(rest, at)?,
            '"' | '\'' | '`' => quoted(rest, first, at)?,
            '_' | '$' => name(rest),
            letter if letter.is_alphabetic() => name(rest),
            '/' if rest.starts_with("//") => {
                rest = rest.split_once('\n').map_or("", |(_, after)| after);
                continue;
            }
            _ => sign(rest, at)?,
        };
        tokens.push((at, token));
        rest = &rest[length..];
    }
}

fn name(rest: &str) -> (Token, usize) {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    (Token::Name(rest[..length].to_owned()), length)
}

fn sign(rest: &str, at: usize) -> Result<(Token, usize), ExpressionError> {
    let found = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    found.map(|sign| (Token::Sign(sign), sign.len())).ok_or_else(|| {
        let first = rest.chars().next().unwrap_or(' ');
        syntax(at, format!("`{first}` does not belong into an expression"))
    })
}

fn number(rest: &str, at: usize) -> Result<(Token, usize), ExpressionError> {
    let wrong = |text: &str| syntax(at, format!("`{text}` is no number"));
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0b", 2), ("0o", 8)] {
        if let Some(digits) = rest.strip_prefix(prefix) {
            let length = digits
                .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                .unwrap_or(digits.len());
            let text = digits[..length].replace('_', "");
            let value = i64::from_str_radix(&text, radix).map_err(|_| wrong(&text))?;
            return Ok((Token::Integer(value), prefix.len() + length));
        }
    }
    let bytes = rest.as_bytes();
    let digits_from = |mut end: usize| {
        while bytes
            .get(end)
            .is_some_and(|byte| byte.is_ascii_digit() || *byte == b'_')
        {
            end += 1;
        }
        end
    };
    let mut end = digits_from(0);
    let mut is_float = false;
    // `1..3` is a range, not `1.` and `.3`.
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        is_float = true;
        end = digits_from(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let after = digits_from(end + 1 + sign);
        if after > end + 1 + sign {
            is_float = true;
            end = after;
        }
    }
    let text = rest[..end].replace('_', "");
    let token = if is_float {
        Token::Float(text.parse().map_err(|_| wrong(&text))?)
    } else {
        Token::Integer(text.parse().map_err(|_| wrong(&text))?)
    };
    Ok((token, end))
}

fn quoted(rest: &str, quote: char, at: usize) -> Result<(Token, usize), ExpressionError> {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1);
    while let Some((index, letter)) = letters.next() {
        if letter == quote {
            return Ok((Token::Text(text), index + 1));
        }
        if letter != '\\' || quote == '`' {
            text.push(letter);
            continue;
        }
        let escaped = letters.next().map(|(_, escaped)| escaped);
        match escaped {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('a') => text.push('\u{7}'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('v') => text.push('\u{b}'),
            Some(letter @ ('u' | 'x' | 'U')) => {
                let count = match letter {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let digits: String = letters.by_ref().take(count).map(|(_, digit)| digit).collect();
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                text.push(
                    code.ok_or_else(|| syntax(at + index, format!("`\\{letter}{digits}` is no character")))?,
                );
            }
            Some(other) => text.push(other),
            None => break,
        }
    }
    Err(syntax(at, "a quote is not closed".to_owned()))
}

pub(super) fn syntax(at: usize, message: String) -> ExpressionError {
    ExpressionError::Syntax { at: at + 1, message }
}
