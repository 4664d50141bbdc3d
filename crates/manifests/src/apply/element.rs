//! Path elements: how one step from a value to a value inside of it is named, written and ordered.

use std::{cmp::Ordering, fmt};

use serde_json::Value;

use super::go_text::{plain_number, write_json, write_json_text};
use crate::{
    field::quoted,
    shape::{ListKind, Shape},
};

/// One step of a field path.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// The field of an object or the entry of a map.
    Field(String),
    /// The item of a list whose fields have these values, sorted by name.
    Key(Vec<(String, Value)>),
    /// The item of a set.
    Value(Value),
    /// The item at a position.
    Index(i64),
}

/// Why the text of a path element cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElementError {
    #[error("key must be 2 characters long:")]
    TooShort,
    #[error("missing colon: {0}")]
    NoColon(String),
    #[error("invalid value: {0}")]
    Invalid(String),
    /// A later version may know it; readers skip it.
    #[error("unknown path element type")]
    Unknown,
}

impl Element {
    /// Reads an element as `fieldsV1` spells it: `f:name`, `k:{…}`, `v:…` or `i:…`.
    pub fn parse(text: &str) -> Result<Self, ElementError> {
        let mut chars = text.chars();
        let (Some(kind), Some(colon)) = (chars.next(), chars.next()) else {
            return Err(ElementError::TooShort);
        };
        if colon != ':' {
            return Err(ElementError::NoColon(text.to_owned()));
        }
        let content = chars.as_str();
        let invalid = || ElementError::Invalid(text.to_owned());
        match kind {
            'f' => Ok(Self::Field(content.to_owned())),
            'v' => Ok(Self::Value(floating(
                serde_json::from_str(content).map_err(|_| invalid())?,
            ))),
            'k' => match serde_json::from_str(content) {
                Ok(Value::Object(fields)) => {
                    let mut fields: Vec<_> = fields
                        .into_iter()
                        .map(|(name, value)| (name, floating(value)))
                        .collect();
                    fields.sort_by(|a, b| a.0.cmp(&b.0));
                    Ok(Self::Key(fields))
                }
                Ok(Value::Null) => Ok(Self::Key(Vec::new())),
                _ => Err(invalid()),
            },
            'i' => Ok(Self::Index(content.parse().map_err(|_| invalid())?)),
            _ => Err(ElementError::Unknown),
        }
    }

    /// The text of the element in `fieldsV1`.
    pub fn to_text(&self) -> String {
        match self {
            Self::Field(name) => field_text(name),
            Self::Key(fields) => key_text(fields.iter().map(|(name, value)| (name.as_str(), value))),
            Self::Value(value) => value_text(value),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }

    /// The order of elements in `fieldsV1` and in lists of conflicts.
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                let pairs = a
                    .iter()
                    .zip(b)
                    .map(|(a, b)| a.0.cmp(&b.0).then_with(|| value_order(&a.1, &b.1)));
                first_difference(pairs).then(a.len().cmp(&b.len()))
            }
            (Self::Value(a), Self::Value(b)) => value_order(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// Elements as users read them in errors: `.spec`, `[name="web"]`, `[="a"]`, `[0]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{name}={}", if i > 0 { "," } else { "" }, shown_value(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", shown_value(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The text of a field's element.
pub(super) fn field_text(name: &str) -> String {
    ["f:", name].concat()
}

/// An element of `fieldsV1` in the words of errors, read when it is shown.
pub(super) fn shown(text: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| match Element::parse(text) {
        Ok(element) => fmt::Display::fmt(&element, f),
        Err(_) => f.write_str(text),
    })
}

/// The element of a list item as `fieldsV1` spells it, or why the item has none.
pub(super) fn item_text<S: Shape>(list: &S, item: &Value) -> Result<String, String> {
    match list.list_kind() {
        ListKind::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        ListKind::Set => match item {
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            scalar => Ok(value_text(scalar)),
        },
        ListKind::Map(keys) => keyed_item_text(list, keys, item),
    }
}

fn keyed_item_text<S: Shape>(list: &S, keys: &[&str], item: &Value) -> Result<String, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    if let [key] = keys
        && let Some(value) = fields.get(*key)
    {
        return Ok(key_text(std::iter::once((*key, value))));
    }
    let defaults: Vec<Option<Value>> = keys
        .iter()
        .map(|key| {
            if fields.contains_key(*key) {
                None
            } else {
                list.key_default(key)
            }
        })
        .collect();
    let mut found: Vec<(&str, &Value)> = keys
        .iter()
        .zip(&defaults)
        .filter_map(|(key, default)| Some((*key, fields.get(*key).or(default.as_ref())?)))
        .collect();
    if found.is_empty() {
        let keys = keys.iter().map(|key| quoted(key)).collect::<Vec<_>>().join(" ");
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{keys}] \
             (and doesn't have default values for any key fields)"
        ));
    }
    found.sort_by_key(|(name, _)| *name);
    Ok(key_text(found.into_iter()))
}

fn key_text<'a>(fields: impl Iterator<Item = (&'a str, &'a Value)>) -> String {
    let mut out = String::from("k:{");
    for (i, (name, value)) in fields.enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_json_text(&mut out, name, false);
        out.push(':');
        write_json(&mut out, value);
    }
    out.push('}');
    out
}

fn value_text(value: &Value) -> String {
    let mut out = String::from("v:");
    write_json(&mut out, value);
    out
}

/// Go reads every number of a stored element as a float, which shows in messages.
fn floating(value: Value) -> Value {
    match value.as_f64() {
        Some(float) => Value::from(float),
        None => value,
    }
}

fn shown_value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) => plain_number(number),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(shown_value).collect::<Vec<_>>().join(",")
        ),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}={}", shown_value(value)));
            fields.collect::<Vec<_>>().concat()
        }
        other => other.to_string(),
    }
}

/// Numbers before strings before booleans before lists before objects before null.
fn value_order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            first_difference(a.iter().zip(b).map(|(a, b)| value_order(a, b))).then(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let pairs = a
                .iter()
                .zip(b)
                .map(|(a, b)| a.0.cmp(b.0).then_with(|| value_order(a.1, b.1)));
            first_difference(pairs).then(a.len().cmp(&b.len()))
        }
        _ => value_rank(a).cmp(&value_rank(b)),
    }
}

fn value_rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
