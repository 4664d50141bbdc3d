//! Values as Go prints them: in JSON inside of path elements, and in error messages.

use std::fmt::Write as _;

use serde_json::{Number, Value};

use crate::field::quoted;

/// Appends a value as Go's JSON encoders write it: `<`, `>` and `&` escaped, whole floats without
/// a fraction.
pub(super) fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_json_text(out, text, true),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (name, field)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json_text(out, name, true);
                out.push(':');
                write_json(out, field);
            }
            out.push('}');
        }
    }
}

/// Appends a JSON string. Names of keys in path elements are the only ones without HTML escapes.
pub(super) fn write_json_text(out: &mut String, text: &str, escape_html: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' if escape_html => write_escape(out, c),
            c if c < ' ' || c == '\u{2028}' || c == '\u{2029}' => write_escape(out, c),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn write_escape(out: &mut String, c: char) {
    let _ = write!(out, "\\u{:04x}", c as u32);
}

fn write_number(out: &mut String, number: &Number) {
    match number.as_f64() {
        Some(float) if number.is_f64() => {
            let size = float.abs();
            if size != 0.0 && !(1e-6..1e21).contains(&size) {
                write_exponent(out, float);
            } else {
                let _ = write!(out, "{float}");
            }
        }
        _ => {
            let _ = write!(out, "{number}");
        }
    }
}

/// The shortest scientific notation, with the sign and the two digits Go gives to exponents.
fn write_exponent(out: &mut String, float: f64) {
    let text = format!("{float:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    let _ = write!(out, "{mantissa}e{sign}{digits:0>2}");
}

/// A number as `%v` prints it.
pub(super) fn plain_number(number: &Number) -> String {
    let mut out = String::new();
    match number.as_f64() {
        Some(float) if number.is_f64() => {
            let size = float.abs();
            if size != 0.0 && !(1e-4..1e6).contains(&size) {
                write_exponent(&mut out, float);
            } else {
                let _ = write!(out, "{float}");
            }
        }
        _ => {
            let _ = write!(out, "{number}");
        }
    }
    out
}

/// A value as `%v` prints it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => plain_number(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(plain), " ")),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", plain(value)));
            format!("map[{}]", joined(fields, " "))
        }
    }
}

/// A value as `%#v` prints it.
pub(super) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => quoted(text),
        Value::Bool(_) | Value::Number(_) => plain(value),
        Value::Array(items) => format!(
            "[]interface {{}}{{{}}}",
            joined(items.iter().map(go_syntax), ", ")
        ),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", quoted(name), go_syntax(value)));
            format!("map[string]interface {{}}{{{}}}", joined(fields, ", "))
        }
    }
}

/// The type of a value as `%T` prints it.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn json_text(value: &Value) -> String {
        let mut out = String::new();
        write_json(&mut out, value);
        out
    }

    #[test]
    fn json_reads_as_gos() {
        assert_eq!(
            json_text(&json!("a<b>&\u{1}\"\\")),
            r#""a\u003cb\u003e\u0026\u0001\"\\""#
        );
        assert_eq!(
            json_text(&json!([1, 1.0, 0.5, 1e21, 1e-7, null, true])),
            "[1,1,0.5,1e+21,1e-07,null,true]"
        );
    }

    #[test]
    fn messages_read_as_gos() {
        let value = json!({"a": 1, "b": ["x", null], "c": 1e6});
        assert_eq!(plain(&value), "map[a:1 b:[x <nil>] c:1e+06]");
        assert_eq!(
            go_syntax(&value),
            r#"map[string]interface {}{"a":1, "b":[]interface {}{"x", interface {}(nil)}, "c":1e+06}"#
        );
    }
}
