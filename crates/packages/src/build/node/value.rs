//! From nodes to values and back. This is where scalars get their meaning, and where a name that stands in
//! a map twice is found.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use manifests::yaml::{Style, is_plain_text, shortest_float};
use serde_json::{Number, Value};

use super::{
    super::problem::{Outcome, Problem},
    At, Content, Map, Node, Scalar, Tag,
    resolve::{Resolved, resolve},
};

/// The value of a whole document.
pub(in super::super) fn into_value(node: Node) -> Outcome<Value> {
    let at = node.at;
    match node.content {
        // The keys of the document itself are taken as text whatever they are.
        Content::Map(map) => map_value(map, at, false),
        content => value(Node { content, at }),
    }
}

pub(in super::super) fn to_value(node: &Node) -> Outcome<Value> {
    into_value(node.clone())
}

/// A value as the reference has it after it was JSON: every number is a float.
pub(in super::super) fn from_value(value: Value) -> Node {
    match value {
        Value::Null => Node::scalar(Scalar::new("null", Tag::Null)),
        Value::Bool(value) => Node::scalar(Scalar::new(value.to_string(), Tag::Bool)),
        Value::Number(number) => {
            let text = shortest_float(number.as_f64().unwrap_or_default());
            let tag = resolve(&text).tag();
            Node::scalar(Scalar::new(text, tag))
        }
        Value::String(text) => {
            let style = if text.contains('\n') {
                Style::Literal
            } else if is_plain_text(&text) {
                Style::Plain
            } else {
                Style::DoubleQuoted
            };
            Node::scalar(Scalar {
                text,
                tag: Tag::Text,
                style,
                link: 0,
            })
        }
        Value::Array(items) => Node::new(Content::List(items.into_iter().map(from_value).collect())),
        Value::Object(fields) => {
            let mut map = Map::default();
            for (name, value) in fields {
                map.push(Scalar::new(name, Tag::Text), from_value(value));
            }
            Node::new(Content::Map(map))
        }
    }
}

/// The longest key that readers find again in one line, with its quotes.
const LONGEST_KEY: usize = 1024;

fn value(node: Node) -> Outcome<Value> {
    match node.content {
        Content::Scalar(scalar) => scalar_value(scalar)
            .and_then(|value| match value.as_str().and_then(unreadable) {
                Some(problem) => Err(problem),
                None => Ok(value),
            })
            .map_err(|problem| problem.at(node.at)),
        Content::List(items) => items.into_iter().map(value).collect(),
        Content::Map(map) => map_value(map, node.at, true),
    }
}

fn map_value(map: Map, at: At, check_keys: bool) -> Outcome<Value> {
    let mut fields = serde_json::Map::new();
    for entry in map.entries {
        if check_keys && !is_text_key(&entry.key) {
            let key = &entry.key.text;
            return Err(Problem::new(format!("the key `{key}` is not text"))
                .at(or(entry.at, at))
                .help(format!("write it in quotes: `\"{key}\"`")));
        }
        let name = entry.key.text;
        if let Some(problem) = unreadable(&name).or_else(|| too_long(&name)) {
            return Err(problem.at(or(entry.at, at)));
        }
        let value = value(entry.value)?;
        if fields.contains_key(&name) {
            return Err(Problem::new(format!("the key `{name}` is there twice"))
                .at(or(entry.at, at))
                .help("keep one of them"));
        }
        fields.insert(name, value);
    }
    Ok(Value::Object(fields))
}

/// What is wrong with text that has characters which no YAML may have, not even what is printed here.
fn unreadable(text: &str) -> Option<Problem> {
    // Nearly all text has no byte that these begin with.
    if !text.bytes().any(|byte| matches!(byte, 0x7F | 0xC2 | 0xEF)) {
        return None;
    }
    let is_control = |c: &char| matches!(c, '\u{7F}'..='\u{9F}' if *c != '\u{85}');
    let found = text
        .chars()
        .find(|c| is_control(c) || matches!(c, '\u{FFFE}' | '\u{FFFF}'))?;
    let problem = format!(
        "the text has the character U+{:04X}, which YAML does not allow",
        u32::from(found)
    );
    Some(Problem::new(problem).help("leave it out, or keep the text in a file of a generator"))
}

fn too_long(key: &str) -> Option<Problem> {
    let is_long = key.len() > LONGEST_KEY - 2 && key.chars().count() > LONGEST_KEY - 2;
    is_long.then(|| {
        Problem::new(format!(
            "a key must not be longer than {} characters",
            LONGEST_KEY - 2
        ))
    })
}

fn or(at: At, other: At) -> At {
    if at.line > 0 { at } else { other }
}

fn is_text_key(key: &Scalar) -> bool {
    match key.tag {
        Tag::None if key.style == Style::Plain => {
            matches!(resolve(&key.text), Resolved::Text | Resolved::Merge)
        }
        Tag::Text | Tag::Merge | Tag::None => true,
        _ => false,
    }
}

fn scalar_value(scalar: Scalar) -> Outcome<Value> {
    let is_plain = scalar.style == Style::Plain && !scalar.text.contains('\n');
    match scalar.tag {
        Tag::Text | Tag::Other(_) => Ok(scalar.text.into()),
        Tag::None if !is_plain => Ok(scalar.text.into()),
        Tag::None => resolved_value(resolve(&scalar.text), scalar.text),
        Tag::Binary => binary(&scalar.text),
        tag => {
            let resolved = resolve(&scalar.text);
            if tag == resolved.tag() {
                return if is_plain {
                    resolved_value(resolved, scalar.text)
                } else {
                    Ok(scalar.text.into())
                };
            }
            match (tag, resolved) {
                (Tag::Float, Resolved::Integer(value)) => float(value as f64),
                (tag, _) if scalar.text.is_empty() => Err(Problem::new(format!(
                    "{} was here, and a map, a list or nothing was put in its place",
                    name(&tag)
                ))
                .help("let the `fieldPath` of the replacement lead to a single value")),
                (tag, _) => Err(Problem::new(format!("`{}` is not {}", scalar.text, name(&tag)))
                    .help("the field held another type before: quote its value where it is defined")),
            }
        }
    }
}

fn resolved_value(resolved: Resolved, text: String) -> Outcome<Value> {
    match resolved {
        Resolved::Null => Ok(Value::Null),
        Resolved::Bool(value) => Ok(value.into()),
        Resolved::Integer(value) => Ok(value.into()),
        Resolved::Unsigned(value) => Ok(value.into()),
        Resolved::Float(value) => float(value),
        Resolved::Time(time) => Ok(time.into()),
        Resolved::Merge | Resolved::Text => Ok(text.into()),
    }
}

fn float(value: f64) -> Outcome<Value> {
    let problem =
        || Problem::new(format!("JSON has no number `{value}`")).help("write it as text, in quotes");
    Number::from_f64(value).map(Value::Number).ok_or_else(problem)
}

fn binary(text: &str) -> Outcome<Value> {
    let text: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    let bytes = BASE64_STANDARD
        .decode(text)
        .map_err(|_| Problem::new("!!binary value contains invalid base64 data"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}

fn name(tag: &Tag) -> &'static str {
    match tag {
        Tag::Integer => "a whole number",
        Tag::Float => "a number",
        Tag::Bool => "true or false",
        Tag::Null => "null",
        Tag::Time => "a time",
        _ => "text",
    }
}
