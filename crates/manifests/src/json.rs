//! JSON as the API server reads it: duplicate fields are reported and the last one wins, numbers
//! are 64-bit integers wherever they can be, and errors use the words clients know from Go.
//!
//! One pass over the input; what is needed only to word an error runs after that pass has failed.

mod indent;
mod order;
mod repair;
mod syntax;
mod write;

use std::collections::HashSet;
use std::fmt;

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

pub use indent::{Indenter, indented};
pub use order::in_document_order;
pub use write::{write, write_text};

use crate::field::quoted;

/// Objects and lists may nest this deep. Everything that walks a value recurses, so this is what
/// keeps a hostile document from exhausting the stack.
pub const MAX_DEPTH: usize = 512;

/// More duplicates than this are not reported.
const MAX_DUPLICATES: usize = 100;

/// A document and what strict decoding has to say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub value: Value,
    /// `duplicate field "data.a"`, in the order of the document, each field once.
    pub duplicates: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Not JSON; the message is the one Go's decoder gives.
    #[error("{message}")]
    Syntax { message: String, offset: usize },
    #[error("json: cannot unmarshal number {0} into Go value of type float64")]
    NumberOutOfRange(String),
}

/// Reads one JSON document.
pub fn parse(bytes: &[u8]) -> Result<Parsed, ParseError> {
    let text = repair::utf8(bytes);
    decode(&text).or_else(|error| explain(bytes, &text, &error))
}

/// Reads a document that was written here, as deep as it may be: what bounds it did so when it came in.
pub fn read_own(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    deserializer.disable_recursion_limit();
    let value = Value::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// The number Go would print: integral floats become integers, which is what they are once they
/// have been written and read again.
pub(crate) fn number(value: f64) -> Value {
    const BOUND: f64 = 9_223_372_036_854_775_808.0; // 2^63
    if value.fract() == 0.0 && (-BOUND..BOUND).contains(&value) {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// The word Go's decoder has for a value of the wrong type.
pub fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn decode(text: &str) -> Result<Parsed, serde_json::Error> {
    let mut duplicates = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let node = Node {
        place: Place::Root,
        depth: 0,
        duplicates: &mut duplicates,
    };
    let value = node.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(Parsed { value, duplicates })
}

/// Either the document is wrong, and this finds Go's words for it, or Go accepts what serde_json
/// does not, and it is read once more.
fn explain(bytes: &[u8], text: &str, error: &serde_json::Error) -> Result<Parsed, ParseError> {
    if let Some(error) = syntax::error(bytes) {
        return Err(error);
    }
    match repair::surrogates(text) {
        Some(repaired) => decode(&repaired).map_err(|error| out_of_range(&repaired, &error)),
        None => Err(out_of_range(text, error)),
    }
}

/// The number literal that ends where the error is.
fn out_of_range(text: &str, error: &serde_json::Error) -> ParseError {
    let numeric = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let line = text
        .split('\n')
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    let before = line.get(..error.column().min(line.len())).unwrap_or_default();
    let start = before.trim_end_matches(numeric).len();
    let literal = &line[start..];
    let end = literal.find(|c| !numeric(c)).unwrap_or(literal.len());
    ParseError::NumberOutOfRange(literal[..end].to_owned())
}

/// Where in the document a value is; a path only when somebody asks for its name.
#[derive(Clone, Copy)]
enum Place<'p> {
    Root,
    Field(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Reads one value, at any place of the document.
struct Node<'p, 'd> {
    place: Place<'p>,
    depth: usize,
    duplicates: &'d mut Vec<String>,
}

impl Node<'_, '_> {
    fn enter<E: serde::de::Error>(&self) -> Result<usize, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom("exceeded max depth"));
        }
        Ok(self.depth + 1)
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or_else(|_| number(value as f64), Value::from))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.enter()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Node {
            place: Place::Item(&self.place, list.len()),
            depth,
            duplicates: self.duplicates,
        })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let depth = self.enter()?;
        let mut object = Map::new();
        let mut repeated = HashSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            let seen = self.duplicates.len();
            let value = fields.next_value_seed(Node {
                place: Place::Field(&self.place, &name),
                depth,
                duplicates: self.duplicates,
            })?;
            match object.entry(name) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(mut entry) => {
                    if seen < MAX_DUPLICATES && repeated.insert(entry.key().clone()) {
                        report(self.duplicates, seen, Place::Field(&self.place, entry.key()));
                    }
                    entry.insert(value);
                }
            }
        }
        Ok(Value::Object(object))
    }
}

/// A repeated field is named before the repeated fields inside of it.
fn report(duplicates: &mut Vec<String>, at: usize, place: Place<'_>) {
    let message = duplicate_field(place);
    if !duplicates.contains(&message) {
        duplicates.insert(at, message);
        duplicates.truncate(MAX_DUPLICATES);
    }
}

fn duplicate_field(place: Place<'_>) -> String {
    format!("duplicate field {}", quoted(&place.to_string()))
}

fn unknown_field(place: Place<'_>) -> String {
    format!("unknown field {}", quoted(&place.to_string()))
}

#[cfg(test)]
mod tests;
