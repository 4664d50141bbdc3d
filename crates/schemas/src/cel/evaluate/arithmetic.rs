//! Functions of the language itself, on values. Everything else is a library's.

use std::{cmp::Ordering, sync::Arc};

use super::{
    EvalError, Outcome, concatenate, contains, convert, index, insert, optional_index, optional_select,
};
use crate::cel::{
    library,
    syntax::operator,
    value::{List, Val},
};

/// Applies a function to its arguments; a target is the first of them.
pub(super) fn apply<'a>(function: &str, mut args: Vec<Val<'a>>, is_member: bool) -> Outcome<'a> {
    match (function, args.as_mut_slice()) {
        (operator::EQUALS, [a, b]) => Ok(Val::Bool(a.equals(b))),
        (operator::NOT_EQUALS, [a, b]) => Ok(Val::Bool(!a.equals(b))),
        (operator::LESS, [a, b]) => compare(a, b, |order| order == Ordering::Less),
        (operator::LESS_EQUALS, [a, b]) => compare(a, b, |order| order != Ordering::Greater),
        (operator::GREATER, [a, b]) => compare(a, b, |order| order == Ordering::Greater),
        (operator::GREATER_EQUALS, [a, b]) => compare(a, b, |order| order != Ordering::Less),
        (operator::ADD, [a, b]) => add(std::mem::replace(a, Val::Null), b),
        ("_-_", [a, b]) => subtract(a, b),
        ("_*_" | "_/_" | "_%_", [a, b]) => multiply(function, a, b),
        (operator::NEGATE, [Val::Int(a)]) => a.checked_neg().map(Val::Int).ok_or_else(overflow),
        (operator::NEGATE, [Val::Double(a)]) => Ok(Val::Double(-*a)),
        (operator::NOT, [Val::Bool(a)]) => Ok(Val::Bool(!*a)),
        (operator::INDEX, [a, b]) => index(a, b),
        (operator::OPTIONAL_INDEX, [a, b]) => Ok(optional_index(Some(a), b)),
        (operator::OPTIONAL_SELECT, [a, Val::Text(field)]) => Ok(optional_select(Some(a), field)),
        (operator::IN, [a, b]) => contains(a, b),
        (operator::INSERT, [Val::Map(map), key, value]) => insert(map.clone(), key, value.clone()),
        ("size", [a @ (Val::Text(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_))]) => {
            Ok(Val::Int(a.size() as i64))
        }
        ("contains", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.contains(&**b))),
        ("startsWith", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.starts_with(&**b))),
        ("endsWith", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.ends_with(&**b))),
        ("matches", [Val::Text(a), Val::Text(b)]) => {
            library::matches(a, b).map(Val::Bool).map_err(EvalError::Failed)
        }
        ("dyn", [a]) => Ok(a.clone()),
        ("type", [a]) => Ok(Val::Type(Arc::from(a.type_name()))),
        ("optional.of", [a]) => Ok(Val::Optional(Some(Arc::new(a.clone())))),
        ("optional.ofNonZeroValue", [a]) => Ok(Val::Optional((!is_zero(a)).then(|| Arc::new(a.clone())))),
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("hasValue", [Val::Optional(value)]) => Ok(Val::Bool(value.is_some())),
        ("value", [Val::Optional(value)]) => match value {
            Some(value) => Ok(Val::clone(value)),
            None => Err(EvalError::failed("optional.none() dereference")),
        },
        ("first", [Val::List(list)]) => Ok(Val::Optional(list.get(0).map(Arc::new))),
        ("last", [Val::List(list)]) => Ok(Val::Optional(list.get(list.len().wrapping_sub(1)).map(Arc::new))),
        ("optional.unwrap" | "unwrapOpt", [Val::List(list)]) => Ok(unwrap_all(list)),
        ("bool" | "bytes" | "double" | "duration" | "int" | "string" | "timestamp" | "uint", [a])
            if !matches!(a, Val::Foreign(_)) =>
        {
            convert::convert(function, a)
        }
        (name, [a @ (Val::Timestamp(_) | Val::Duration(_)), ..]) if name.starts_with("get") => {
            let a = a.clone();
            convert::part_of_time(function, &a, args.get(1))
        }
        _ if function.starts_with('_') || function.starts_with('!') || function.starts_with('-') => {
            Err(EvalError::no_such_overload())
        }
        _ => library::call(function, &args, is_member).map_err(EvalError::Failed),
    }
}

fn overflow() -> EvalError {
    EvalError::failed("integer overflow")
}

fn compare<'a>(a: &Val<'a>, b: &Val<'a>, accept: impl Fn(Ordering) -> bool) -> Outcome<'a> {
    let not_a_number = |value: &Val<'_>| matches!(value, Val::Double(number) if number.is_nan());
    match a.compare(b) {
        Some(order) => Ok(Val::Bool(accept(order))),
        None if not_a_number(a) || not_a_number(b) => Err(EvalError::failed("NaN values cannot be ordered")),
        None => Err(EvalError::no_such_overload()),
    }
}

fn add<'a>(a: Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => a.checked_add(*b).map(Val::Int).ok_or_else(overflow),
        (Val::UInt(a), Val::UInt(b)) => a
            .checked_add(*b)
            .map(Val::UInt)
            .ok_or_else(|| EvalError::failed("unsigned integer overflow")),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        (Val::Text(a), Val::Text(b)) => Ok(Val::text(format!("{}{}", &*a, &**b))),
        (Val::Bytes(a), Val::Bytes(b)) => Ok(Val::Bytes(a.iter().chain(b.iter()).copied().collect())),
        (Val::List(a), Val::List(b)) => Ok(concatenate(a, b)),
        (Val::Duration(a), Val::Duration(b)) => a
            .checked_add(*b)
            .map(Val::Duration)
            .ok_or_else(|| EvalError::failed("duration overflow")),
        (Val::Timestamp(a), Val::Duration(b)) => {
            a.plus(*b).map(Val::Timestamp).ok_or_else(timestamp_overflow)
        }
        (Val::Duration(a), Val::Timestamp(b)) => b.plus(a).map(Val::Timestamp).ok_or_else(timestamp_overflow),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn timestamp_overflow() -> EvalError {
    EvalError::failed("timestamp overflow")
}

fn subtract<'a>(a: &Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => a.checked_sub(*b).map(Val::Int).ok_or_else(overflow),
        (Val::UInt(a), Val::UInt(b)) => a
            .checked_sub(*b)
            .map(Val::UInt)
            .ok_or_else(|| EvalError::failed("unsigned integer overflow")),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        (Val::Duration(a), Val::Duration(b)) => a
            .checked_sub(*b)
            .map(Val::Duration)
            .ok_or_else(|| EvalError::failed("duration overflow")),
        (Val::Timestamp(a), Val::Duration(b)) => b
            .checked_neg()
            .and_then(|b| a.plus(b))
            .map(Val::Timestamp)
            .ok_or_else(timestamp_overflow),
        (Val::Timestamp(a), Val::Timestamp(b)) => {
            a.since(*b).map(Val::Duration).ok_or_else(timestamp_overflow)
        }
        _ => Err(EvalError::no_such_overload()),
    }
}

fn multiply<'a>(function: &str, a: &Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    match (function, a, b) {
        ("_*_", Val::Int(a), Val::Int(b)) => a.checked_mul(*b).map(Val::Int).ok_or_else(overflow),
        ("_*_", Val::UInt(a), Val::UInt(b)) => a
            .checked_mul(*b)
            .map(Val::UInt)
            .ok_or_else(|| EvalError::failed("unsigned integer overflow")),
        ("_*_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
        ("_/_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
        ("_/_", _, Val::Int(0) | Val::UInt(0)) => Err(EvalError::failed("division by zero")),
        ("_/_", Val::Int(a), Val::Int(b)) => a.checked_div(*b).map(Val::Int).ok_or_else(overflow),
        ("_/_", Val::UInt(a), Val::UInt(b)) => Ok(Val::UInt(a / b)),
        ("_%_", _, Val::Int(0) | Val::UInt(0)) => Err(EvalError::failed("modulus by zero")),
        ("_%_", Val::Int(a), Val::Int(b)) => a.checked_rem(*b).map(Val::Int).ok_or_else(overflow),
        ("_%_", Val::UInt(a), Val::UInt(b)) => Ok(Val::UInt(a % b)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null
        | Val::Bool(false)
        | Val::Int(0)
        | Val::UInt(0)
        | Val::Duration(0)
        | Val::Optional(None) => true,
        Val::Double(number) => *number == 0.0,
        Val::Text(text) => text.is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        Val::List(list) => list.len() == 0,
        Val::Map(map) => map.len() == 0,
        _ => false,
    }
}

fn unwrap_all<'a>(list: &List<'a>) -> Val<'a> {
    let values = list.iter().filter_map(|item| match item {
        Val::Optional(value) => value.map(|value| Val::clone(&value)),
        other => Some(other),
    });
    Val::list(values.collect())
}
