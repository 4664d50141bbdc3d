//! YAML as kubectl reads it: YAML 1.1 booleans and octal file modes, merge keys, keys that are not
//! strings turned into strings, and numbers as JSON has them.

mod problem;

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};
use serde_saphyr::{DuplicateKeyPolicy, NonFiniteFloatPolicy, Options, Spanned};

use crate::field::quoted;
pub use crate::json::Parsed;
use crate::json::{self, number};

/// Mappings and lists may nest this deep. Less than in JSON: reading a level takes far more stack.
pub const MAX_DEPTH: usize = 64;

/// One document of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The line its first value is on, counted from one.
    pub line: u64,
    pub value: Value,
    /// `line 5: key "a" already set in map`, in the order of the document.
    pub duplicates: Vec<String>,
}

/// What is wrong and where; lines and columns are counted from one, zero when unknown. Shown in the
/// words of kubectl's reader, which says the line only from the second on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("yaml: {}{message}", problem::place(*line, message))]
pub struct YamlError {
    pub line: u64,
    pub column: u64,
    pub message: String,
}

/// A value as a YAML document. A value always has one; should the writer refuse it, JSON is YAML too.
pub fn to_string(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string())
}

/// Reads every document that is not empty.
pub fn parse_documents(text: &str) -> Result<Vec<Document>, YamlError> {
    let documents = serde_saphyr::from_multiple_with_options::<Spanned<Node>>(text, options());
    let documents = documents.map_err(|error| located(text, &error))?;
    Ok(documents
        .into_iter()
        .map(|document| Document {
            line: document.referenced.line(),
            value: document.value.value,
            duplicates: document.value.duplicates,
        })
        .collect())
}

/// Reads the first document; an empty one is null.
pub fn parse(bytes: &[u8]) -> Result<Parsed, YamlError> {
    // Most clients send JSON, which is YAML but many times faster to read as what it is. Repeated
    // keys are left to the YAML reader, which reports them by their line.
    if bytes.trim_ascii_start().starts_with(b"{")
        && let Ok(parsed) = json::parse(bytes)
        && parsed.duplicates.is_empty()
    {
        return Ok(parsed);
    }
    let text = str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
    let document = parse_documents(text)?.into_iter().next();
    let (value, duplicates) = document.map_or_else(Default::default, |d| (d.value, d.duplicates));
    Ok(Parsed { value, duplicates })
}

/// How strict decoding reports repeated keys, in one error for all of them.
pub fn duplicates_error(duplicates: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", duplicates.join("\n  "))
}

/// Streams of thousands of documents are ordinary, so only what costs more than the input itself
/// is limited: nesting, and what aliases expand to.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_documents: usize::MAX,
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_merge_keys: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
        },
        emit_comments: false,
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        with_snippet: false,
    }
}

fn located(text: &str, error: &serde_saphyr::Error) -> YamlError {
    let told = error.without_snippet().to_string();
    let (line, column) = match error.location() {
        // Kubectl's reader stands behind the last line when it finds that an end is missing.
        _ if problem::is_missing_end(&told) => (text.lines().count() as u64 + 1, 1),
        Some(location) => (location.line(), location.column()),
        None => (0, 0),
    };
    YamlError {
        line,
        column,
        message: problem::words(&told),
    }
}

fn not_utf8(bytes: &[u8], valid: usize) -> YamlError {
    let before = &bytes[..valid];
    let line = before.split(|byte| *byte == b'\n').count() as u64;
    let column = before.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len) as u64 + 1;
    YamlError {
        line,
        column,
        message: "invalid UTF-8".to_owned(),
    }
}

/// A value and the repeated keys inside of it.
#[derive(Default)]
struct Node {
    value: Value,
    duplicates: Vec<String>,
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self {
            value,
            duplicates: Vec::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::default())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Value::Bool(value).into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Value::from(value).into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(i64::try_from(value)
            .map_or_else(|_| number(value as f64), Value::from)
            .into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(number(value).into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Value::from(value).into())
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Value::String(value).into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        let mut duplicates = Vec::new();
        while let Some(mut item) = items.next_element::<Node>()? {
            duplicates.append(&mut item.duplicates);
            list.push(item.value);
        }
        Ok(Node {
            value: Value::Array(list),
            duplicates,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut object = Map::new();
        let mut duplicates = Vec::new();
        while let Some(Spanned {
            value: key,
            referenced,
            ..
        }) = entries.next_key::<Spanned<Node>>()?
        {
            let key = key.value;
            let mut node: Node = entries.next_value()?;
            duplicates.append(&mut node.duplicates);
            match object.entry(key_text(&key).map_err(A::Error::custom)?) {
                Entry::Vacant(entry) => {
                    entry.insert(node.value);
                }
                Entry::Occupied(mut entry) => {
                    duplicates.push(already_set(referenced.line(), &key));
                    entry.insert(node.value);
                }
            }
        }
        Ok(Node {
            value: Value::Object(object),
            duplicates,
        })
    }
}

/// JSON has only strings as keys; `1: x` and `on: x` are what kubectl makes of them.
fn key_text(key: &Value) -> Result<String, String> {
    match key {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => Ok(key.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(format!("unsupported map key {key}")),
    }
}

fn already_set(line: u64, key: &Value) -> String {
    let key = key.as_str().map_or_else(|| key.to_string(), quoted);
    format!("line {line}: key {key} already set in map")
}

#[cfg(test)]
mod tests;
