//! Values as the server's own types write them. A few complaints show a whole value, with the field
//! names, the order and the nulls of those types; users search for these texts, so they are kept.

use std::fmt::Write as _;

use serde::Serialize as _;
use serde_json::Value;

use crate::read;

/// A field: its name in the API, its name inside, and what it holds.
pub(crate) struct Member(pub(crate) &'static str, pub(crate) &'static str, pub(crate) Type);

/// What a field holds, and so what stands there when it is missing.
pub(crate) enum Type {
    Text,
    Number,
    Truth,
    /// Anything that is null when missing and looks the same inside and outside.
    Any,
    /// Always there.
    Struct(&'static [Member]),
    /// Null when missing.
    Pointer(&'static [Member]),
    List(&'static [Member]),
    /// A label selector; it keeps its outside names.
    Selector,
    /// Null when missing; names get a capital, and fields without a value are left out.
    Raised,
}

/// A value ready to be written.
pub(crate) enum Shown<'a> {
    Json(&'a Value),
    /// The literal for a missing value.
    Zero(&'static str),
    Object(Vec<(String, Shown<'a>)>),
    List(Vec<Shown<'a>>),
}

impl<'a> Shown<'a> {
    pub(crate) fn of(value: &'a Value, members: &'static [Member]) -> Self {
        let fields = members.iter().map(|Member(outside, inside, kind)| {
            ((*inside).to_owned(), Self::typed(read::get(value, outside), kind))
        });
        Self::Object(fields.collect())
    }

    fn typed(value: &'a Value, kind: &'static Type) -> Self {
        match (kind, value) {
            (Type::Struct(members), _) => Self::of(value, members),
            (Type::Text, Value::Null) => Self::Zero("\"\""),
            (Type::Number, Value::Null) => Self::Zero("0"),
            (Type::Truth, Value::Null) => Self::Zero("false"),
            (_, Value::Null) => Self::Zero("null"),
            (Type::Pointer(members), _) => Self::of(value, members),
            (Type::List(members), Value::Array(items)) => {
                Self::List(items.iter().map(|item| Self::of(item, members)).collect())
            }
            (Type::Selector, _) => Self::named(value, &["matchLabels", "matchExpressions"]),
            (Type::Raised, _) => Self::raised(value),
            _ => Self::Json(value),
        }
    }

    /// The named fields that are there.
    fn named(value: &'a Value, names: &[&str]) -> Self {
        let present = names.iter().filter(|name| read::has(value, name));
        Self::Object(
            present
                .map(|name| ((*name).to_owned(), Self::Json(read::get(value, name))))
                .collect(),
        )
    }

    fn raised(value: &'a Value) -> Self {
        match value {
            Value::Object(fields) => Self::Object(
                fields
                    .iter()
                    .map(|(name, value)| (raise(name), Self::raised(value)))
                    .collect(),
            ),
            other => Self::Json(other),
        }
    }

    /// On one line.
    pub(crate) fn compact(&self) -> String {
        let mut out = String::new();
        self.write_compact(&mut out);
        out
    }

    /// On many lines, each level one blank further in.
    pub(crate) fn pretty(&self) -> String {
        let mut out = String::new();
        self.write_pretty(0, &mut out);
        out
    }

    fn write_compact(&self, out: &mut String) {
        match self {
            Self::Json(value) => {
                let _ = write!(out, "{value}");
            }
            Self::Zero(literal) => out.push_str(literal),
            Self::Object(fields) => {
                for (index, (name, value)) in fields.iter().enumerate() {
                    let _ = write!(out, "{}\"{name}\":", if index == 0 { "{" } else { "," });
                    value.write_compact(out);
                }
                out.push_str(if fields.is_empty() { "{}" } else { "}" });
            }
            Self::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    out.push(if index == 0 { '[' } else { ',' });
                    item.write_compact(out);
                }
                out.push_str(if items.is_empty() { "[]" } else { "]" });
            }
        }
    }

    fn write_pretty(&self, indent: usize, out: &mut String) {
        let margin = |indent: usize| format!("\n{}", " ".repeat(indent));
        match self {
            Self::Json(value) => out.push_str(&indented(value).replace('\n', &margin(indent))),
            Self::Zero(literal) => out.push_str(literal),
            Self::Object(fields) if fields.is_empty() => out.push_str("{}"),
            Self::List(items) if items.is_empty() => out.push_str("[]"),
            Self::Object(fields) => {
                for (index, (name, value)) in fields.iter().enumerate() {
                    out.push(if index == 0 { '{' } else { ',' });
                    let _ = write!(out, "{}\"{name}\": ", margin(indent + 1));
                    value.write_pretty(indent + 1, out);
                }
                let _ = write!(out, "{}}}", margin(indent));
            }
            Self::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    out.push(if index == 0 { '[' } else { ',' });
                    out.push_str(&margin(indent + 1));
                    item.write_pretty(indent + 1, out);
                }
                let _ = write!(out, "{}]", margin(indent));
            }
        }
    }
}

/// `hostPath` is `HostPath` inside.
fn raise(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase())
        .into_iter()
        .chain(letters)
        .collect()
}

fn indented(value: &Value) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let _ = value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter));
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) static NODE_AFFINITY: [Member; 1] =
    [Member("required", "Required", Type::Pointer(&NODE_SELECTOR))];

static NODE_SELECTOR: [Member; 1] = [Member(
    "nodeSelectorTerms",
    "NodeSelectorTerms",
    Type::List(&NODE_SELECTOR_TERM),
)];

pub(crate) static NODE_SELECTOR_TERM: [Member; 2] = [
    Member(
        "matchExpressions",
        "MatchExpressions",
        Type::List(&NODE_REQUIREMENT),
    ),
    Member("matchFields", "MatchFields", Type::List(&NODE_REQUIREMENT)),
];

static NODE_REQUIREMENT: [Member; 3] = [
    Member("key", "Key", Type::Text),
    Member("operator", "Operator", Type::Text),
    Member("values", "Values", Type::Any),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_fields_are_shown_as_their_types_have_them() {
        let value = json!({"required": {"nodeSelectorTerms": [{"matchFields": [{"key": "a"}]}]}});
        assert_eq!(
            Shown::of(&value, &NODE_AFFINITY).compact(),
            r#"{"Required":{"NodeSelectorTerms":[{"MatchExpressions":null,"MatchFields":[{"Key":"a","Operator":"","Values":null}]}]}}"#
        );
    }
}
