//! What plain text means to the reader that keeps documents as nodes. It knows YAML 1.2's words and YAML
//! 1.1's numbers: `yes` is text, `017` is fifteen, and dates are times.

use manifests::yaml::{self, Meaning, timestamps};

use super::Tag;

#[derive(Clone, Debug, PartialEq)]
pub(in super::super) enum Resolved {
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    /// As RFC 3339 has it.
    Time(String),
    Merge,
    Text,
}

impl Resolved {
    pub(in super::super) fn tag(&self) -> Tag {
        match self {
            Self::Null => Tag::Null,
            Self::Bool(_) => Tag::Bool,
            Self::Integer(_) | Self::Unsigned(_) => Tag::Integer,
            Self::Float(_) => Tag::Float,
            Self::Time(_) => Tag::Time,
            Self::Merge => Tag::Merge,
            Self::Text => Tag::Text,
        }
    }
}

pub(in super::super) fn resolve(text: &str) -> Resolved {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Resolved::Null,
        "true" | "True" | "TRUE" => return Resolved::Bool(true),
        "false" | "False" | "FALSE" => return Resolved::Bool(false),
        "<<" => return Resolved::Merge,
        _ => {}
    }
    match text.as_bytes()[0] {
        b'0'..=b'9' => timestamps::read(text).map_or_else(|| number(text), Resolved::Time),
        b'+' | b'-' | b'.' => number(text),
        _ => Resolved::Text,
    }
}

fn number(text: &str) -> Resolved {
    match yaml::resolve(text) {
        Meaning::Integer(value) => Resolved::Integer(value),
        Meaning::Unsigned(value) => Resolved::Unsigned(value),
        Meaning::Float(value) => Resolved::Float(value),
        Meaning::Null | Meaning::Bool(_) | Meaning::Text(_) => Resolved::Text,
    }
}
