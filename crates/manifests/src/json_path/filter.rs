//! `[?(@.type=="Ready")]`: the items for which a comparison holds, or which have a field at all.

use std::cmp::Ordering;

use serde_json::Value;

use super::{NotApplicable, Step, items, walk};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Filter {
    pub(super) left: Operand,
    /// Without a comparison, finding anything is enough.
    pub(super) comparison: Option<(Comparison, Operand)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Path(Vec<Step>),
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Accepted when read, like `=<`, but never answered.
    Unknown,
}

impl Filter {
    pub(super) fn select<'v>(&self, values: Vec<&'v Value>) -> Result<Vec<&'v Value>, NotApplicable> {
        let mut found = Vec::new();
        for value in values {
            for item in items(value)? {
                if self.holds(item)? {
                    found.push(item);
                }
            }
        }
        Ok(found)
    }

    fn holds(&self, item: &Value) -> Result<bool, NotApplicable> {
        let Some((comparison, right)) = &self.comparison else {
            // A path that cannot be followed counts as found, as it does in the real implementation.
            return Ok(self.left.values(item).map_or(true, |found| !found.is_empty()));
        };
        let left = self.left.values(item)?;
        let right = right.values(item)?;
        match (left.as_slice(), right.as_slice()) {
            ([], _) | (_, []) => Ok(false),
            ([left], [right]) => comparison.holds(left, right),
            _ => Err(NotApplicable),
        }
    }
}

impl Operand {
    fn values<'v>(&'v self, item: &'v Value) -> Result<Vec<&'v Value>, NotApplicable> {
        match self {
            Self::Path(steps) => walk(steps, vec![item]),
            Self::Literal(value) => Ok(vec![value]),
        }
    }
}

impl Comparison {
    pub(super) fn named(operator: &str) -> Self {
        match operator {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => Self::Unknown,
        }
    }

    fn holds(self, left: &Value, right: &Value) -> Result<bool, NotApplicable> {
        let ordering = compare(left, right)?;
        if left.is_boolean() && !matches!(self, Self::Equal | Self::NotEqual) {
            return Err(NotApplicable);
        }
        match self {
            Self::Equal => Ok(ordering.is_eq()),
            Self::NotEqual => Ok(ordering.is_ne()),
            Self::Less => Ok(ordering.is_lt()),
            Self::LessOrEqual => Ok(ordering.is_le()),
            Self::Greater => Ok(ordering.is_gt()),
            Self::GreaterOrEqual => Ok(ordering.is_ge()),
            Self::Unknown => Err(NotApplicable),
        }
    }
}

/// Only scalars of one type compare, and `1.0` is of another type than `1`.
fn compare(left: &Value, right: &Value) -> Result<Ordering, NotApplicable> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Ok(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Ok(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
            match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => Ok(left.cmp(&right)),
                _ => left.as_f64().partial_cmp(&right.as_f64()).ok_or(NotApplicable),
            }
        }
        _ => Err(NotApplicable),
    }
}
