//! Values as Python writes them: what `str` gives, and what `json.dumps` gives.

use std::fmt::Write as _;

use minijinja::{Value, value::ValueKind};
use serde_json::Value as Json;

/// A number as `repr` writes it: the shortest digits that say the same, with an exponent where Python has one.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    // Of two shortest ways to write a number JSON's writer takes the one that Python takes; the standard library's does
    // not always.
    let written = serde_json::Number::from_f64(value)
        .map(|number| number.to_string())
        .unwrap_or_default();
    let (sign, written) = written
        .strip_prefix('-')
        .map_or(("", written.as_str()), |rest| ("-", rest));
    let (mantissa, exponent) = written.split_once('e').unwrap_or((written, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0').trim_end_matches('0');
    if digits.is_empty() {
        return format!("{sign}0.0");
    }
    let zeros = all.len() - all.trim_start_matches('0').len();
    // Where the point is: behind so many of the digits.
    let point = exponent.parse::<i32>().unwrap_or_default() + whole.len() as i32 - zeros as i32;
    let count = digits.len() as i32;
    let shown = match point {
        -3..=0 => format!("0.{}{digits}", "0".repeat(-point as usize)),
        1..=16 if point >= count => format!("{digits}{}.0", "0".repeat((point - count) as usize)),
        1..=16 => format!("{}.{}", &digits[..point as usize], &digits[point as usize..]),
        _ => {
            let (first, rest) = digits.split_at(1);
            let rest = if rest.is_empty() {
                String::new()
            } else {
                format!(".{rest}")
            };
            let exponent_sign = if point > 0 { '+' } else { '-' };
            format!("{first}{rest}e{exponent_sign}{:02}", (point - 1).abs())
        }
    };
    format!("{sign}{shown}")
}

/// What `str` gives.
pub(crate) fn text(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => repr(value),
    }
}

/// What `repr` gives.
pub(crate) fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

fn write_repr(out: &mut String, value: &Value) {
    match value.kind() {
        ValueKind::Undefined => {}
        ValueKind::None => out.push_str("None"),
        ValueKind::Bool => out.push_str(if value.is_true() { "True" } else { "False" }),
        ValueKind::Number if !value.is_integer() => {
            out.push_str(&f64::try_from(value.clone()).map_or_else(|_| value.to_string(), float));
        }
        ValueKind::String => write_quoted(out, value.as_str().unwrap_or_default()),
        ValueKind::Seq => {
            // A tuple writes itself with parentheses, and we have no other way to know one.
            let is_tuple = value.to_string().starts_with('(');
            let items: Vec<Value> = value.try_iter().into_iter().flatten().collect();
            out.push(if is_tuple { '(' } else { '[' });
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_repr(out, item);
            }
            out.push_str(match (is_tuple, items.len()) {
                (true, 1) => ",)",
                (true, _) => ")",
                (false, _) => "]",
            });
        }
        ValueKind::Map => {
            out.push('{');
            for (index, key) in value.try_iter().into_iter().flatten().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_repr(out, &key);
                out.push_str(": ");
                write_repr(out, &value.get_item(&key).unwrap_or_default());
            }
            out.push('}');
        }
        _ => out.push_str(&value.to_string()),
    }
}

/// Quotes are single unless only single ones are inside.
fn write_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c if (c as u32) < 0x100 => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c if (c as u32) < 0x1_0000 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => {
                let _ = write!(out, "\\U{:08x}", c as u32);
            }
        }
    }
    out.push(quote);
}

/// Whether Python shows a character as it is: not controls, formats, separators but the space, private or unassigned
/// ones. Of the unassigned only the noncharacters are known here.
fn is_printable(c: char) -> bool {
    let code = c as u32;
    let is_format = matches!(code,
        0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x890..=0x891 | 0x8e2 | 0x180e | 0x200b..=0x200f
        | 0x202a..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb | 0x110bd | 0x110cd | 0x13430..=0x1343f
        | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0001 | 0xe0020..=0xe007f);
    let is_private = matches!(code, 0xe000..=0xf8ff | 0xf_0000..=0x10_ffff);
    let is_no_character = matches!(code, 0xfdd0..=0xfdef) || code & 0xfffe == 0xfffe;
    let is_separator = c != ' ' && (c.is_whitespace() || matches!(code, 0x2028 | 0x2029));
    !(c.is_control() || is_format || is_private || is_no_character || is_separator)
}

/// JSON text as `json.dumps` writes it, in ASCII or as it is, keys in order.
pub(crate) fn json(value: &Json, ascii: bool) -> String {
    let mut out = String::new();
    write_json(&mut out, value, ascii);
    out
}

fn write_json(out: &mut String, value: &Json, ascii: bool) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(value) => out.push_str(&float(value)),
            None => out.push_str(&number.to_string()),
        },
        Json::String(text) => write_json_text(out, text, ascii),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_json(out, item, ascii);
            }
            out.push(']');
        }
        Json::Object(fields) => {
            out.push('{');
            for (index, (name, field)) in fields.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_json_text(out, name, ascii);
                out.push_str(": ");
                write_json(out, field, ascii);
            }
            out.push('}');
        }
    }
}

fn write_json_text(out: &mut String, text: &str, ascii: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || (ascii && !(' '..='~').contains(&c)) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// What Jinja's `tojson` gives: ASCII, and nothing that HTML or a single quote would end at.
pub(crate) fn html_safe_json(value: &Json) -> String {
    json(value, true)
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\'', "\\u0027")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_are_written_as_python_does() {
        let cases = [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e-5, "1e-05"),
            (1e-7, "1e-07"),
            (0.0001, "0.0001"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e22, "1.5e+22"),
            (1e100, "1e+100"),
            (-0.0, "-0.0"),
            (0.00012, "0.00012"),
            (0.000_012, "1.2e-05"),
            (-12.5, "-12.5"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1_047_785_714_285_714.2, "1047785714285714.2"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(float(value), expected);
        }
    }

    #[test]
    fn values_are_written_as_python_does() {
        let value = json!({"a": null, "b": [true, 1, 1e-7, "it's"], "c": {"d": "x\u{a0}\u{2028}\n\\é"}});
        assert_eq!(
            repr(&crate::template::engine_value(&value)),
            r#"{'a': None, 'b': [True, 1, 1e-07, "it's"], 'c': {'d': 'x\xa0\u2028\n\\é'}}"#
        );
        assert_eq!(text(&Value::from("it's")), "it's");
    }

    #[test]
    fn json_is_written_as_python_does() {
        let value = json!({"b": "é\u{1f600}\u{1}<'", "a": [1, 2.5]});
        assert_eq!(
            json(&value, false),
            "{\"a\": [1, 2.5], \"b\": \"é\u{1f600}\\u0001<'\"}"
        );
        assert_eq!(
            html_safe_json(&value),
            r#"{"a": [1, 2.5], "b": "\u00e9\ud83d\ude00\u0001\u003c\u0027"}"#
        );
    }
}
