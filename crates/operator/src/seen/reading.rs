//! An object read in part: what nobody asks for is passed over while it is read. The fields each writer owns are
//! half of an object, and most of the rest of a pod is what it was made of.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

/// Everything but some fields.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    unread: &'static [&'static str],
    /// Below `metadata` nothing is called so.
    is_whole: bool,
}

impl Reading {
    pub(super) fn without(unread: &'static [&'static str]) -> Self {
        Self {
            unread,
            is_whole: true,
        }
    }

    const fn metadata() -> Self {
        Self {
            unread: &["managedFields"],
            is_whole: false,
        }
    }

    pub(super) fn object<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> DeserializeSeed<'de> for Reading {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.object(deserializer)
    }
}

impl<'de> Visitor<'de> for Reading {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if self.unread.contains(&name.as_str()) {
                fields.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = if self.is_whole && name == "metadata" {
                fields.next_value_seed(Self::metadata())?
            } else {
                fields.next_value()?
            };
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_asked_for_is_passed_over() {
        let text = json!({
            "kind": "Pod",
            "metadata": {"name": "p", "managedFields": [{"manager": "m"}], "annotations": {"spec": "kept"}},
            "spec": {"containers": [{"name": "c"}]},
            "status": {"phase": "Running"},
        })
        .to_string();
        let mut deserializer = serde_json::Deserializer::from_str(&text);
        let read = Reading::without(&["spec"]).object(&mut deserializer).unwrap();
        let expected = json!({
            "kind": "Pod",
            "metadata": {"name": "p", "annotations": {"spec": "kept"}},
            "status": {"phase": "Running"},
        });
        assert_eq!(read, expected);
    }
}
