//! Structured values as messages show them. The real server prints its internal structs there: every
//! field, in order of declaration, under its internal name. `internal_form.txt` lists those structs,
//! one per line, as `Name Field:type Field=key:type ...`; the key of a field in the public form is its
//! name with a small first letter unless given. In keys, `^` means the enclosing object and `a.b` a path.

use std::{collections::HashMap, fmt::Write as _, sync::LazyLock};

use manifests::field::{ErrorKind, FieldError, Path};
use serde_json::Value;

use crate::{quantity::Quantity, read::get};

static STRUCTS: LazyLock<HashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    include_str!("internal_form.txt")
        .lines()
        .map(parse_struct)
        .collect()
});

struct Field {
    name: &'static str,
    key: String,
    /// Left out when it is zero.
    optional: bool,
    /// `*x` may be absent, `[]x` is a list, `{}x` a map; else a scalar or the name of a struct.
    kind: &'static str,
}

/// The value on one line, as in `Invalid value: {...}`.
pub fn compact(value: &Value, kind: &str) -> String {
    Writer {
        indent: None,
        shows_empty: true,
        out: String::new(),
    }
    .written(value, kind)
}

/// The value over many lines, one space deeper each level, as differences are made of.
pub fn pretty(value: &Value, kind: &str) -> String {
    Writer {
        indent: Some(0),
        shows_empty: true,
        out: String::new(),
    }
    .written(value, kind)
}

/// Whether two values are the same to the real server: a missing list is an empty one, a missing
/// number is zero, but an empty struct behind a pointer is not a missing one.
pub fn same(a: &Value, b: &Value, kind: &str) -> bool {
    let essence = |value| {
        Writer {
            indent: None,
            shows_empty: false,
            out: String::new(),
        }
        .written(value, kind)
    };
    a == b || essence(a) == essence(b)
}

/// An "invalid value" error that shows a structured value.
pub fn invalid(path: &Path, value: &Value, kind: &str, detail: impl Into<String>) -> FieldError {
    FieldError {
        kind: ErrorKind::Invalid,
        field: path.as_str().to_owned(),
        value: compact(value, kind),
        detail: detail.into(),
    }
}

/// An "unsupported value" error that shows a structured value.
pub fn not_supported(path: &Path, value: &Value, kind: &str, supported: &[&str]) -> FieldError {
    FieldError {
        value: compact(value, kind),
        ..FieldError::not_supported(path, &Value::Null, supported)
    }
}

fn parse_struct(line: &'static str) -> (&'static str, Vec<Field>) {
    let mut words = line.split(' ');
    (words.next().unwrap_or_default(), words.map(parse_field).collect())
}

fn parse_field(word: &'static str) -> Field {
    let (declared, kind) = word.rsplit_once(':').unwrap_or((word, "s"));
    let (name, key) = declared
        .split_once('=')
        .map_or((declared, None), |(name, key)| (name, Some(key)));
    let (name, optional) = name.strip_suffix('?').map_or((name, false), |name| (name, true));
    let key = key.map_or_else(
        || format!("{}{}", name[..1].to_ascii_lowercase(), &name[1..]),
        str::to_owned,
    );
    Field {
        name,
        key,
        optional,
        kind,
    }
}

impl Field {
    fn of<'a>(&self, object: &'a Value, enclosing: &'a Value) -> &'a Value {
        if let Some(key) = self.key.strip_prefix('^') {
            return get(enclosing, key);
        }
        self.key.split('.').fold(object, get)
    }

    fn is_left_out(&self, value: &Value) -> bool {
        self.optional
            && match value {
                Value::Null => true,
                Value::Bool(flag) => !flag,
                Value::Number(number) => number.as_i64() == Some(0),
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => fields.is_empty() && !self.kind.starts_with('*'),
            }
    }
}

struct Writer {
    indent: Option<usize>,
    /// Whether an empty list is told from a missing one.
    shows_empty: bool,
    out: String,
}

impl Writer {
    fn written(mut self, value: &Value, kind: &str) -> String {
        self.value(value, &Value::Null, kind);
        self.out
    }

    fn value(&mut self, value: &Value, enclosing: &Value, kind: &str) {
        if let Some(kind) = kind.strip_prefix('*') {
            match value {
                Value::Null => self.out.push_str("null"),
                value => self.value(value, enclosing, kind),
            }
        } else if let Some(kind) = kind.strip_prefix("[]") {
            self.list(value, kind);
        } else if let Some(kind) = kind.strip_prefix("{}") {
            self.map(value, kind);
        } else if let Some(fields) = STRUCTS.get(kind) {
            self.structure(value, enclosing, fields);
        } else {
            self.scalar(value, kind);
        }
    }

    fn list(&mut self, value: &Value, kind: &str) {
        match value.as_array() {
            Some(items) if self.shows_empty || !items.is_empty() => {
                self.block('[', ']', items.iter(), |writer, item| {
                    writer.value(item, &Value::Null, kind);
                });
            }
            _ => self.out.push_str("null"),
        }
    }

    fn map(&mut self, value: &Value, kind: &str) {
        match value.as_object() {
            Some(entries) if self.shows_empty || !entries.is_empty() => {
                self.block('{', '}', entries.iter(), |writer, (key, value)| {
                    writer.key(key);
                    writer.value(value, &Value::Null, kind);
                });
            }
            _ => self.out.push_str("null"),
        }
    }

    fn structure(&mut self, object: &Value, enclosing: &Value, fields: &[Field]) {
        let shown = fields
            .iter()
            .map(|field| (field, field.of(object, enclosing)))
            .filter(|(field, value)| !field.is_left_out(value));
        self.block('{', '}', shown, |writer, (field, value)| {
            writer.key(field.name);
            writer.value(value, object, field.kind);
        });
    }

    fn scalar(&mut self, value: &Value, kind: &str) {
        match (kind, value) {
            ("quantity", Value::Null) => self.out.push_str("\"0\""),
            ("quantity", Value::String(text)) => match Quantity::parse(text) {
                Ok(quantity) => self.text(&quantity.to_string()),
                Err(_) => self.text(text),
            },
            ("s", Value::Null) => self.out.push_str("\"\""),
            ("b", Value::Null) => self.out.push_str("false"),
            ("time", Value::Null) => self.out.push_str("null"),
            (_, Value::Null) => self.out.push('0'),
            (_, Value::String(text)) => self.text(text),
            (_, other) => {
                let _ = write!(self.out, "{other}");
            }
        }
    }

    fn key(&mut self, key: &str) {
        self.text(key);
        self.out.push_str(if self.indent.is_some() { ": " } else { ":" });
    }

    /// A JSON string, with the characters escaped that Go escapes for HTML's sake.
    fn text(&mut self, text: &str) {
        for c in Value::from(text).to_string().chars() {
            match c {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    let _ = write!(self.out, "\\u{:04x}", c as u32);
                }
                c => self.out.push(c),
            }
        }
    }

    fn block<T>(
        &mut self,
        open: char,
        close: char,
        items: impl Iterator<Item = T>,
        mut write_item: impl FnMut(&mut Self, T),
    ) {
        self.out.push(open);
        self.indent = self.indent.map(|indent| indent + 1);
        let mut empty = true;
        for item in items {
            if !empty {
                self.out.push(',');
            }
            empty = false;
            self.new_line();
            write_item(self, item);
        }
        self.indent = self.indent.map(|indent| indent - 1);
        if !empty {
            self.new_line();
        }
        self.out.push(close);
    }

    fn new_line(&mut self) {
        if let Some(indent) = self.indent {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', indent));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_struct_named_in_the_table_is_in_it() {
        for (name, fields) in STRUCTS.iter() {
            for field in fields {
                let kind = field.kind.trim_start_matches(['*', '[', ']', '{', '}']);
                let known = ["s", "b", "i", "quantity", "intstr", "time", "bytes"].contains(&kind);
                assert!(
                    known || STRUCTS.contains_key(kind),
                    "{name}.{}: {kind}",
                    field.name
                );
            }
        }
    }

    #[test]
    fn fields_keep_their_declared_order_and_zero_values() {
        assert_eq!(
            compact(&json!({"port": "http", "path": "/a&b"}), "HTTPGetAction"),
            r#"{"Path":"/a\u0026b","Port":"http","Host":"","Scheme":"","HTTPHeaders":null}"#
        );
        assert_eq!(
            compact(
                &json!({"matchExpressions": [], "matchLabels": {"b": "1", "a": "2"}}),
                "LabelSelector"
            ),
            r#"{"matchLabels":{"a":"2","b":"1"}}"#
        );
    }

    #[test]
    fn pretty_values_are_indented_by_one_space() {
        assert_eq!(
            pretty(&json!({"nodeSelectorTerms": [{}]}), "NodeSelector"),
            "{\n \"NodeSelectorTerms\": [\n  {\n   \"MatchExpressions\": null,\n   \"MatchFields\": null\n  }\n ]\n}"
        );
    }

    #[test]
    fn a_missing_list_is_an_empty_one_but_a_missing_struct_is_not() {
        assert!(same(&json!({"tolerations": []}), &json!({}), "PodSpec"));
        assert!(!same(&json!({"affinity": {}}), &json!({}), "PodSpec"));
    }
}
