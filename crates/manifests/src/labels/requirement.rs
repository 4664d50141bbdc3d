//! One condition on one label.

use std::fmt;

use serde_json::Value;

use super::SelectorError;
use crate::field::{FieldError, Path};
use crate::names;

/// Each error quotes the key, which may be as long as the whole selector: more errors than this are
/// not listed.
const MAX_ERRORS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equals,
    DoubleEquals,
    NotEquals,
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

/// A key, an operator and the values it takes; always valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    /// Sorted, each once.
    values: Vec<String>,
}

impl Requirement {
    pub fn new(key: &str, operator: Operator, mut values: Vec<String>) -> Result<Self, SelectorError> {
        let errors = check(key, operator, &values);
        if !errors.is_empty() {
            return Err(SelectorError::Invalid(errors));
        }
        values.sort_unstable();
        values.dedup();
        Ok(Self {
            key: key.to_owned(),
            operator,
            values,
        })
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn operator(&self) -> Operator {
        self.operator
    }

    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether the condition holds for the value of the label; `None` when there is no such label.
    pub(super) fn matches(&self, value: Option<&str>) -> bool {
        match self.operator {
            Operator::Equals | Operator::DoubleEquals | Operator::In => value.is_some_and(|v| self.names(v)),
            Operator::NotEquals | Operator::NotIn => value.is_none_or(|v| !self.names(v)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compare(value).is_some_and(|(label, bound)| label > bound),
            Operator::LessThan => self.compare(value).is_some_and(|(label, bound)| label < bound),
        }
    }

    fn names(&self, value: &str) -> bool {
        self.values
            .binary_search_by(|candidate| candidate.as_str().cmp(value))
            .is_ok()
    }

    fn compare(&self, value: Option<&str>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            operator,
            values,
        } = self;
        let values = values.join(",");
        match operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

/// What is wrong with a label key at the given place.
pub(super) fn check_key(key: &str, path: &Path) -> Option<FieldError> {
    let complaints = names::qualified_name(key);
    (!complaints.is_empty()).then(|| FieldError::invalid(path, &Value::from(key), complaints.join("; ")))
}

fn check(key: &str, operator: Operator, values: &[String]) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = check_key(key, &Path::new("key")).into_iter().collect();
    let path = Path::new("values");
    if let Some(complaint) = wrong_count(operator, values.len()) {
        let shown = if values.is_empty() {
            Value::Null
        } else {
            Value::from(values)
        };
        errors.push(FieldError::invalid(&path, &shown, complaint));
    }
    if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
        errors.extend(
            values
                .iter()
                .enumerate()
                .filter(|(_, value)| value.parse::<i64>().is_err())
                .map(|(index, value)| {
                    let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                    FieldError::invalid(&path.index(index), &Value::from(value.as_str()), detail)
                }),
        );
    }
    for (index, value) in values.iter().enumerate() {
        if errors.len() >= MAX_ERRORS {
            break;
        }
        let complaints = names::label_value(value);
        if !complaints.is_empty() {
            let path = path.index(index).key(key);
            errors.push(FieldError::invalid(
                &path,
                &Value::from(value.as_str()),
                complaints.join("; "),
            ));
        }
    }
    errors
}

fn wrong_count(operator: Operator, count: usize) -> Option<&'static str> {
    match operator {
        Operator::In | Operator::NotIn if count == 0 => {
            Some("for 'in', 'notin' operators, values set can't be empty")
        }
        Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if count != 1 => {
            Some("exact-match compatibility requires one single value")
        }
        Operator::Exists | Operator::DoesNotExist if count != 0 => {
            Some("values set must be empty for exists and does not exist")
        }
        Operator::GreaterThan | Operator::LessThan if count != 1 => {
            Some("for 'Gt', 'Lt' operators, exactly one value is required")
        }
        _ => None,
    }
}
