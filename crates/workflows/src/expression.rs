//! The expressions of `{{=…}}` tags, hooks, retries and conditional outputs: a language of values without
//! effects. The words and rules are those of expr-lang, with Argo's functions and the common ones of sprig.

mod functions;
mod lex;
mod parse;
mod run;
mod sprig;

use serde_json::{Map, Value};

pub use parse::Expression;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// It is not an expression at all.
    #[error("{message} at character {at}")]
    Syntax { at: usize, message: String },
    /// It names something that does not exist, or not yet.
    #[error("unknown name {0}")]
    Unknown(String),
    #[error("{0}")]
    Run(String),
}

/// Values by name: what expressions may speak of.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    root: Map<String, Value>,
}

impl Environment {
    /// Names with dots become maps in maps. Where `a.b` and `a.b.c` both have values, the second is
    /// what expressions can reach.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let mut root = Map::new();
        for (name, value) in variables {
            insert(&mut root, name, value);
        }
        Self { root }
    }

    pub fn set(&mut self, name: &str, value: Value) {
        insert(&mut self.root, name, value);
    }
}

fn insert(map: &mut Map<String, Value>, name: &str, value: Value) {
    let Some((first, rest)) = name.split_once('.') else {
        if !map.get(name).is_some_and(Value::is_object) || value.is_object() {
            map.insert(name.to_owned(), value);
        }
        return;
    };
    let entry = map.entry(first).or_insert(Value::Null);
    if !entry.is_object() {
        *entry = Value::Object(Map::new());
    }
    if let Value::Object(inner) = entry {
        insert(inner, rest, value);
    }
}

/// What an expression comes to.
pub fn evaluate(text: &str, environment: &Environment) -> Result<Value, ExpressionError> {
    run::run(&parse::parse(text)?, environment)
}

/// Whether an expression holds. Texts that spell a truth are one.
pub fn holds(text: &str, environment: &Environment) -> Result<bool, ExpressionError> {
    match evaluate(text, environment)? {
        Value::Bool(truth) => Ok(truth),
        other => Err(ExpressionError::Run(format!(
            "`{text}` must be true or false, and is {other}"
        ))),
    }
}

/// A value as JSON in Go's words: a float without a fraction is written like an integer.
pub fn to_json(value: &Value) -> String {
    fn settled(value: &Value) -> Value {
        match value {
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                    Value::from(float as i64)
                }
                _ => value.clone(),
            },
            Value::Array(items) => items.iter().map(settled).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| (key.clone(), settled(value)))
                .collect(),
            other => other.clone(),
        }
    }
    settled(value).to_string()
}

/// Reads an expression without asking what it comes to.
pub fn read(text: &str) -> Result<Expression, ExpressionError> {
    parse::parse(text)
}

#[cfg(test)]
mod tests;
