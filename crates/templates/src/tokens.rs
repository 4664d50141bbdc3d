//! What stands in rendered text for values and for places in templates, until the text has been read as YAML.
//!
//! The characters are noncharacters of Unicode: no text has them, YAML takes them like letters. Where a value has them
//! all the same they are written in another way and come back as they were, so no value can pass for a token.

use std::fmt::Write as _;

use serde_json::Value;

/// Begins a value: `OPEN 17 CLOSE` is the value of number 17.
pub(crate) const OPEN: char = '\u{fdd0}';
pub(crate) const CLOSE: char = '\u{fdd1}';
/// Begins a place: what follows was written by this part of a template.
pub(crate) const SITE: char = '\u{fdd2}';
/// Before a letter for one of the four, in values.
const ESCAPE: char = '\u{fdd3}';

const OWN: [char; 4] = [OPEN, CLOSE, SITE, ESCAPE];
const LETTERS: [char; 4] = ['a', 'b', 'c', 'd'];

/// Where a text has characters of ours.
pub(crate) fn find(text: &str) -> Option<usize> {
    let first = lead(text.as_bytes())?;
    text[first..].find(OWN).map(|at| first + at)
}

/// The first byte of our characters, which is seldom another's.
fn lead(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == 0xef)
}

pub(crate) fn write_value(out: &mut impl std::fmt::Write, number: usize) -> std::fmt::Result {
    write!(out, "{OPEN}{number}{CLOSE}")
}

pub(crate) fn write_site(out: &mut String, number: usize) {
    let _ = write!(out, "{SITE}{number}{CLOSE}");
}

/// A part of a text that may have tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    Text(&'t str),
    Value(usize),
    Site(usize),
}

/// Takes a text apart. What only looks like a token, because a template cut one in two, is text.
pub(crate) fn parts(mut text: &str) -> impl Iterator<Item = Part<'_>> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        if let Some((part, length)) = token(text) {
            text = &text[length..];
            return Some(part);
        }
        // At least one character, which may be a broken token's first.
        let first = text.chars().next().map_or(0, char::len_utf8);
        let end = next(text, first).unwrap_or(text.len());
        let (part, rest) = text.split_at(end);
        text = rest;
        Some(Part::Text(part))
    })
}

/// Where the next token is.
fn next(text: &str, mut from: usize) -> Option<usize> {
    loop {
        from += lead(&text.as_bytes()[from..])?;
        if text.get(from..).is_some_and(|rest| token(rest).is_some()) {
            return Some(from);
        }
        from += 1;
    }
}

fn token(text: &str) -> Option<(Part<'_>, usize)> {
    let kind = text.chars().next().filter(|c| matches!(*c, OPEN | SITE))?;
    let body = &text[kind.len_utf8()..];
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let number = body[..digits].parse().ok()?;
    body[digits..].starts_with(CLOSE).then_some(())?;
    let part = if kind == OPEN {
        Part::Value(number)
    } else {
        Part::Site(number)
    };
    Some((part, kind.len_utf8() + digits + CLOSE.len_utf8()))
}

/// A value without any of our characters.
pub(crate) fn hide(value: &mut Value) {
    match value {
        Value::String(text) => hide_text(text),
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(fields) => {
            if fields.keys().any(|name| find(name).is_some()) {
                let renamed = std::mem::take(fields).into_iter().map(|(mut name, field)| {
                    hide_text(&mut name);
                    (name, field)
                });
                *fields = renamed.collect();
            }
            fields.values_mut().for_each(hide);
        }
        _ => {}
    }
}

fn hide_text(text: &mut String) {
    if find(text).is_none() {
        return;
    }
    let mut hidden = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match OWN.iter().position(|own| *own == c) {
            Some(index) => hidden.extend([ESCAPE, LETTERS[index]]),
            None => hidden.push(c),
        }
    }
    *text = hidden;
}

/// The text as it was before it was hidden. What templates made of hidden characters is dropped.
pub(crate) fn shown(text: &str) -> String {
    if find(text).is_none() {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == ESCAPE {
            let letter = chars.clone().next();
            if let Some(index) = letter.and_then(|letter| LETTERS.iter().position(|known| *known == letter)) {
                shown.push(OWN[index]);
                chars.next();
            }
        } else if !OWN.contains(&c) {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_fall_into_parts() {
        let text = format!("a{OPEN}1{CLOSE}é{SITE}22{CLOSE}{OPEN}x{CLOSE}");
        let broken = format!("{OPEN}x{CLOSE}");
        let found: Vec<Part<'_>> = parts(&text).collect();
        let expected = [
            Part::Text("a"),
            Part::Value(1),
            Part::Text("é"),
            Part::Site(22),
            Part::Text(&broken),
        ];
        assert_eq!(found, expected);
        assert_eq!(parts("").count(), 0);
        assert_eq!(shown(&broken), "x");
    }

    proptest! {
        #[test]
        fn no_value_passes_for_a_token(text in "[\u{fdd0}-\u{fdd4}0-9a-d]{0,20}") {
            let mut value = Value::from(text.as_str());
            hide(&mut value);
            let hidden = value.as_str().unwrap_or_default();
            prop_assert!(parts(hidden).all(|part| matches!(part, Part::Text(_))));
            prop_assert_eq!(shown(hidden), text);
        }
    }
}
