//! Label selectors, from query strings (`app=web,tier in (a,b),!canary`) and from LabelSelector
//! objects.

mod parse;
mod requirement;

use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::field::{FieldError, quoted};

pub use requirement::{Operator, Requirement};

/// Which objects are meant, by their labels. Immutable once made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// All have to hold; sorted by key. `None` selects nothing at all.
    requirements: Option<Vec<Requirement>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// `found ')', expected: identifier`.
    #[error("{0}")]
    Syntax(String),
    #[error("unable to parse requirement: {0}")]
    Requirement(String),
    /// A key or value that no label can have.
    #[error("{}", aggregate(.0))]
    Invalid(Vec<FieldError>),
    #[error("{} is not a valid label selector operator", quoted(.0))]
    UnknownOperator(String),
}

impl Selector {
    /// Selects every object.
    pub fn everything() -> Self {
        Self::from_requirements(Vec::new())
    }

    /// Selects no object.
    pub fn nothing() -> Self {
        Self { requirements: None }
    }

    /// Reads the `labelSelector` of a query.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parse::requirements(text).map(Self::from_requirements)
    }

    /// Reads a LabelSelector object: null selects nothing, an empty one everything.
    pub fn from_object(selector: &Value) -> Result<Self, SelectorError> {
        if selector.is_null() {
            return Ok(Self::nothing());
        }
        let labels = selector["matchLabels"].as_object().into_iter().flatten();
        let labels = labels.map(|(key, value)| {
            Requirement::new(
                key,
                Operator::Equals,
                vec![value.as_str().unwrap_or_default().to_owned()],
            )
        });
        let expressions = selector["matchExpressions"]
            .as_array()
            .into_iter()
            .flatten()
            .map(expression);
        labels
            .chain(expressions)
            .collect::<Result<_, _>>()
            .map(Self::from_requirements)
    }

    /// The conditions that all have to hold; `None` when nothing is selected.
    pub fn requirements(&self) -> Option<&[Requirement]> {
        self.requirements.as_deref()
    }

    pub fn is_everything(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        let Some(requirements) = &self.requirements else {
            return false;
        };
        requirements.iter().all(|requirement| {
            let label = labels.and_then(|labels| labels.get(requirement.key()));
            requirement.matches(label.and_then(Value::as_str))
        })
    }

    fn from_requirements(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|left, right| left.key().cmp(right.key()));
        Self {
            requirements: Some(requirements),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().flatten().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

fn expression(expression: &Value) -> Result<Requirement, SelectorError> {
    let operator = match expression["operator"].as_str().unwrap_or_default() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        other => return Err(SelectorError::UnknownOperator(other.to_owned())),
    };
    let values = expression["values"].as_array().into_iter().flatten();
    let values = values
        .map(|value| value.as_str().unwrap_or_default().to_owned())
        .collect();
    Requirement::new(expression["key"].as_str().unwrap_or_default(), operator, values)
}

/// Several errors stand in brackets, each different one once.
fn aggregate(errors: &[FieldError]) -> String {
    let mut seen = HashSet::new();
    let messages = errors
        .iter()
        .map(ToString::to_string)
        .filter(|message| seen.insert(message.clone()));
    let messages: Vec<String> = messages.collect();
    match messages.as_slice() {
        [single] => single.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::Selector;
    use crate::testing::check_cases;

    #[test]
    fn query_strings_are_read_as_by_the_real_server() {
        check_cases(include_str!("../testdata/labels/query.json"), |case| {
            let selector =
                Selector::parse(case["input"].as_str().unwrap()).map_err(|error| error.to_string())?;
            let sets = case["sets"].as_array().into_iter().flatten();
            let matches: Vec<bool> = sets.map(|labels| selector.matches(labels.as_object())).collect();
            assert_eq!(
                json!(matches),
                *case.get("matches").unwrap_or(&json!([])),
                "{case}"
            );
            Ok(Value::from(selector.to_string()))
        });
    }

    #[test]
    fn objects_are_read_as_by_the_real_server() {
        check_cases(include_str!("../testdata/labels/object.json"), |case| {
            let selector = Selector::from_object(&case["input"]).map_err(|error| error.to_string())?;
            Ok(Value::from(selector.to_string()))
        });
    }

    #[test]
    fn no_selector_selects_nothing_and_an_empty_one_everything() {
        let labels = json!({"a": "b"});
        assert!(
            !Selector::from_object(&Value::Null)
                .unwrap()
                .matches(labels.as_object())
        );
        assert!(
            Selector::from_object(&json!({}))
                .unwrap()
                .matches(labels.as_object())
        );
        assert!(Selector::parse("").unwrap().is_everything());
        assert!(Selector::everything().matches(None));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-c!=<>(), \t/.0-9é]{0,40}|\\PC{0,40}") {
            if let Ok(selector) = Selector::parse(&text) {
                let shown = selector.to_string();
                prop_assert_eq!(Selector::parse(&shown).unwrap().to_string(), shown);
            }
        }
    }
}
