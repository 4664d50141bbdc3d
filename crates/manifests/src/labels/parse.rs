//! The language of label selectors in query strings: a lexer and a parser, both linear in the
//! length of the text, with the messages of the real ones.

use std::collections::BTreeSet;

use super::SelectorError;
use super::requirement::{Operator, Requirement, check_key};
use crate::field::Path;

pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut parser = Parser {
        tokens: tokens(text),
        position: 0,
    };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            Token::Word(_) | Token::Symbol("!") => {}
            Token::End => return Ok(requirements),
            other @ Token::Symbol(_) => {
                return Err(syntax(other, ", expected: !, identifier, or 'end of string'"));
            }
        }
        requirements.push(parser.requirement().map_err(SelectorError::Requirement)?);
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => {}
            other => return Err(syntax(other, ", expected: ',' or 'end of string'")),
        }
        if !matches!(parser.peek(), Token::Word(_) | Token::Symbol("!")) {
            return Err(syntax(parser.peek(), ", expected: identifier after ','"));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    /// A key, a value, or one of the words `in` and `notin`.
    Word(&'t str),
    Symbol(&'t str),
    End,
}

impl<'t> Token<'t> {
    fn literal(self) -> &'t str {
        match self {
            Self::Word(text) | Self::Symbol(text) => text,
            Self::End => "",
        }
    }
}

fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\0')
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut rest = text.trim_start_matches(is_space);
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        let (token, length) = if rest.starts_with(is_symbol) {
            symbol(rest)
        } else {
            word(rest)
        };
        tokens.push(token);
        rest = rest[length..].trim_start_matches(is_space);
    }
    tokens.push(Token::End);
    tokens
}

fn word(text: &str) -> (Token<'_>, usize) {
    let length = text.find(|c| is_symbol(c) || is_space(c)).unwrap_or(text.len());
    (Token::Word(&text[..length]), length)
}

/// The longest symbol at the start of the text; all symbols are one or two characters long and
/// every character that starts one is one.
fn symbol(text: &str) -> (Token<'_>, usize) {
    let length = if text.starts_with("==") || text.starts_with("!=") {
        2
    } else {
        1
    };
    (Token::Symbol(&text[..length]), length)
}

fn syntax(token: Token<'_>, expected: &str) -> SelectorError {
    SelectorError::Syntax(found(token, expected))
}

fn found(token: Token<'_>, expected: &str) -> String {
    format!("found '{}'{expected}", token.literal())
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    position: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Token<'t> {
        self.tokens.get(self.position).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.position += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek() == Token::Symbol("!");
        if negated {
            self.next();
        }
        let key = self.key()?;
        let ends = matches!(self.peek(), Token::End | Token::Symbol(","));
        let (operator, values) = match (negated, ends) {
            (true, _) => (Operator::DoesNotExist, Vec::new()),
            (false, true) => (Operator::Exists, Vec::new()),
            (false, false) => {
                let operator = self.operator()?;
                let values = match operator {
                    Operator::In | Operator::NotIn => self.values()?.into_iter().collect(),
                    _ => vec![self.exact_value()?],
                };
                (operator, values)
            }
        };
        let values = values.into_iter().map(str::to_owned).collect();
        Requirement::new(key, operator, values).map_err(|error| error.to_string())
    }

    fn key(&mut self) -> Result<&'t str, String> {
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(found(other, ", expected: identifier")),
        };
        // The real parser has no path to name here and prints that.
        match check_key(key, &Path::new("<nil>")) {
            Some(error) => Err(error.to_string()),
            None => Ok(key),
        }
    }

    fn operator(&mut self) -> Result<Operator, String> {
        match self.next() {
            Token::Word("in") => Ok(Operator::In),
            Token::Word("notin") => Ok(Operator::NotIn),
            Token::Symbol("=") => Ok(Operator::Equals),
            Token::Symbol("==") => Ok(Operator::DoubleEquals),
            Token::Symbol("!=") => Ok(Operator::NotEquals),
            Token::Symbol(">") => Ok(Operator::GreaterThan),
            Token::Symbol("<") => Ok(Operator::LessThan),
            other => Err(found(other, ", expected: in, notin, =, ==, !=, gt, lt")),
        }
    }

    fn exact_value(&mut self) -> Result<&'t str, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok("");
        }
        match self.next() {
            Token::Word(value) => Ok(value),
            other => Err(found(other, ", expected: identifier")),
        }
    }

    /// `(a,b)`; a value may be left out, which is the empty value.
    fn values(&mut self) -> Result<BTreeSet<&'t str>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(found(other, " expected: '('")),
        }
        match self.peek() {
            Token::Symbol(")") => {
                self.next();
                Ok(BTreeSet::from([""]))
            }
            Token::Word(_) | Token::Symbol(",") => {
                let values = self.value_list()?;
                self.next();
                Ok(values)
            }
            other => Err(found(other, ", expected: ',', ')' or identifier")),
        }
    }

    /// Up to the closing parenthesis, which stays.
    fn value_list(&mut self) -> Result<BTreeSet<&'t str>, String> {
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                Token::Word(value) => {
                    values.insert(value);
                    match self.peek() {
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => return Ok(values),
                        other => return Err(found(other, ", expected: ',' or ')'")),
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() {
                        values.insert("");
                    }
                    match self.peek() {
                        Token::Symbol(")") => {
                            values.insert("");
                            return Ok(values);
                        }
                        Token::Symbol(",") => {
                            self.next();
                            values.insert("");
                        }
                        _ => {}
                    }
                }
                other => return Err(found(other, ", expected: ',', or identifier")),
            }
        }
    }
}
