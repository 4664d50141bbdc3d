//! Evaluation of a checked expression. Every step is paid for out of a budget, at the prices of the
//! reference implementation, so that no expression runs for long whatever it is given.

mod arithmetic;
mod convert;
mod spending;
mod surroundings;

use std::sync::Arc;

use super::{
    library,
    syntax::{ACCUMULATOR, Comprehension, Entry, Expr, Literal, Node, operator, qualified_name},
    value::{Key, List, MapVal, Text, Val},
};

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EvalError {
    /// An error in the sense of the language: `false && error` is still false.
    #[error("{0}")]
    Failed(String),
    /// The budget is used up; nothing can make up for that.
    #[error("operation cancelled: actual cost limit exceeded")]
    Cancelled,
}

impl EvalError {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    pub(crate) fn no_such_overload() -> Self {
        Self::failed("no such overload")
    }
}

pub(crate) use surroundings::{Composed, Surroundings};

pub(crate) type Outcome<'a> = Result<Val<'a>, EvalError>;

/// The value of an expression, and what it cost.
pub(crate) fn evaluate<'a>(expr: &Expr, variables: &[(&str, Val<'a>)], limit: u64) -> (Outcome<'a>, u64) {
    evaluate_in(&mut Surroundings::default(), expr, variables, limit)
}

/// The value of an expression that may reach for more than its variables, and what it cost.
pub(crate) fn evaluate_in<'a>(
    surroundings: &mut Surroundings<'a>,
    expr: &Expr,
    variables: &[(&str, Val<'a>)],
    limit: u64,
) -> (Outcome<'a>, u64) {
    let scopes = variables
        .iter()
        .map(|(name, value)| (*name, Ok(value.clone())))
        .collect();
    let mut evaluator = Evaluator {
        scopes,
        globals: variables,
        surroundings,
        spent: 0,
        limit,
        work: 0,
    };
    let outcome = evaluator.evaluate(expr);
    (outcome, evaluator.spent)
}

struct Evaluator<'e, 'a> {
    /// Variables, innermost last. The result a comprehension gathers may be an error for a while.
    scopes: Vec<(&'e str, Outcome<'a>)>,
    /// The variables that were given.
    globals: &'e [(&'e str, Val<'a>)],
    surroundings: &'e mut Surroundings<'a>,
    spent: u64,
    limit: u64,
    /// What was gone through so far, priced or not.
    work: u64,
}

impl<'e, 'a> Evaluator<'e, 'a> {
    fn charge(&mut self, cost: u64) -> Result<(), EvalError> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent > self.limit {
            Err(EvalError::Cancelled)
        } else {
            Ok(())
        }
    }

    fn evaluate(&mut self, expr: &'e Expr) -> Outcome<'a> {
        match &expr.node {
            Node::Literal(literal) => Ok(literal_value(literal)),
            Node::Ident(name) => {
                self.charge(1)?;
                match self.scopes.iter().rfind(|(variable, _)| variable == name) {
                    Some((_, value)) => value.clone(),
                    None => match self.surroundings.variable(name, self.globals) {
                        Some(value) => value,
                        None => type_constant(expr)
                            .ok_or_else(|| EvalError::failed(format!("no such attribute: {name}"))),
                    },
                }
            }
            Node::Select { operand, field, test } => {
                if let Some(constant) = type_constant(expr).filter(|_| !self.is_variable(operand)) {
                    return Ok(constant);
                }
                let operand = self.evaluate(operand)?;
                if *test {
                    return has(&operand, field);
                }
                self.charge(1)?;
                select(&operand, field)
            }
            Node::Call {
                function,
                target,
                args,
            } => self.call(function, target.as_deref(), args),
            Node::List { items, optional } => self.list(items, optional),
            Node::Map(entries) => self.map(entries),
            Node::Struct(name) => Err(EvalError::failed(format!("unknown type: {name}"))),
            Node::Comprehension(inner) => self.comprehension(inner),
        }
    }

    fn is_variable(&self, expr: &'e Expr) -> bool {
        let name = qualified_name(expr).unwrap_or_default();
        let first = name.split('.').next().unwrap_or_default();
        self.scopes.iter().any(|(variable, _)| *variable == first)
    }

    fn call(&mut self, function: &str, target: Option<&'e Expr>, args: &'e [Expr]) -> Outcome<'a> {
        match (function, args) {
            (operator::AND, [left, right]) => self.logical(left, right, false),
            (operator::OR, [left, right]) => self.logical(left, right, true),
            (operator::CONDITIONAL, [condition, yes, no]) => match self.evaluate(condition)? {
                Val::Bool(true) => self.evaluate(yes),
                Val::Bool(false) => self.evaluate(no),
                _ => Err(EvalError::no_such_overload()),
            },
            (operator::NOT_STRICTLY_FALSE, [arg]) => {
                let value = self.evaluate(arg);
                self.charge(1)?;
                match value {
                    Err(EvalError::Cancelled) => Err(EvalError::Cancelled),
                    Ok(Val::Bool(false)) => Ok(Val::Bool(false)),
                    _ => Ok(Val::Bool(true)),
                }
            }
            (operator::ADD | operator::INSERT, [first, ..]) if is_accumulator(first) => {
                let accumulated = self.take_accumulated()?;
                // The result grows in place, so what is there already costs no work.
                self.apply(function, Some(accumulated), &args[1..], false, 1)
            }
            ("or" | "orValue", [other]) if target.is_some() => self.or(function, target, other),
            _ => {
                let target = target.map(|target| self.evaluate(target)).transpose()?;
                let is_member = target.is_some();
                self.apply(function, target, args, is_member, 0)
            }
        }
    }

    /// Evaluates the arguments that are left and applies the function to all of them. The first
    /// `free` of them are not gone through by the function.
    fn apply(
        &mut self,
        function: &str,
        first: Option<Val<'a>>,
        args: &'e [Expr],
        is_member: bool,
        free: usize,
    ) -> Outcome<'a> {
        let mut values = Vec::with_capacity(args.len() + 1);
        values.extend(first);
        for arg in args {
            values.push(self.evaluate(arg)?);
        }
        // The price is paid before the work: it bounds time and memory.
        self.charge(spending::price(function, &values))?;
        self.work += spending::work(function, &values[free.min(values.len())..]);
        if self.work > spending::MAX_WORK {
            return Err(EvalError::Cancelled);
        }
        if let [Val::Inquiry(inquiry), rest @ ..] = values.as_slice()
            && is_member
        {
            return inquiry.apply(function, rest, self.surroundings.authorizer);
        }
        arithmetic::apply(function, values, is_member)
    }

    /// `&&` and `||`: the deciding value wins over an error on the other side.
    fn logical(&mut self, left: &'e Expr, right: &'e Expr, deciding: bool) -> Outcome<'a> {
        let left = self.evaluate(left);
        match left {
            Ok(Val::Bool(value)) if value == deciding => return Ok(Val::Bool(deciding)),
            Err(EvalError::Cancelled) => return left,
            _ => {}
        }
        match (left, self.evaluate(right)) {
            (_, Ok(Val::Bool(value))) if value == deciding => Ok(Val::Bool(deciding)),
            (_, Err(EvalError::Cancelled)) => Err(EvalError::Cancelled),
            (Err(error), _) | (Ok(Val::Bool(_)), Err(error)) => Err(error),
            (Ok(Val::Bool(_)), Ok(Val::Bool(value))) => Ok(Val::Bool(value)),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    /// `optional.or(other)`: the other is looked at only when it is needed.
    fn or(&mut self, function: &str, target: Option<&'e Expr>, other: &'e Expr) -> Outcome<'a> {
        let target = target.map(|target| self.evaluate(target)).transpose()?;
        match target {
            Some(Val::Optional(Some(value))) if function == "orValue" => Ok(Val::clone(&value)),
            Some(Val::Optional(Some(value))) => Ok(Val::Optional(Some(value))),
            Some(Val::Optional(None)) => self.evaluate(other),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    /// Takes the gathered result out of its variable, so that it can grow in place. The step of the
    /// comprehension puts it back.
    fn take_accumulated(&mut self) -> Outcome<'a> {
        self.charge(1)?;
        match self
            .scopes
            .iter_mut()
            .rfind(|(variable, _)| *variable == ACCUMULATOR)
        {
            Some((_, value)) => std::mem::replace(value, Ok(Val::Null)),
            None => Err(EvalError::failed("no such attribute")),
        }
    }

    fn list(&mut self, items: &'e [Expr], optional: &[usize]) -> Outcome<'a> {
        let mut made = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            match self.evaluate(item)? {
                Val::Optional(value) if optional.contains(&i) => {
                    made.extend(value.map(|value| Val::clone(&value)));
                }
                value => made.push(value),
            }
        }
        self.charge(super::estimate::LIST_COST)?;
        Ok(Val::list(made))
    }

    fn map(&mut self, entries: &'e [Entry]) -> Outcome<'a> {
        let mut made = std::collections::BTreeMap::new();
        for entry in entries {
            let key = self.evaluate(&entry.key)?;
            let key = key
                .key()
                .ok_or_else(|| EvalError::failed(format!("unsupported key type: {}", key.type_name())))?;
            let value = match self.evaluate(&entry.value)? {
                Val::Optional(None) if entry.optional => continue,
                Val::Optional(Some(value)) if entry.optional => Val::clone(&value),
                value => value,
            };
            if made.insert(key.clone(), value).is_some() {
                return Err(EvalError::failed(format!("Failed with repeated key: {key}")));
            }
        }
        self.charge(super::estimate::MAP_COST)?;
        Ok(Val::Map(MapVal::Made(Arc::new(made))))
    }

    fn comprehension(&mut self, inner: &'e Comprehension) -> Outcome<'a> {
        let range = self.evaluate(&inner.range)?;
        let start = self.evaluate(&inner.start);
        let depth = self.scopes.len();
        self.scopes.push((&inner.accumulator, start));
        let outcome = self.gather(inner, &range, depth);
        self.scopes.truncate(depth);
        outcome
    }

    fn gather(&mut self, inner: &'e Comprehension, range: &Val<'a>, depth: usize) -> Outcome<'a> {
        let two = inner.second.is_some();
        match range {
            Val::List(list) => {
                for i in 0..list.len() {
                    let Some(item) = list.get(i) else { break };
                    let (first, second) = if two {
                        (Val::Int(i as i64), item)
                    } else {
                        (item, Val::Null)
                    };
                    if !self.iterate(inner, first, second, depth)? {
                        break;
                    }
                }
            }
            Val::Map(map) => {
                for (key, value) in map.iter() {
                    if !self.iterate(inner, key, value, depth)? {
                        break;
                    }
                }
            }
            other => {
                return Err(EvalError::failed(format!(
                    "got '{}', expected iterable type",
                    other.type_name()
                )));
            }
        }
        self.evaluate(&inner.result)
    }

    /// One round; false when the condition says that the result is settled.
    fn iterate(
        &mut self,
        inner: &'e Comprehension,
        first: Val<'a>,
        second: Val<'a>,
        depth: usize,
    ) -> Result<bool, EvalError> {
        self.scopes.push((&inner.variable, Ok(first)));
        if let Some(name) = &inner.second {
            self.scopes.push((name, Ok(second)));
        }
        let proceed = match self.evaluate(&inner.condition) {
            Err(EvalError::Cancelled) => return Err(EvalError::Cancelled),
            Ok(Val::Bool(false)) => false,
            _ => true,
        };
        if proceed {
            let step = self.evaluate(&inner.step);
            if step == Err(EvalError::Cancelled) {
                return Err(EvalError::Cancelled);
            }
            self.scopes[depth].1 = step;
        }
        self.scopes.truncate(depth + 1);
        Ok(proceed)
    }
}

/// Outcomes are compared only for their errors.
impl PartialEq for Val<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

fn is_accumulator(expr: &Expr) -> bool {
    matches!(&expr.node, Node::Ident(name) if name == ACCUMULATOR)
}

fn literal_value<'a>(literal: &Literal) -> Val<'a> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(flag) => Val::Bool(*flag),
        Literal::Int(integer) => Val::Int(*integer),
        Literal::UInt(integer) => Val::UInt(*integer),
        Literal::Double(double) => Val::Double(*double),
        Literal::Text(text) => Val::Text(Text::Made(Arc::from(text.as_str()))),
        Literal::Bytes(bytes) => Val::Bytes(Arc::from(bytes.as_slice())),
    }
}

fn type_constant<'a>(expr: &Expr) -> Option<Val<'a>> {
    let name = qualified_name(expr)?;
    super::check::named_type(&name).map(|_| Val::Type(Arc::from(name)))
}

fn has<'a>(operand: &Val<'a>, field: &str) -> Outcome<'a> {
    match operand {
        Val::Map(map) => Ok(Val::Bool(map.select(field).is_some())),
        Val::Optional(None) => Ok(Val::Bool(false)),
        Val::Optional(Some(value)) => has(value, field),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn select<'a>(operand: &Val<'a>, field: &str) -> Outcome<'a> {
    match operand {
        Val::Map(map) => map
            .select(field)
            .ok_or_else(|| EvalError::failed(format!("no such key: {field}"))),
        Val::Optional(value) => Ok(optional_select(value.as_deref(), field)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn optional_select<'a>(operand: Option<&Val<'a>>, field: &str) -> Val<'a> {
    match operand {
        Some(Val::Map(map)) => Val::Optional(map.select(field).map(Arc::new)),
        Some(Val::Optional(value)) => optional_select(value.as_deref(), field),
        _ => Val::Optional(None),
    }
}

fn index<'a>(operand: &Val<'a>, index: &Val<'a>) -> Outcome<'a> {
    match (operand, index) {
        (Val::List(list), Val::Int(_) | Val::UInt(_) | Val::Double(_)) => {
            let position = match index {
                Val::Int(position) => usize::try_from(*position).ok(),
                Val::UInt(position) => usize::try_from(*position).ok(),
                Val::Double(position) if position.fract() == 0.0 && *position >= 0.0 => {
                    Some(*position as usize)
                }
                _ => None,
            };
            let item = position.and_then(|position| list.get(position));
            item.ok_or_else(|| EvalError::failed(format!("index out of bounds: {}", library::plain(index))))
        }
        (Val::Map(map), key) => {
            let key = key.key().ok_or_else(EvalError::no_such_overload)?;
            map.get(&key)
                .ok_or_else(|| EvalError::failed(format!("no such key: {key}")))
        }
        (Val::Optional(value), _) => Ok(optional_index(value.as_deref(), index)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn optional_index<'a>(operand: Option<&Val<'a>>, key: &Val<'a>) -> Val<'a> {
    let value = operand.and_then(|operand| index(operand, key).ok());
    match value {
        Some(Val::Optional(value)) => Val::Optional(value),
        value => Val::Optional(value.map(Arc::new)),
    }
}

fn contains<'a>(value: &Val<'a>, container: &Val<'a>) -> Outcome<'a> {
    match container {
        Val::List(list) => Ok(Val::Bool(list.contains(value))),
        Val::Map(map) => Ok(Val::Bool(value.key().is_some_and(|key| map.get(&key).is_some()))),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn insert<'a>(map: MapVal<'a>, key: &Val<'a>, value: Val<'a>) -> Outcome<'a> {
    let key: Key = key.key().ok_or_else(EvalError::no_such_overload)?;
    let mut entries = match map {
        MapVal::Made(entries) => entries,
        MapVal::Json { .. } => {
            let pairs = map
                .keys()
                .into_iter()
                .filter_map(|name| Some((name.key()?, map.get(&name.key()?)?)));
            Arc::new(pairs.collect())
        }
    };
    if Arc::make_mut(&mut entries).insert(key.clone(), value).is_some() {
        return Err(EvalError::failed(format!(
            "insert failed: key {key} already exists"
        )));
    }
    Ok(Val::Map(MapVal::Made(entries)))
}

fn concatenate<'a>(first: List<'a>, second: &List<'a>) -> Val<'a> {
    Val::List(first.concatenated(second))
}
