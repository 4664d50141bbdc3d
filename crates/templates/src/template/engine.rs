//! The engine as task templates have it: Python's methods, undefined values that may be asked for but not printed, and
//! a token for every value that is printed.

use std::{fmt, sync::Arc};

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value,
    value::{Object, ObjectRepr, ValueKind},
};
use minijinja_contrib::pycompat::unknown_method_callback;

use serde_json::Value as Json;

use crate::{limits::FUEL, python, tokens};

/// The values that were printed, in order; their numbers are in the tokens.
#[derive(Default)]
pub(crate) struct Written(pub(crate) Vec<Value>);

/// What `tojson` gives: text where it is part of a text, else the mapping or list itself.
#[derive(Debug)]
pub(crate) struct Structure {
    pub(crate) value: Value,
    text: String,
}

impl Object for Structure {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What `quote` gives: a text that a shell reads as one word, whatever is in it.
#[derive(Debug)]
pub(crate) struct Quoted(String);

impl Object for Quoted {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(super) fn environment() -> Environment<'static> {
    let mut environment = plain(UndefinedBehavior::SemiStrict);
    // Rendered text is marked as safe, values never are: that is how the two are told apart.
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("token".into()));
    environment.set_formatter(write);
    let mut syntax = minijinja::syntax::SyntaxConfig::builder();
    // What is at the end of a text was decided when it was annotated.
    if let Ok(syntax) = syntax.keep_trailing_newline(true).build() {
        environment.set_syntax(syntax);
    }
    // It says where errors are. What it says of values is never shown.
    environment.set_debug(true);
    environment.set_fuel(Some(FUEL));
    environment
}

/// The engine without tokens: what is printed is text as Jinja2 prints it.
pub(crate) fn plain(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(undefined);
    environment.set_unknown_method_callback(unknown_method_callback);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(|out, _, value| {
        let text = match value.downcast_object_ref::<Structure>() {
            Some(structure) => structure.text.clone(),
            None => python::text(value),
        };
        out.write_str(&text).map_err(Error::from)
    });
    environment.add_filter("tojson", to_json);
    environment.add_filter("quote", quote);
    environment.add_filter("int", int);
    environment.add_filter("float", float);
    environment.add_filter("safe", |value: Value| value);
    environment.remove_filter("escape");
    environment.remove_filter("e");
    environment
}

/// A value as the engine has it.
pub(crate) fn engine_value(value: &Json) -> Value {
    match value {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), _, _) => Value::from(value),
            (_, Some(value), _) => Value::from(value),
            (_, _, value) => Value::from(value.unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::from(items.iter().map(engine_value).collect::<Vec<Value>>()),
        Json::Object(fields) => Value::from_pairs(
            fields
                .iter()
                .map(|(name, field)| (name.as_str(), engine_value(field))),
        ),
    }
}

/// Writes a value: what is rendered text as it is, everything else as a token.
fn write(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_safe()
        && let Some(text) = value.as_str()
    {
        return out.write_str(text).map_err(Error::from);
    }
    let written = state.get_or_insert_extension_with(Written::default);
    written.0.push(value.clone());
    tokens::write_value(out, written.0.len() - 1).map_err(Error::from)
}

fn to_json(value: Value) -> Result<Value, Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    let json = serde_json::to_value(&value)
        .map_err(|_| Error::new(ErrorKind::InvalidOperation, "the value cannot be written as JSON"))?;
    let text = python::html_safe_json(&json);
    Ok(Value::from_object(Structure { value, text }))
}

fn quote(value: Value) -> Value {
    let text = python::text(&value);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    let quoted = if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r#"'"'"'"#))
    };
    Value::from_object(Quoted(quoted))
}

/// As Python has it: what is no number is the default, which is zero.
fn int(value: Value, default: Option<Value>) -> Result<Value, Error> {
    let default = default.unwrap_or_else(|| Value::from(0));
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    let Some(text) = value.as_str() else {
        return Ok(match value.kind() {
            ValueKind::Bool => Value::from(i64::from(value.is_true())),
            ValueKind::Number if value.is_integer() => value,
            ValueKind::Number => whole(f64::try_from(value)?).unwrap_or(default),
            _ => default,
        });
    };
    let digits = text.trim().replace('_', "");
    let whole = digits.parse::<i64>().map(Value::from).ok();
    Ok(whole
        .or_else(|| self::whole(digits.parse().ok()?))
        .unwrap_or(default))
}

/// What is left of a number without its fraction.
fn whole(value: f64) -> Option<Value> {
    const BOUND: f64 = 9_007_199_254_740_992.0; // 2^53
    (value.abs() < BOUND).then(|| Value::from(value.trunc() as i64))
}

fn float(value: Value, default: Option<Value>) -> Result<Value, Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    let number = match (value.as_str(), value.kind()) {
        (Some(text), _) => text.trim().parse::<f64>().ok(),
        (None, ValueKind::Bool) => Some(f64::from(u8::from(value.is_true()))),
        (None, ValueKind::Number) => f64::try_from(value).ok(),
        _ => None,
    };
    Ok(number.map_or_else(|| default.unwrap_or_else(|| Value::from(0.0)), Value::from))
}
