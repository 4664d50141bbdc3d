//! Types that take what users write: numbers as texts, texts as numbers, null for an empty list.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

use super::{ParallelSteps, Step};

/// A text, which may have been written as a number or a truth.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AnyText(pub String);

impl From<&str> for AnyText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for AnyText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl<'de> Deserialize<'de> for AnyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Self::default()),
            Value::String(text) => Ok(Self(text)),
            Value::Object(_) | Value::Array(_) => Err(D::Error::custom(
                "a text is needed here; write a list or a map as JSON, in quotes",
            )),
            scalar => Ok(Self(scalar.to_string())),
        }
    }
}

/// A number, or a text that will be one when its variables are known.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Number {
    Integer(i64),
    Float(f64),
    Text(String),
}

impl Number {
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Float(number) => Some(*number as i64),
            Self::Text(text) => text.trim().parse().ok(),
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(number) => number.fmt(formatter),
            Self::Float(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
        }
    }
}

/// A list, or null.
pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<Vec<T>>::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl<'de> Deserialize<'de> for ParallelSteps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let steps = match Value::deserialize(deserializer)? {
            Value::Null => Ok(Vec::new()),
            list @ Value::Array(_) => serde_json::from_value(list),
            one => serde_json::from_value::<Step>(one).map(|step| vec![step]),
        };
        steps.map(Self).map_err(D::Error::custom)
    }
}

/// What is like this was not given, and is not written.
pub(super) fn is_unset<T: Unset>(value: &T) -> bool {
    value.is_unset()
}

pub(super) trait Unset {
    fn is_unset(&self) -> bool;
}

impl Unset for String {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

impl Unset for AnyText {
    fn is_unset(&self) -> bool {
        self.0.is_empty()
    }
}

impl Unset for bool {
    fn is_unset(&self) -> bool {
        !self
    }
}

impl Unset for Value {
    fn is_unset(&self) -> bool {
        self.is_null()
    }
}

impl<T> Unset for Option<T> {
    fn is_unset(&self) -> bool {
        self.is_none()
    }
}

impl<T> Unset for Vec<T> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

impl<K, V> Unset for BTreeMap<K, V> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

impl Unset for Map<String, Value> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

macro_rules! unset_when_default {
    ($($type:ty),*) => {
        $(impl Unset for $type {
            fn is_unset(&self) -> bool {
                *self == Self::default()
            }
        })*
    };
}

unset_when_default!(
    super::Arguments,
    super::Inputs,
    super::Outputs,
    super::Metadata,
    super::MemoCache,
    super::KeyRef
);
