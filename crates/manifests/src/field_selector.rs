//! Field selectors of query strings: `metadata.name=a,status.phase!=Running`. Which fields an
//! object offers is the caller's to know.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equals,
    NotEquals,
}

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub field: String,
    pub operator: Operator,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldSelectorError {
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    NoOperator { selector: String, term: String },
    #[error("invalid field selector: invalid escape sequence: {0}")]
    InvalidEscape(String),
    /// The character is shown as its number.
    #[error("invalid field selector: unescaped character in value: {}", *.0 as u32)]
    Unescaped(char),
}

/// Reads a selector; all of its requirements have to hold.
pub fn parse(selector: &str) -> Result<Vec<Requirement>, FieldSelectorError> {
    let mut terms: Vec<&str> = split_terms(selector).filter(|term| !term.is_empty()).collect();
    terms.sort_unstable();
    let mut requirements = Vec::with_capacity(terms.len());
    for term in terms {
        let (field, operator, value) = split_term(term).ok_or_else(|| FieldSelectorError::NoOperator {
            selector: selector.to_owned(),
            term: term.to_owned(),
        })?;
        let value = unescape(value)?;
        // `=` alone asks for nothing.
        if !(field.is_empty() && value.is_empty()) {
            requirements.push(Requirement {
                field: field.to_owned(),
                operator,
                value: value.into_owned(),
            });
        }
    }
    Ok(requirements)
}

/// The parts between commas; an escaped comma belongs to a value.
fn split_terms(selector: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    selector.split(move |c| {
        let separates = !escaped && c == ',';
        escaped = !escaped && c == '\\';
        separates
    })
}

fn split_term(term: &str) -> Option<(&str, Operator, &str)> {
    let not_equal = term.find("!=");
    let equal = term.find('=')?;
    match not_equal {
        Some(at) if at < equal => Some((&term[..at], Operator::NotEquals, &term[at + 2..])),
        _ => {
            let value = &term[equal + 1..];
            Some((
                &term[..equal],
                Operator::Equals,
                value.strip_prefix('=').unwrap_or(value),
            ))
        }
    }
}

fn unescape(value: &str) -> Result<Cow<'_, str>, FieldSelectorError> {
    if !value.contains(['\\', ',', '=']) {
        return Ok(Cow::Borrowed(value));
    }
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            ('\\', Some(escaped @ ('\\' | ',' | '='))) => {
                text.push(escaped);
                characters.next();
            }
            ('\\', Some(other)) => return Err(FieldSelectorError::InvalidEscape(format!("\\{other}"))),
            ('\\', None) => return Err(FieldSelectorError::InvalidEscape("\\".to_owned())),
            (',' | '=', _) => return Err(FieldSelectorError::Unescaped(character)),
            (plain, _) => text.push(plain),
        }
    }
    Ok(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{Operator, parse};
    use crate::testing::check_cases;

    #[test]
    fn selectors_are_read_as_by_the_real_server() {
        check_cases(include_str!("../testdata/field_selector.json"), |case| {
            let requirements = parse(case["input"].as_str().unwrap()).map_err(|error| error.to_string())?;
            let requirements = requirements.into_iter().map(|requirement| {
                let operator = if requirement.operator == Operator::Equals {
                    "="
                } else {
                    "!="
                };
                json!({"field": requirement.field, "operator": operator, "value": requirement.value})
            });
            Ok(requirements.collect())
        });
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-c!=,.\\\\é]{0,30}|\\PC{0,30}") {
            let _ = parse(&text);
        }
    }
}
