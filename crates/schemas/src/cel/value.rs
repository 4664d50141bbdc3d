//! Values at run time. Objects under validation are not copied: lists and maps of them are borrowed
//! together with their schema, and read as expressions look into them.

use std::{cmp::Ordering, collections::BTreeMap, fmt, ops::Deref, sync::Arc};

use kube_cel::cel::Value as Foreign;
use serde_json::{Map, Value};

use super::{authorization::Inquiry, escape::unescape, time};
use crate::structural::{Kind, ListType, Structural};

#[derive(Clone, Debug)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Text<'a>),
    Bytes(Arc<[u8]>),
    /// In nanoseconds.
    Duration(i64),
    Timestamp(time::Instant),
    List(List<'a>),
    Map(MapVal<'a>),
    Optional(Option<Arc<Val<'a>>>),
    /// A type, by its name.
    Type(Arc<str>),
    /// A value of a library: a quantity, an address, a URL, ...
    Foreign(Foreign),
    /// A question about permissions, or its answer.
    Inquiry(Arc<Inquiry>),
}

/// Text that is borrowed or made.
#[derive(Clone)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Made(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Made(text.into())
    }
}

#[derive(Clone, Debug)]
pub(crate) enum List<'a> {
    Json {
        items: &'a [Value],
        schema: Option<&'a Structural>,
    },
    Made(Arc<Vec<Val<'a>>>),
}

#[derive(Clone, Debug)]
pub(crate) enum MapVal<'a> {
    Json {
        entries: &'a Map<String, Value>,
        schema: Option<&'a Structural>,
    },
    Made(Arc<BTreeMap<Key, Val<'a>>>),
}

/// What can key a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Bool(bool),
    Int(i64),
    UInt(u64),
    Text(Arc<str>),
}

impl<'a> Val<'a> {
    /// A JSON value as its schema types it; without a schema, as it looks.
    pub(crate) fn of(value: &'a Value, schema: Option<&'a Structural>) -> Self {
        let kind = schema.and_then(|schema| schema.kind);
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => match (kind, number.as_i64()) {
                (Some(Kind::Number), _) | (_, None) => Self::Double(number.as_f64().unwrap_or_default()),
                (_, Some(integer)) => Self::Int(integer),
            },
            Value::String(text) => typed_text(text, schema),
            Value::Array(items) => Self::List(List::Json { items, schema }),
            Value::Object(entries) => Self::Map(MapVal::Json { entries, schema }),
        }
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into().into())
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List::Made(Arc::new(items)))
    }

    /// The name of the type of the value.
    pub(crate) fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::UInt(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Foreign(Foreign::Opaque(opaque)) => opaque.runtime_type_name(),
            Self::Foreign(_) => "dyn",
            Self::Inquiry(inquiry) => inquiry.type_name(),
        }
    }

    /// How much there is to go through: characters, items, entries; one for everything else.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Text(text) => text.chars().count() as u64,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            Self::Optional(Some(value)) => value.size(),
            _ => 1,
        }
    }

    pub(crate) fn key(&self) -> Option<Key> {
        Some(match self {
            Self::Bool(flag) => Key::Bool(*flag),
            Self::Int(integer) => Key::Int(*integer),
            Self::UInt(integer) => Key::UInt(*integer),
            Self::Text(text) => Key::Text(Arc::from(&**text)),
            Self::Double(double) if double.fract() == 0.0 => Key::Int(*double as i64),
            _ => return None,
        })
    }

    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => **a == **b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Type(a), Self::Type(b)) => a == b,
            (Self::List(a), Self::List(b)) => a.equals(b),
            (Self::Map(a), Self::Map(b)) => a.equals(b),
            (Self::Optional(a), Self::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals(b),
                (None, None) => true,
                _ => false,
            },
            (Self::Foreign(a), Self::Foreign(b)) => a == b,
            _ => self.compare(other) == Some(Ordering::Equal),
        }
    }

    /// The order of two values; `None` when they have none.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) | (Self::Duration(a), Self::Duration(b)) => Some(a.cmp(b)),
            (Self::UInt(a), Self::UInt(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::UInt(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Self::UInt(a), Self::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Self::Text(a), Self::Text(b)) => Some((**a).cmp(&**b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::Timestamp(a), Self::Timestamp(b)) => Some(a.cmp(b)),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(b),
            (Self::Double(a), Self::Int(b)) => a.partial_cmp(&(*b as f64)),
            (Self::Int(a), Self::Double(b)) => (*a as f64).partial_cmp(b),
            (Self::Double(a), Self::UInt(b)) => a.partial_cmp(&(*b as f64)),
            (Self::UInt(a), Self::Double(b)) => (*a as f64).partial_cmp(b),
            _ => None,
        }
    }
}

/// Text that a format makes into something else.
fn typed_text<'a>(text: &'a str, schema: Option<&Structural>) -> Val<'a> {
    let format = schema.map_or("", |schema| schema.checks().format_name.as_str());
    let special = match format {
        "duration" => time::duration_with_words(text).map(Val::Duration),
        "date" => time::Instant::of_date(text).map(Val::Timestamp),
        "date-time" => time::Instant::parse(text).map(Val::Timestamp),
        "byte" => super::library::decode_base64(text).map(|bytes| Val::Bytes(bytes.into())),
        _ => None,
    };
    special.unwrap_or(Val::Text(Text::Borrowed(text)))
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json { items, .. } => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Val<'a>> {
        match self {
            Self::Json { items, schema } => Some(Val::of(
                items.get(index)?,
                schema.and_then(|schema| schema.items.as_deref()),
            )),
            Self::Made(items) => items.get(index).cloned(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Val<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    pub(crate) fn contains(&self, value: &Val<'a>) -> bool {
        self.iter().any(|item| item.equals(value))
    }

    /// Sets and map lists are equal whatever the order of their items.
    fn equals(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        match self {
            Self::Json {
                items,
                schema: Some(schema),
            } if schema.list == ListType::Map => {
                let index = schema.index(items);
                let item_schema = schema.items.as_deref();
                let Self::Json { items: others, .. } = other else {
                    return self.equals_in_order(other);
                };
                others.iter().all(|other| {
                    let same = index.as_ref().and_then(|index| schema.lookup(other, index));
                    same.is_some_and(|same| Val::of(same, item_schema).equals(&Val::of(other, item_schema)))
                })
            }
            Self::Json {
                schema: Some(schema), ..
            } if schema.list == ListType::Set => other.iter().all(|item| self.contains(&item)),
            _ => self.equals_in_order(other),
        }
    }

    fn equals_in_order(&self, other: &Self) -> bool {
        self.iter().zip(other.iter()).all(|(a, b)| a.equals(&b))
    }

    /// The two lists one after the other. A set takes only what it has not; a map list takes over
    /// items with keys it has.
    pub(crate) fn concatenated(self, other: &Self) -> Self {
        let schema = match &self {
            Self::Json { schema, .. } => *schema,
            Self::Made(_) => None,
        };
        let mut items = match self {
            Self::Made(items) => items,
            Self::Json { .. } => Arc::new(self.iter().collect()),
        };
        let made = Arc::make_mut(&mut items);
        match schema.map(|schema| (schema.list, schema)) {
            Some((ListType::Set, _)) => {
                for item in other.iter() {
                    if !made.iter().any(|known| known.equals(&item)) {
                        made.push(item);
                    }
                }
            }
            Some((ListType::Map, schema)) => {
                let key = |item: &Val<'a>| -> Vec<Option<Key>> {
                    let Val::Map(map) = item else { return Vec::new() };
                    schema
                        .list_keys
                        .iter()
                        .map(|name| map.get_text(name).and_then(|value| value.key()))
                        .collect()
                };
                let mut places: BTreeMap<_, _> =
                    made.iter().enumerate().map(|(i, item)| (key(item), i)).collect();
                for item in other.iter() {
                    if let Some(&place) = places.get(&key(&item)) {
                        made[place] = item;
                    } else {
                        places.insert(key(&item), made.len());
                        made.push(item);
                    }
                }
            }
            _ => made.extend(other.iter()),
        }
        Self::Made(items)
    }
}

impl<'a> MapVal<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json { entries, .. } => entries.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Val<'a>> {
        match (self, key) {
            (Self::Json { .. }, Key::Text(name)) => self.get_text(name),
            (Self::Json { .. }, _) => None,
            (Self::Made(entries), key) => entries
                .get(key)
                .or_else(|| entries.get(&other_number(key)?))
                .cloned(),
        }
    }

    pub(crate) fn get_text(&self, name: &str) -> Option<Val<'a>> {
        match self {
            Self::Json { entries, schema } => Some(Val::of(
                entries.get(name)?,
                schema.and_then(|schema| schema.field(name)),
            )),
            Self::Made(entries) => entries.get(&Key::Text(Arc::from(name))).cloned(),
        }
    }

    /// A field by the identifier expressions use for it.
    pub(crate) fn select(&self, identifier: &str) -> Option<Val<'a>> {
        match self {
            Self::Json {
                schema: Some(schema), ..
            } if schema.additional_schema().is_none() => {
                if identifier.contains("__") {
                    self.get_text(&unescape(identifier)?)
                } else {
                    self.get_text(identifier)
                }
            }
            _ => self.get_text(identifier),
        }
    }

    /// The keys and values, in the order of the keys.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = (Val<'a>, Val<'a>)> + '_> {
        match self {
            Self::Json { entries, schema } => Box::new(entries.iter().map(|(name, value)| {
                let value = Val::of(value, schema.and_then(|schema| schema.field(name)));
                (Val::Text(Text::Borrowed(name)), value)
            })),
            Self::Made(entries) => Box::new(entries.iter().map(|(key, value)| (key.to_val(), value.clone()))),
        }
    }

    pub(crate) fn keys(&self) -> Vec<Val<'a>> {
        match self {
            Self::Json { entries, .. } => entries
                .iter()
                .map(|(name, _)| Val::Text(Text::Borrowed(name)))
                .collect(),
            Self::Made(entries) => entries.keys().map(Key::to_val).collect(),
        }
    }

    fn equals(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.keys().iter().all(|key| {
                let Some(key) = key.key() else { return false };
                matches!((self.get(&key), other.get(&key)), (Some(a), Some(b)) if a.equals(&b))
            })
    }
}

/// The same whole number in the other integer type.
fn other_number(key: &Key) -> Option<Key> {
    match key {
        Key::Int(number) => u64::try_from(*number).ok().map(Key::UInt),
        Key::UInt(number) => i64::try_from(*number).ok().map(Key::Int),
        _ => None,
    }
}

impl Key {
    pub(crate) fn to_val<'a>(&self) -> Val<'a> {
        match self {
            Self::Bool(flag) => Val::Bool(*flag),
            Self::Int(integer) => Val::Int(*integer),
            Self::UInt(integer) => Val::UInt(*integer),
            Self::Text(text) => Val::Text(Text::Made(Arc::clone(text))),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(flag) => write!(f, "{flag}"),
            Self::Int(integer) => write!(f, "{integer}"),
            Self::UInt(integer) => write!(f, "{integer}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}
