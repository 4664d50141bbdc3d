//! YAML as kubectl writes it: keys in the order people count in, lists not indented, quotes where YAML
//! 1.1 would read something else, text of several lines as a block, long lines folded.

mod analysis;
mod order;
mod scalar;

use std::cmp::Ordering;

use serde_json::{Map, Value};

pub use analysis::is_plain as is_plain_text;
use scalar::Position;

/// A value as one document, with a line break at its end.
pub fn write(value: &Value) -> String {
    let mut writer = Writer::default();
    writer.value(value, None, Context::Document);
    writer.line_break();
    writer.out
}

/// A number in the fewest digits that read as the same number, with an exponent from a million on.
pub fn shortest_float(value: f64) -> String {
    let written = format!("{value:e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Where a value stands, which decides how far a list in it is indented.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Document,
    /// Behind `key:`.
    Entry,
    /// Behind the `:` of a key that takes a line of its own.
    LongEntry,
    /// Behind `-`.
    Item,
}

#[derive(Default)]
struct Writer {
    out: String,
    /// How many characters the last line has.
    column: usize,
}

impl Writer {
    /// A value below a block that is indented so far; none above the document.
    fn value(&mut self, value: &Value, indent: Option<usize>, context: Context) {
        match value {
            Value::Object(entries) if !entries.is_empty() => {
                self.mapping(entries, deeper(indent), context);
            }
            Value::Array(items) if !items.is_empty() => {
                let indent = match context {
                    Context::Entry => indent.unwrap_or_default(),
                    _ => deeper(indent),
                };
                self.sequence(items, indent);
            }
            Value::Object(_) => self.token("{}"),
            Value::Array(_) => self.token("[]"),
            Value::Null => self.token("null"),
            Value::Bool(value) => self.token(if *value { "true" } else { "false" }),
            Value::Number(number) => {
                let text = number_text(number);
                self.token(&text);
            }
            Value::String(text) => {
                let indent = indent.map_or(2, |indent| indent + 2);
                self.text(text, Position::Value, indent);
            }
        }
    }

    fn mapping(&mut self, entries: &Map<String, Value>, indent: usize, _context: Context) {
        let mut sorted: Vec<(&String, &Value)> = entries.iter().collect();
        sorted.sort_by(|left, right| order::compare(left.0, right.0));
        for (key, value) in sorted {
            self.start_line(indent);
            if analysis::is_simple_key(key) {
                self.text(key, Position::Key, indent + 2);
                self.put(":");
                self.value(value, Some(indent), Context::Entry);
            } else {
                self.put("?");
                self.text(key, Position::Value, indent + 2);
                self.start_line(indent);
                self.put(":");
                self.value(value, Some(indent), Context::LongEntry);
            }
        }
    }

    fn sequence(&mut self, items: &[Value], indent: usize) {
        for item in items {
            self.start_line(indent);
            self.put("-");
            self.value(item, Some(indent), Context::Item);
        }
    }

    /// Goes to a column: on this line when only a dash stands before it, else on the next.
    fn start_line(&mut self, indent: usize) {
        if !self.is_at(indent) {
            self.line_break();
        }
        while self.column < indent {
            self.put(" ");
        }
    }

    fn is_at(&self, indent: usize) -> bool {
        let line = self.out.rsplit('\n').next().unwrap_or_default();
        let is_led_up = || line.trim_start_matches([' ', '-', '?', ':']).is_empty();
        self.column == 0 || (self.column < indent && is_led_up())
    }

    /// A line break, unless the line is empty.
    fn line_break(&mut self) {
        if self.column > 0 {
            self.new_line();
        }
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    /// Something short, with a space before it where anything stands.
    fn token(&mut self, text: &str) {
        self.separate();
        self.put(text);
    }

    fn separate(&mut self) {
        if self.column > 0 && !self.out.ends_with(' ') {
            self.put(" ");
        }
    }
}

fn deeper(indent: Option<usize>) -> usize {
    indent.map_or(0, |indent| indent + 2)
}

/// A number after it went through JSON: whole numbers have no fraction and no exponent.
fn number_text(number: &serde_json::Number) -> String {
    if let Some(value) = number.as_f64()
        && number.is_f64()
    {
        // JSON has large numbers without an exponent, and those that fit an integer are read as one.
        let plain = format!("{value}");
        return match (plain.parse::<i64>(), plain.parse::<u64>()) {
            (Ok(value), _) => value.to_string(),
            (_, Ok(value)) => value.to_string(),
            _ => shortest_float(value),
        };
    }
    number.to_string()
}

/// The order of keys, for those who show what this module writes.
pub fn compare_keys(left: &str, right: &str) -> Ordering {
    order::compare(left, right)
}

#[cfg(test)]
mod tests;
