//! Values without fields of their own: checked, and rewritten to their canonical text.

use manifests::json::go_kind;
use serde_json::Value;

use super::{
    DecodeError, base64,
    position::Position,
    time::{self, Precision},
};
use crate::{
    quantity::{ParseError, Quantity},
    types::{Form, TypeRef},
};

pub(super) fn normalize(at: &Position<'_>, ty: TypeRef, value: &mut Value) -> Result<(), DecodeError> {
    match ty.form() {
        Form::String => check(at, ty, value, value.is_string()),
        Form::Bool => check(at, ty, value, value.is_boolean()),
        Form::Int32 => integer(at, value, |number| i32::try_from(number).is_ok(), || ty.go_name()),
        Form::Int64 => integer(at, value, |_| true, || ty.go_name()),
        Form::Double => double(at, ty, value),
        Form::Bytes => bytes(at, ty, value),
        Form::Quantity => quantity(value),
        Form::IntOrString if value.is_string() => Ok(()),
        Form::IntOrString => integer(
            at,
            value,
            |number| i32::try_from(number).is_ok(),
            || "int32".to_owned(),
        ),
        Form::Time => moment(at, value, Precision::Seconds),
        Form::MicroTime => moment(at, value, Precision::Micros),
        _ => Ok(()),
    }
}

fn check(at: &Position<'_>, ty: TypeRef, value: &Value, is_right: bool) -> Result<(), DecodeError> {
    if is_right {
        Ok(())
    } else {
        Err(at.mismatch(go_kind(value), &ty.go_name()))
    }
}

/// A whole number; one with a fraction, even `1.0`, is not whole.
fn integer(
    at: &Position<'_>,
    value: &Value,
    fits: impl Fn(i64) -> bool,
    go_type: impl Fn() -> String,
) -> Result<(), DecodeError> {
    match value {
        Value::Number(number) if number.as_i64().is_some_and(fits) => Ok(()),
        Value::Number(number) => Err(at.mismatch(format!("number {number}"), &go_type())),
        other => Err(at.mismatch(go_kind(other), &go_type())),
    }
}

/// Any number; a whole one is written without a fraction.
fn double(at: &Position<'_>, ty: TypeRef, value: &mut Value) -> Result<(), DecodeError> {
    check(at, ty, value, value.is_number())?;
    if let Some(float) = value.as_f64()
        && value.is_f64()
    {
        *value = number(float);
    }
    Ok(())
}

/// A number as Go writes it: without a fraction where it has none.
pub(crate) fn number(float: f64) -> Value {
    if float.fract() == 0.0 && float.abs() < 9e15 {
        Value::from(float as i64)
    } else {
        Value::from(float)
    }
}

fn bytes(at: &Position<'_>, ty: TypeRef, value: &mut Value) -> Result<(), DecodeError> {
    let Value::String(text) = value else {
        return Err(at.mismatch(go_kind(value), &ty.go_name()));
    };
    base64::normalize(text).map_err(DecodeError::Base64)
}

/// A quantity as text or as a bare number.
fn quantity(value: &mut Value) -> Result<(), DecodeError> {
    let canonical = match value {
        Value::String(text) => Quantity::parse(text.trim())?.to_string(),
        Value::Number(number) => Quantity::parse(&number.to_string())?.to_string(),
        _ => return Err(ParseError::Format.into()),
    };
    match value {
        Value::String(text) if *text == canonical => {}
        other => *other = Value::String(canonical),
    }
    Ok(())
}

fn moment(at: &Position<'_>, value: &mut Value, precision: Precision) -> Result<(), DecodeError> {
    let Value::String(text) = value else {
        return Err(at.mismatch(go_kind(value), "string"));
    };
    match time::canonical(text, precision)? {
        time::Canonical::AsIs => {}
        time::Canonical::Text(canonical) => *text = canonical,
        time::Canonical::Zero => *value = Value::Null,
    }
    Ok(())
}
