//! New values, and how they are written into a text.

use serde_json::Value;

use super::{plain_text, quoted};

/// A value that is about to become part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// A text; it is quoted where it would be read as something else.
    Text(String),
    /// A text in double quotes.
    Quoted(String),
    /// A number or a truth value, as it is written.
    Plain(String),
    List(Vec<Fragment>),
    Map(Vec<(String, Fragment)>),
}

impl Fragment {
    pub fn text(value: impl Into<String>) -> Self {
        Self::Text(value.into())
    }

    pub fn texts<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::List(values.into_iter().map(Self::text).collect())
    }

    /// A mapping of the fields that have a value.
    pub fn map<'a>(fields: impl IntoIterator<Item = (&'a str, Option<Fragment>)>) -> Self {
        let fields = fields.into_iter();
        Self::Map(
            fields
                .filter_map(|(key, value)| Some((key.to_owned(), value?)))
                .collect(),
        )
    }

    /// Wrapped into a mapping for each key, the last the innermost.
    pub(crate) fn below(self, keys: &[&str]) -> Self {
        keys.iter()
            .rev()
            .fold(self, |value, key| Self::Map(vec![((*key).to_owned(), value)]))
    }

    fn is_block(&self) -> bool {
        match self {
            Self::List(items) => !items.is_empty(),
            Self::Map(entries) => !entries.is_empty(),
            _ => false,
        }
    }

    /// As the lines of a text of its own.
    pub(crate) fn to_lines(&self) -> String {
        let layout = Layout {
            list_offset: 0,
            line_break: "\n",
        };
        self.lines(0, layout)
    }

    /// As the value of a field: what follows its colon. `indent` is the column of the field's key.
    pub(super) fn after_colon(&self, indent: usize, layout: Layout) -> String {
        match self {
            Self::List(_) if self.is_block() => {
                layout.line_break.to_owned() + &self.lines(indent + layout.list_offset, layout)
            }
            Self::Map(_) if self.is_block() => layout.line_break.to_owned() + &self.lines(indent + 2, layout),
            _ => format!(" {}", self.flow(false)),
        }
    }

    /// As lines of a block, each indented; without the line break at the end.
    pub(super) fn lines(&self, indent: usize, layout: Layout) -> String {
        let margin = " ".repeat(indent);
        let lines: Vec<String> = match self {
            Self::List(items) => items
                .iter()
                .map(|item| format!("{margin}- {}", item.after_dash(indent + 2, layout)))
                .collect(),
            Self::Map(entries) => entries
                .iter()
                .map(|(key, value)| {
                    format!(
                        "{margin}{}:{}",
                        plain_text(key, false),
                        value.after_colon(indent, layout)
                    )
                })
                .collect(),
            scalar => vec![margin + &scalar.flow(false)],
        };
        lines.join(layout.line_break)
    }

    fn after_dash(&self, indent: usize, layout: Layout) -> String {
        if self.is_block() {
            self.lines(indent, layout)[indent..].to_owned()
        } else {
            self.flow(false)
        }
    }

    /// In one line. In JSON every text has quotes.
    pub(super) fn flow(&self, is_json: bool) -> String {
        let text = |text: &str| {
            if is_json {
                quoted(text)
            } else {
                plain_text(text, true)
            }
        };
        match self {
            Self::Text(value) if is_json => quoted(value),
            Self::Text(value) => plain_text(value, false),
            Self::Quoted(value) => quoted(value),
            Self::Plain(value) => value.clone(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.in_flow(is_json)).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Map(entries) => {
                let entries = entries.iter();
                let entries =
                    entries.map(|(key, value)| format!("{}: {}", text(key), value.in_flow(is_json)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// In one line, inside of brackets.
    pub(super) fn in_flow(&self, is_json: bool) -> String {
        match self {
            Self::Text(value) if !is_json => plain_text(value, true),
            _ => self.flow(is_json),
        }
    }
}

impl From<&Value> for Fragment {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::text(text),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (key.clone(), Self::from(value)));
                Self::Map(fields.collect())
            }
            other => Self::Plain(other.to_string()),
        }
    }
}

/// How the author of a text lays out blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// How far lists are indented below the key they belong to.
    pub(super) list_offset: usize,
    pub(super) line_break: &'static str,
}
