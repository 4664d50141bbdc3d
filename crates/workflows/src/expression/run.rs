//! A tree to a value.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::{Environment, ExpressionError, functions, parse::Expression, sprig};

type Outcome = Result<Value, ExpressionError>;

pub(super) fn run(expression: &Expression, environment: &Environment) -> Outcome {
    Runner {
        environment,
        locals: Vec::new(),
        items: Vec::new(),
    }
    .value(expression)
}

pub(super) struct Runner<'a> {
    environment: &'a Environment,
    /// By `let`, the latest last.
    locals: Vec<(String, Value)>,
    /// What `#` is, the innermost last.
    items: Vec<Value>,
}

pub(super) fn failed(message: impl Into<String>) -> ExpressionError {
    ExpressionError::Run(message.into())
}

impl Runner<'_> {
    pub(super) fn value(&mut self, expression: &Expression) -> Outcome {
        match expression {
            Expression::Nil => Ok(Value::Null),
            Expression::Truth(truth) => Ok(json!(truth)),
            Expression::Integer(number) => Ok(json!(number)),
            Expression::Float(number) => Ok(json!(number)),
            Expression::Text(text) => Ok(json!(text)),
            Expression::List(items) => items.iter().map(|item| self.value(item)).collect(),
            Expression::Map(pairs) => {
                let mut map = Map::new();
                for (key, value) in pairs {
                    let key = text_of(&self.value(key)?);
                    map.insert(key, self.value(value)?);
                }
                Ok(Value::Object(map))
            }
            Expression::Name(name) => self.name(name),
            Expression::Item => self
                .items
                .last()
                .cloned()
                .ok_or_else(|| failed("`#` has a meaning in predicates only")),
            Expression::Member {
                of,
                name,
                is_optional,
            } => {
                let of = self.value(of)?;
                let name = self.value(name)?;
                member(&of, &name, *is_optional)
            }
            Expression::Slice { of, from, to } => {
                let of = self.value(of)?;
                let from = from.as_deref().map(|from| self.value(from)).transpose()?;
                let to = to.as_deref().map(|to| self.value(to)).transpose()?;
                slice(&of, from.as_ref(), to.as_ref())
            }
            Expression::Call { function, arguments } => self.call(function, arguments),
            Expression::Predicate(_) => Err(failed("a predicate has no value of its own")),
            Expression::Unary(sign, operand) => {
                let operand = self.value(operand)?;
                unary(sign, &operand)
            }
            Expression::Binary(sign, left, right) => self.binary(sign, left, right),
            Expression::Choice(condition, yes, no) => {
                let is_yes = truth(&self.value(condition)?)?;
                self.value(if is_yes { yes } else { no })
            }
            Expression::Let { name, value, body } => {
                let value = self.value(value)?;
                self.locals.push((name.clone(), value));
                let outcome = self.value(body);
                self.locals.pop();
                outcome
            }
        }
    }

    fn name(&self, name: &str) -> Outcome {
        let local = self.locals.iter().rev().find(|(known, _)| known == name);
        if let Some((_, value)) = local {
            return Ok(value.clone());
        }
        if name == "$env" {
            return Ok(Value::Object(self.environment.root.clone()));
        }
        let known = self.environment.root.get(name);
        known
            .cloned()
            .ok_or_else(|| ExpressionError::Unknown(name.to_owned()))
    }

    fn call(&mut self, function: &Expression, arguments: &[Expression]) -> Outcome {
        match function {
            Expression::Name(name) => {
                if functions::takes_predicate(name) {
                    return functions::over_items(self, name, arguments);
                }
                let arguments = self.all(arguments)?;
                functions::call(name, &arguments)
            }
            Expression::Member { of, name, .. } if matches!(&**of, Expression::Name(of) if of == "sprig") => {
                let name = text_of(&self.value(name)?);
                let arguments = self.all(arguments)?;
                sprig::call(&name, &arguments)
            }
            _ => Err(failed("that cannot be called")),
        }
    }

    fn all(&mut self, expressions: &[Expression]) -> Result<Vec<Value>, ExpressionError> {
        expressions
            .iter()
            .map(|expression| self.value(expression))
            .collect()
    }

    /// What a predicate says of an item.
    pub(super) fn ask(&mut self, predicate: &Expression, item: &Value) -> Outcome {
        let body = match predicate {
            Expression::Predicate(body) => body,
            other => other,
        };
        self.items.push(item.clone());
        let answer = self.value(body);
        self.items.pop();
        answer
    }

    pub(super) fn with_local<T>(
        &mut self,
        name: &str,
        value: Value,
        then: impl FnOnce(&mut Self) -> Result<T, ExpressionError>,
    ) -> Result<T, ExpressionError> {
        self.locals.push((name.to_owned(), value));
        let outcome = then(self);
        self.locals.pop();
        outcome
    }

    fn binary(&mut self, sign: &str, left: &Expression, right: &Expression) -> Outcome {
        match sign {
            "&&" => {
                let holds = truth(&self.value(left)?)? && truth(&self.value(right)?)?;
                return Ok(json!(holds));
            }
            "||" => {
                let holds = truth(&self.value(left)?)? || truth(&self.value(right)?)?;
                return Ok(json!(holds));
            }
            "??" => {
                // What is not known is nil, for this one operator.
                return match self.value(left) {
                    Ok(Value::Null) | Err(ExpressionError::Unknown(_)) => self.value(right),
                    outcome => outcome,
                };
            }
            _ => {}
        }
        let (left, right) = (self.value(left)?, self.value(right)?);
        operate(sign, &left, &right)
    }
}

fn operate(sign: &str, left: &Value, right: &Value) -> Outcome {
    let compared = |wanted: fn(Ordering) -> bool| {
        let order = compare(left, right).ok_or_else(|| {
            failed(format!(
                "{} and {} cannot be compared by `{sign}`",
                kind(left),
                kind(right)
            ))
        })?;
        Ok(json!(wanted(order)))
    };
    let texts = || match (left, right) {
        (Value::String(left), Value::String(right)) => Ok((left.as_str(), right.as_str())),
        _ => Err(failed(format!(
            "`{sign}` is for texts, not for {} and {}",
            kind(left),
            kind(right)
        ))),
    };
    match sign {
        "==" => Ok(json!(equal(left, right))),
        "!=" => Ok(json!(!equal(left, right))),
        "<" => compared(Ordering::is_lt),
        "<=" => compared(Ordering::is_le),
        ">" => compared(Ordering::is_gt),
        ">=" => compared(Ordering::is_ge),
        "in" => contains(right, left),
        "contains" => texts().map(|(text, part)| json!(text.contains(part))),
        "startsWith" => texts().map(|(text, part)| json!(text.starts_with(part))),
        "endsWith" => texts().map(|(text, part)| json!(text.ends_with(part))),
        "matches" => {
            let (text, pattern) = texts()?;
            let pattern = regex::Regex::new(pattern).map_err(|error| failed(error.to_string()))?;
            Ok(json!(pattern.is_match(text)))
        }
        ".." => {
            let (Some(from), Some(to)) = (left.as_i64(), right.as_i64()) else {
                return Err(failed("`..` is for integers"));
            };
            if to.saturating_sub(from) > 1_000_000 {
                return Err(failed("the range has more than a million numbers"));
            }
            Ok(json!((from..=to).collect::<Vec<i64>>()))
        }
        "+" if left.is_string() || right.is_string() => {
            let (left, right) = texts()?;
            Ok(json!(format!("{left}{right}")))
        }
        _ => arithmetic(sign, left, right),
    }
}

fn arithmetic(sign: &str, left: &Value, right: &Value) -> Outcome {
    let (Some(a), Some(b)) = (left.as_f64(), right.as_f64()) else {
        return Err(failed(format!(
            "`{sign}` is for numbers, not for {} and {}",
            kind(left),
            kind(right)
        )));
    };
    let integers = left.as_i64().zip(right.as_i64());
    if let Some((a, b)) = integers {
        let overflow = || failed(format!("{a} {sign} {b} is too large"));
        match sign {
            "+" => return a.checked_add(b).map(|sum| json!(sum)).ok_or_else(overflow),
            "-" => return a.checked_sub(b).map(|rest| json!(rest)).ok_or_else(overflow),
            "*" => {
                return a
                    .checked_mul(b)
                    .map(|product| json!(product))
                    .ok_or_else(overflow);
            }
            "%" => {
                let rest = a.checked_rem(b).ok_or_else(|| failed("division by zero"))?;
                return Ok(json!(rest));
            }
            _ => {}
        }
    }
    let number = match sign {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "**" => a.powf(b),
        _ => return Err(failed(format!("`{sign}` is for integers"))),
    };
    Ok(json!(number))
}

fn unary(sign: &str, operand: &Value) -> Outcome {
    match sign {
        "!" => truth(operand).map(|truth| json!(!truth)),
        "-" => match (operand.as_i64(), operand.as_f64()) {
            (Some(number), _) => Ok(json!(-number)),
            (None, Some(number)) => Ok(json!(-number)),
            _ => Err(failed(format!("`-` is for numbers, not for {}", kind(operand)))),
        },
        _ => Ok(operand.clone()),
    }
}

fn contains(whole: &Value, part: &Value) -> Outcome {
    match whole {
        Value::Array(items) => Ok(json!(items.iter().any(|item| equal(item, part)))),
        Value::Object(map) => Ok(json!(part.as_str().is_some_and(|key| map.contains_key(key)))),
        Value::Null => Ok(json!(false)),
        _ => Err(failed(format!(
            "`in` is for lists and maps, not for {}",
            kind(whole)
        ))),
    }
}

pub(super) fn truth(value: &Value) -> Result<bool, ExpressionError> {
    value
        .as_bool()
        .ok_or_else(|| failed(format!("true or false is needed, not {}", kind(value))))
}

/// Numbers are equal by what they are, not by how they are written.
#[expect(clippy::float_cmp, reason = "the language compares them so")]
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

pub(super) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn member(of: &Value, name: &Value, is_optional: bool) -> Outcome {
    match of {
        Value::Object(map) => Ok(map.get(&text_of(name)).cloned().unwrap_or_default()),
        Value::Array(items) => {
            let index = name
                .as_i64()
                .ok_or_else(|| failed(format!("{} is no place in a list", text_of(name))))?;
            let at = if index < 0 {
                index + items.len() as i64
            } else {
                index
            };
            let item = usize::try_from(at).ok().and_then(|at| items.get(at));
            item.cloned().ok_or_else(|| {
                failed(format!(
                    "index {index} is out of range: the list has {} items",
                    items.len()
                ))
            })
        }
        Value::Null if is_optional => Ok(Value::Null),
        Value::Null => Err(failed(format!("cannot fetch {} from nil", text_of(name)))),
        other => Err(failed(format!(
            "cannot fetch {} from {}",
            text_of(name),
            kind(other)
        ))),
    }
}

fn slice(of: &Value, from: Option<&Value>, to: Option<&Value>) -> Outcome {
    let bounds = |length: usize| {
        let place = |bound: Option<&Value>, default: usize| {
            let index = bound.and_then(Value::as_i64).unwrap_or(default as i64);
            let at = if index < 0 { index + length as i64 } else { index };
            usize::try_from(at.max(0)).unwrap_or_default().min(length)
        };
        let (from, to) = (place(from, 0), place(to, length));
        from..to.max(from)
    };
    match of {
        Value::Array(items) => Ok(json!(items[bounds(items.len())])),
        Value::String(text) => {
            let letters: Vec<char> = text.chars().collect();
            Ok(json!(letters[bounds(letters.len())].iter().collect::<String>()))
        }
        other => Err(failed(format!("{} has no parts", kind(other)))),
    }
}

/// A value as it is put into a text.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "nil".to_owned(),
        other => super::to_json(other),
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "map",
    }
}
