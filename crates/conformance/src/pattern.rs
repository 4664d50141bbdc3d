//! What a check expects of a JSON value: a value with holes.
//!
//! `"<any>"` is anything, `"<absent>"` a key that must not be there, `"<uid>"`, `"<time>"`, `"<microtime>"`
//! and `"<number>"` (decimal text) are what they say. `{*}` inside a text is any run of characters.
//! An array matches element by element, unless it begins with `"<includes>"`: then each other element
//! of it must match some element.

use serde_json::{Map, Value};

/// How much more than the pattern a value may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Objects may have more keys than the pattern names.
    Subset,
    /// Objects have exactly the keys the pattern names.
    Exact,
}

/// The first place where a value is not what the pattern says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    pub(crate) path: String,
    pub(crate) expected: String,
    pub(crate) got: String,
}

pub(crate) fn compare(pattern: &Value, value: &Value, extent: Extent) -> Result<(), Mismatch> {
    at("", pattern, value, extent)
}

fn at(path: &str, pattern: &Value, value: &Value, extent: Extent) -> Result<(), Mismatch> {
    let matches = match (pattern, value) {
        (Value::Object(pattern), Value::Object(value)) => return object(path, pattern, value, extent),
        (Value::Array(pattern), Value::Array(value)) => return array(path, pattern, value, extent),
        (Value::String(hole), value) if is_hole(hole) => fills(hole, value),
        (Value::String(pattern), Value::String(value)) => is_like(pattern, value),
        (pattern, value) => pattern == value,
    };
    if matches {
        Ok(())
    } else {
        Err(mismatch(path, pattern, value))
    }
}

fn object(
    path: &str,
    pattern: &Map<String, Value>,
    value: &Map<String, Value>,
    extent: Extent,
) -> Result<(), Mismatch> {
    for (key, pattern) in pattern {
        at(
            &format!("{path}.{key}"),
            pattern,
            value.get(key).unwrap_or(&Value::Null),
            extent,
        )?;
    }
    let surplus = value
        .iter()
        .find(|(key, _)| extent == Extent::Exact && !pattern.contains_key(*key));
    match surplus {
        Some((key, value)) => Err(mismatch(
            &format!("{path}.{key}"),
            &Value::from("<absent>"),
            value,
        )),
        None => Ok(()),
    }
}

fn array(path: &str, pattern: &[Value], value: &[Value], extent: Extent) -> Result<(), Mismatch> {
    if let Some((Value::String(first), wanted)) = pattern.split_first()
        && first == "<includes>"
    {
        let missing = wanted
            .iter()
            .find(|pattern| !value.iter().any(|value| at("", pattern, value, extent).is_ok()));
        return match missing {
            Some(pattern) => Err(Mismatch {
                path: path.to_owned(),
                expected: format!("an element like {pattern}"),
                got: Value::from(value).to_string(),
            }),
            None => Ok(()),
        };
    }
    if pattern.len() != value.len() {
        return Err(mismatch(path, &Value::from(pattern), &Value::from(value)));
    }
    pattern
        .iter()
        .zip(value)
        .enumerate()
        .try_for_each(|(index, (pattern, value))| at(&format!("{path}[{index}]"), pattern, value, extent))
}

fn mismatch(path: &str, pattern: &Value, value: &Value) -> Mismatch {
    Mismatch {
        path: path.to_owned(),
        expected: pattern.to_string(),
        got: value.to_string(),
    }
}

fn is_hole(text: &str) -> bool {
    matches!(
        text,
        "<any>" | "<absent>" | "<uid>" | "<time>" | "<microtime>" | "<number>"
    )
}

fn fills(hole: &str, value: &Value) -> bool {
    match (hole, value) {
        ("<absent>", value) => value.is_null(),
        ("<any>", value) => !value.is_null(),
        ("<uid>", Value::String(text)) => has_shape(text, "xxxxxxxx-xxxx-4xxx-xxxx-xxxxxxxxxxxx"),
        ("<time>", Value::String(text)) => has_shape(text, "dddd-dd-ddTdd:dd:ddZ"),
        ("<microtime>", Value::String(text)) => has_shape(text, "dddd-dd-ddTdd:dd:dd.ddddddZ"),
        ("<number>", Value::String(text)) => text.parse::<u64>().is_ok(),
        _ => false,
    }
}

/// `d` is a decimal and `x` a hexadecimal digit, everything else itself.
fn has_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, shape)| match shape {
            b'd' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_hexdigit(),
            literal => byte == literal,
        })
}

/// Whether a text is the pattern, where `{*}` stands for anything.
pub(crate) fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split("{*}");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(position) = rest.find(part) else {
            return false;
        };
        rest = &rest[position + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn subset(pattern: Value, value: Value) -> bool {
        compare(&pattern, &value, Extent::Subset).is_ok()
    }

    #[test]
    fn a_subset_may_leave_keys_out_but_not_elements() {
        assert!(subset(json!({"a": 1}), json!({"a": 1, "b": 2})));
        assert!(!subset(json!({"a": [1]}), json!({"a": [1, 2]})));
        assert!(subset(
            json!(["<includes>", {"n": 2}]),
            json!([{"n": 1}, {"n": 2, "m": 3}])
        ));
        assert!(!subset(json!(["<includes>", {"n": 3}]), json!([{"n": 1}])));
    }

    #[test]
    fn an_exact_pattern_names_every_key() {
        assert!(compare(&json!({"a": 1}), &json!({"a": 1, "b": 2}), Extent::Exact).is_err());
        assert!(
            compare(
                &json!({"a": 1, "b": "<any>"}),
                &json!({"a": 1, "b": 2}),
                Extent::Exact
            )
            .is_ok()
        );
    }

    #[test]
    fn holes_are_filled_by_what_they_are_named_after() {
        assert!(subset(
            json!("<uid>"),
            json!("0b4ae9f5-8b0f-4b8a-9a3e-0c8a4b6f7d11")
        ));
        assert!(!subset(json!("<uid>"), json!("none")));
        assert!(subset(json!("<time>"), json!("2026-01-02T03:04:05Z")));
        assert!(subset(json!("<number>"), json!("42")));
        assert!(subset(json!({"a": "<absent>"}), json!({})));
        assert!(!subset(json!({"a": "<any>"}), json!({})));
    }

    #[test]
    fn a_text_may_have_holes() {
        assert!(is_like("pods \"{*}\" not found", "pods \"a\" not found"));
        assert!(is_like("{*}", ""));
        assert!(is_like("a{*}b{*}c", "a1b2c"));
        assert!(!is_like("a{*}b", "a1c"));
        assert!(!is_like("a", "ab"));
    }

    #[test]
    fn a_mismatch_names_its_place() {
        let mismatch = compare(
            &json!({"a": [{"b": 1}]}),
            &json!({"a": [{"b": 2}]}),
            Extent::Subset,
        )
        .unwrap_err();
        assert_eq!((mismatch.path.as_str(), mismatch.got.as_str()), (".a[0].b", "2"));
    }
}
