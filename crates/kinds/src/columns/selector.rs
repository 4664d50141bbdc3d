//! Labels and label selectors as one line of text.

use std::borrow::Cow;

use serde_json::Value;

use super::row::{NONE, joined};
use crate::{
    names::{label_value, qualified_name},
    read::{entries, list, text},
};

/// `app=web,tier=front`, or `<none>`: the labels in a field.
pub(super) fn labels(value: &Value, key: &str) -> String {
    let line: Vec<String> = entries(value, key)
        .map(|(key, value)| equals(key, value))
        .collect();
    if line.is_empty() {
        NONE.to_owned()
    } else {
        line.join(",")
    }
}

/// A label selector as `kubectl -l` takes it; `<none>` when it asks for nothing.
pub(super) fn selector(selector: &Value) -> Cow<'static, str> {
    match requirements(selector) {
        None => "<error>".into(),
        Some(line) if line.is_empty() => NONE.into(),
        Some(line) => line.into(),
    }
}

/// The requirements of a selector, ordered by key; none when one of them makes no sense.
pub(super) fn requirements(selector: &Value) -> Option<String> {
    let mut requirements: Vec<(&str, String)> = Vec::new();
    for (key, value) in entries(selector, "matchLabels") {
        is_sound(key, std::slice::from_ref(value)).then_some(())?;
        requirements.push((key, equals(key, value)));
    }
    for expression in list(selector, "matchExpressions") {
        requirements.push((text(expression, "key"), requirement(expression)?));
    }
    requirements.sort_by_key(|(key, _)| *key);
    Some(joined(
        requirements.iter().map(|(_, requirement)| requirement.as_str()),
        ",",
    ))
}

fn equals(key: &str, value: &Value) -> String {
    format!("{key}={}", value.as_str().unwrap_or_default())
}

fn requirement(expression: &Value) -> Option<String> {
    let (key, values) = (text(expression, "key"), list(expression, "values"));
    is_sound(key, values).then_some(())?;
    match (text(expression, "operator"), values) {
        ("In", [_, ..]) => Some(format!("{key} in ({})", sorted(values))),
        ("NotIn", [_, ..]) => Some(format!("{key} notin ({})", sorted(values))),
        ("Exists", []) => Some(key.to_owned()),
        ("DoesNotExist", []) => Some(format!("!{key}")),
        _ => None,
    }
}

fn is_sound(key: &str, values: &[Value]) -> bool {
    qualified_name(key).is_empty()
        && values
            .iter()
            .all(|value| label_value(value.as_str().unwrap_or_default()).is_empty())
}

fn sorted(values: &[Value]) -> String {
    let mut values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
    values.sort_unstable();
    values.join(",")
}
