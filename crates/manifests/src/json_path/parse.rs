//! From the text of a path to its steps. Quirks of the real parser are kept, because paths that
//! people have written rely on them: `['a.b']` is `.a.b`, and `['a\.b']` the field `a.b`.

use serde_json::{Number, Value};

use super::filter::{Comparison, Filter, Operand};
use super::{Slice, Step};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonPathError {
    #[error("unclosed action")]
    Unclosed,
    #[error("unterminated array")]
    UnterminatedArray,
    #[error("unterminated filter")]
    UnterminatedFilter,
    #[error("unclosed array expect ]")]
    UnclosedArray,
    #[error("unterminated quoted string")]
    UnterminatedQuote,
    #[error("invalid array index {0}")]
    InvalidIndex(String),
    #[error("array index {0} is not a number")]
    IndexNotANumber(String),
    #[error("invalid multiple recursive descent")]
    RepeatedRecursion,
    #[error("cannot parse number {0}")]
    InvalidNumber(String),
    #[error("unrecognized character in action: U+{:04X} '{character}'", *.character as u32)]
    UnrecognizedCharacter { character: char },
}

pub(super) fn steps(text: &str) -> Result<Vec<Step>, JsonPathError> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = if let Some(filter_text) = rest.strip_prefix("[?(") {
            let (filter, after) = filter(filter_text)?;
            steps.push(Step::Filter(filter));
            after
        } else if let Some(after) = rest.strip_prefix("..") {
            if steps.last() == Some(&Step::Recursive) {
                return Err(JsonPathError::RepeatedRecursion);
            }
            steps.push(Step::Recursive);
            if after.starts_with(is_alphanumeric) {
                field(after, &mut steps)
            } else {
                after
            }
        } else {
            let after = &rest[first.len_utf8()..];
            match first {
                '\r' | '\n' => return Err(JsonPathError::Unclosed),
                ' ' | '@' | '$' => after,
                '[' => brackets(after, &mut steps)?,
                '.' => field(after, &mut steps),
                c if is_alphanumeric(c) => {
                    steps.push(Step::Word);
                    rest.trim_start_matches(|c| !is_terminator(c))
                }
                character => return Err(JsonPathError::UnrecognizedCharacter { character }),
            }
        };
    }
    Ok(steps)
}

/// A name after a dot, up to what ends it; a backslash takes the next character as it is.
fn field<'t>(text: &'t str, steps: &mut Vec<Step>) -> &'t str {
    let mut escaped = false;
    let end = text.find(|c| {
        let ends = !escaped && is_terminator(c);
        escaped = !escaped && c == '\\';
        ends
    });
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    steps.push(if name == "*" {
        Step::Wildcard
    } else {
        Step::Field(name.replace('\\', ""))
    });
    rest
}

/// `*]`, `0]`, `1:2]`, `'name']` or several of them between commas.
fn brackets<'t>(text: &'t str, steps: &mut Vec<Step>) -> Result<&'t str, JsonPathError> {
    let end = text.find([']', '\n']).filter(|end| text[*end..].starts_with(']'));
    let end = end.ok_or(JsonPathError::UnterminatedArray)?;
    let (content, rest) = (&text[..end], &text[end + 1..]);
    if content.contains(',') {
        let mut paths = Vec::new();
        for member in content.split(',') {
            let mut path = Vec::new();
            subscript(member.trim_matches(' '), &mut path)?;
            paths.push(path);
        }
        steps.push(Step::Union(paths));
    } else {
        subscript(content, steps)?;
    }
    Ok(rest)
}

fn subscript(content: &str, path: &mut Vec<Step>) -> Result<(), JsonPathError> {
    let name = content
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''));
    match name.filter(|name| !name.contains('\'')) {
        Some(name) => path.extend(steps(&format!(".{name}"))?),
        None => path.push(Step::Slice(slice(content)?)),
    }
    Ok(())
}

fn slice(content: &str) -> Result<Slice, JsonPathError> {
    if content == "*" {
        return Ok(Slice {
            start: 0,
            end: None,
            derived: false,
            step: None,
        });
    }
    let mut bounds = content.split(':').map(|text| bound(text, content));
    let start = bounds.next().transpose()?.flatten();
    let (end, step) = (bounds.next().transpose()?, bounds.next().transpose()?);
    if bounds.next().is_some() {
        return Err(JsonPathError::InvalidIndex(content.to_owned()));
    }
    let start = start.unwrap_or_default();
    let derived = end.is_none();
    let end = end.unwrap_or_else(|| start.checked_add(1));
    Ok(Slice {
        start,
        end,
        derived,
        step: step.flatten(),
    })
}

/// A number of a slice; empty when it was left out.
fn bound(text: &str, content: &str) -> Result<Option<i64>, JsonPathError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(JsonPathError::InvalidIndex(content.to_owned()));
    }
    if text.is_empty() {
        return Ok(None);
    }
    text.parse()
        .map(Some)
        .map_err(|_| JsonPathError::IndexNotANumber(text.to_owned()))
}

/// What stands between `[?(` and `)]`.
fn filter(text: &str) -> Result<(Filter, &str), JsonPathError> {
    let end = filter_end(text)?;
    let rest = text[end + 1..]
        .strip_prefix(']')
        .ok_or(JsonPathError::UnclosedArray)?;
    let content = &text[..end];
    let is_operator = |c| matches!(c, '!' | '<' | '>' | '=');
    let (left, comparison) = match content.find(is_operator) {
        Some(at) if at > 0 => {
            let (left, comparison) = content.split_at(at);
            let right = comparison.trim_start_matches(is_operator);
            let operator = &comparison[..comparison.len() - right.len()];
            (left, Some((Comparison::named(operator), operand(right)?)))
        }
        _ => (content, None),
    };
    Ok((
        Filter {
            left: operand(left)?,
            comparison,
        },
        rest,
    ))
}

/// The first parenthesis outside of the one quoted text a filter may have.
fn filter_end(text: &str) -> Result<usize, JsonPathError> {
    let mut quote = None;
    let mut closed = false;
    let mut previous = '\0';
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('\n', _) => break,
            ('"' | '\'', None) => quote = Some(c),
            ('"' | '\'', Some(open)) if c == open && previous != '\\' => closed = true,
            (')', _) if closed == quote.is_some() => return Ok(at),
            _ => {}
        }
        previous = c;
    }
    Err(JsonPathError::UnterminatedFilter)
}

/// A quoted text, a number, a boolean, or a path.
fn operand(text: &str) -> Result<Operand, JsonPathError> {
    let text = text.trim_matches(' ');
    let literal = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => Value::from(unquoted(&text[1..], quote)?),
        Some('+' | '-' | '0'..='9') => numeral(text)?,
        _ if text == "true" || text == "false" => Value::from(text == "true"),
        _ => return steps(text).map(Operand::Path),
    };
    Ok(Operand::Literal(literal))
}

fn numeral(text: &str) -> Result<Value, JsonPathError> {
    if let Ok(integer) = text.parse::<i64>() {
        return Ok(Value::from(integer));
    }
    let float = text.parse().ok().and_then(Number::from_f64);
    float
        .map(Value::Number)
        .ok_or_else(|| JsonPathError::InvalidNumber(text.to_owned()))
}

/// The text up to the closing quote, which has to be the last character.
fn unquoted(text: &str, quote: char) -> Result<String, JsonPathError> {
    let mut value = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => value.push(escaped(
                characters.next().ok_or(JsonPathError::UnterminatedQuote)?,
            )),
            c if c == quote => {
                return match characters.next() {
                    None => Ok(value),
                    Some(character) => Err(JsonPathError::UnrecognizedCharacter { character }),
                };
            }
            c => value.push(c),
        }
    }
    Err(JsonPathError::UnterminatedQuote)
}

fn escaped(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        other => other,
    }
}

fn is_terminator(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
