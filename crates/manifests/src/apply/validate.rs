//! Whether an applied configuration has the form of its type.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    element::{item_text, shown},
    go_text::{go_syntax, go_type, plain},
    problem::Problems,
};
use crate::shape::{ListKind, Scalar, Shape};

/// Finds fields that the type does not have, values of another form, and list items that cannot be
/// told apart.
pub(super) fn validate<S: Shape>(object: &Value, shape: S) -> Result<(), Problems> {
    let mut problems = Problems::default();
    check(object, shape, &mut problems);
    problems.into_result()
}

fn check<S: Shape>(value: &Value, shape: S, problems: &mut Problems) {
    let forms = shape.forms();
    match value {
        Value::Null => {}
        Value::Object(fields) if forms.object => check_fields(fields, shape, problems),
        Value::Array(items) if forms.list => check_items(items, shape, problems),
        value if forms.object && (forms.scalar.is_none() || is_container(value)) => {
            problems.push(format!("expected map, got &{{{}}}", plain(value)));
        }
        value => match forms.scalar {
            Some(scalar) => check_scalar(value, scalar, problems),
            None => problems.push(format!("expected list, got &{{{}}}", plain(value))),
        },
    }
}

fn is_container(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

fn check_scalar(value: &Value, scalar: Scalar, problems: &mut Problems) {
    match scalar {
        Scalar::Number if !value.is_number() => {
            problems.push(format!("expected numeric (int or float), got {}", go_type(value)));
        }
        Scalar::Text if !value.is_string() => {
            let value = go_syntax(value);
            problems.push(format!(
                "expected string, got &value.valueUnstructured{{Value:{value}}}"
            ));
        }
        Scalar::Boolean if !value.is_boolean() => {
            problems.push(format!("expected boolean, got &{{{}}}", plain(value)));
        }
        Scalar::Any if is_container(value) => {
            problems.push(format!("expected any scalar, got &{{{}}}", plain(value)));
        }
        _ => {}
    }
}

fn check_fields<S: Shape>(fields: &Map<String, Value>, shape: S, problems: &mut Problems) {
    for (name, value) in fields {
        let field = shape.field(name);
        let mut below = Problems::default();
        match field {
            Some(shape) => check(value, shape, &mut below),
            None => below.push("field not declared in schema"),
        }
        problems.extend_below(format_args!(".{name}"), below);
        // One such field per object is reported, as Kubernetes does.
        if field.is_none() {
            return;
        }
    }
}

fn check_items<S: Shape>(items: &[Value], list: S, problems: &mut Problems) {
    let mut seen = HashSet::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let element = if list.list_kind() == ListKind::Atomic {
            format!("[{i}]")
        } else {
            match item_text(&list, item) {
                Ok(text) => shown(&text).to_string(),
                Err(message) => {
                    problems.push(format!("element {i}: {message}"));
                    return;
                }
            }
        };
        let mut below = Problems::default();
        if let Some(shape) = list.element() {
            check(item, shape, &mut below);
        }
        if seen.contains(&element) {
            problems.push(format!("duplicate entries for key {element}"));
        }
        problems.extend_below(&element, below);
        seen.insert(element);
    }
}
