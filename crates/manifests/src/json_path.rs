//! The JSONPath of printer columns, scale paths, selectable fields and kubectl, with kubectl's
//! reading: `.status.conditions[?(@.type=="Ready")].status`, `.items[0:2]['metadata','kind']`,
//! `..image`, and `\.` for a dot inside of a name.

mod filter;
mod parse;

use std::ops::Range;

use serde_json::Value;

use filter::Filter;

pub use parse::JsonPathError;

/// A path through a document, read once and used often.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// Every field or item.
    Wildcard,
    /// The value and everything below it.
    Recursive,
    Slice(Slice),
    Filter(Filter),
    /// What several paths find, one after the other.
    Union(Vec<Vec<Step>>),
    /// A word where a step should be: accepted when read, but it leads nowhere.
    Word,
}

/// `[start:end:step]`; `[n]` is the slice of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    start: i64,
    end: Option<i64>,
    /// The end was not written but follows from the start.
    derived: bool,
    step: Option<i64>,
}

/// The path asks for something this document cannot answer: an item past the end, a comparison of
/// text with a number. The real implementation reports it; its callers print nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NotApplicable;

impl JsonPath {
    /// Reads a path, with or without the braces of a kubectl template around it.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        let inner = text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or(text);
        parse::steps(inner).map(|steps| Self { steps })
    }

    /// What the path leads to, in the order of the document. Missing fields lead nowhere.
    pub fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        walk(&self.steps, vec![value]).unwrap_or_default()
    }
}

fn walk<'v>(steps: &[Step], values: Vec<&'v Value>) -> Result<Vec<&'v Value>, NotApplicable> {
    steps.iter().try_fold(values, |values, step| match step {
        Step::Field(name) => bounded(values.into_iter().filter_map(|value| value.get(name.as_str()))),
        Step::Wildcard => bounded(values.into_iter().flat_map(children)),
        Step::Recursive => bounded(values.into_iter().flat_map(descendants)),
        Step::Slice(slice) => slice.select(values),
        Step::Filter(filter) => filter.select(values),
        Step::Union(paths) => {
            let mut found = Vec::new();
            for path in paths {
                found.extend(walk(path, values.clone())?);
                found = bounded(found)?;
            }
            Ok(found)
        }
        Step::Word => Err(NotApplicable),
    })
}

/// Repeated recursion finds the same values over and over; nobody means more than this.
fn bounded<'v>(values: impl IntoIterator<Item = &'v Value>) -> Result<Vec<&'v Value>, NotApplicable> {
    const MAX_FOUND: usize = 100_000;
    let found: Vec<_> = values.into_iter().take(MAX_FOUND + 1).collect();
    if found.len() > MAX_FOUND {
        Err(NotApplicable)
    } else {
        Ok(found)
    }
}

fn items(value: &Value) -> Result<&[Value], NotApplicable> {
    value.as_array().map(Vec::as_slice).ok_or(NotApplicable)
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(object) => object.values().collect(),
        _ => Vec::new(),
    }
}

/// The value and all below it that are not empty and not mere numbers.
fn descendants(value: &Value) -> Vec<&Value> {
    let below = children(value);
    let is_text = value.as_str().is_some_and(|text| !text.is_empty());
    let own = (is_text || !below.is_empty()).then_some(value);
    own.into_iter()
        .chain(below.into_iter().flat_map(descendants))
        .collect()
}

impl Slice {
    fn select<'v>(&self, values: Vec<&'v Value>) -> Result<Vec<&'v Value>, NotApplicable> {
        let mut found = Vec::new();
        for value in values.into_iter().filter(|value| !value.is_null()) {
            let items = items(value)?;
            let range = self.range(items.len())?;
            // A slice of nothing ends the step, whatever other lists there are: what the real
            // implementation does, and what users see of it.
            if range.is_empty() {
                break;
            }
            found.extend(items[range].iter().step_by(self.step()?));
            found = bounded(found)?;
        }
        Ok(found)
    }

    fn range(&self, length: usize) -> Result<Range<usize>, NotApplicable> {
        let length = length as i64;
        let from_end = |index: i64| {
            if index < 0 {
                index.saturating_add(length)
            } else {
                index
            }
        };
        let start = from_end(self.start);
        let end = match self.end {
            Some(0) if self.derived => length,
            Some(end) => from_end(end),
            None => length,
        };
        if start == end {
            return Ok(0..0);
        }
        if !(0..length).contains(&start) || !(start..=length).contains(&end) {
            return Err(NotApplicable);
        }
        Ok(start as usize..end as usize)
    }

    fn step(&self) -> Result<usize, NotApplicable> {
        match self.step {
            None => Ok(1),
            Some(step) => usize::try_from(step)
                .ok()
                .filter(|step| *step > 0)
                .ok_or(NotApplicable),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::JsonPath;
    use crate::testing::{check_cases, value};

    #[test]
    fn paths_lead_where_kubectls_do() {
        let document = include_str!("../testdata/json_path/document.json");
        let document: Value = serde_json::from_str(document).unwrap();
        check_cases(include_str!("../testdata/json_path/paths.json"), |case| {
            let path = JsonPath::parse(case["path"].as_str().unwrap()).map_err(|error| error.to_string())?;
            Ok(path.find(&document).into_iter().cloned().collect())
        });
    }

    #[test]
    fn braces_may_surround_a_path() {
        assert_eq!(
            JsonPath::parse("{.spec.replicas}"),
            JsonPath::parse(".spec.replicas")
        );
    }

    #[test]
    fn repeated_recursion_is_bounded() {
        let document = (0..100).fold(Value::Null, |inner, _| serde_json::json!({"a": inner}));
        assert!(
            JsonPath::parse(&"..a".repeat(8))
                .unwrap()
                .find(&document)
                .is_empty()
        );
    }

    proptest! {
        #[test]
        fn any_path_is_read_or_refused(
            text in "(\\.|\\.\\.|\\[|\\]|\\?|\\(|\\)|@|'|\"|\\*|:|,|-|[0-9]|a|spec|==|<|\\\\|\\{|\\}| |é){0,16}",
            document in value(),
        ) {
            if let Ok(path) = JsonPath::parse(&text) {
                let _: Vec<&Value> = path.find(&document);
            }
        }
    }
}
