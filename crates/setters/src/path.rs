//! Paths to fields, as `grep` and `tree` are given them: `spec.template.spec.containers[name=nginx].image`.

use regex::Regex;

use crate::{
    Problem,
    document::{Content, Document, Id, Style, is_non_string, quoted},
};

/// A step of a path.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Field(String),
    /// Elements of a list whose field matches; without a field, elements that match.
    Elements {
        field: String,
        value: Regex,
    },
}

/// A value that was found, and what the steps through lists matched.
pub(crate) struct Match {
    pub(crate) id: Id,
    pub(crate) elements: Vec<String>,
}

/// The parts of a path; a dot behind a backslash is part of a name.
pub(crate) fn parts(path: &str) -> Result<Vec<String>, Problem> {
    let mut parts = Vec::new();
    for part in path.replace("\\.", "\0").split('.') {
        let part = part.replace('\0', ".");
        let pieces: Vec<&str> = part.split('[').collect();
        match pieces.as_slice() {
            [name] => parts.push((*name).to_owned()),
            [name, element] => parts.extend([(*name).to_owned(), format!("[{element}")]),
            _ => {
                let message =
                    format!("unrecognized path element: {part}.  Should be of the form 'list[field=value]'");
                return Err(Problem::new(message));
            }
        }
    }
    Ok(parts)
}

pub(crate) fn steps(parts: &[String]) -> Result<Vec<Step>, Problem> {
    let step = |part: &String| {
        let Some(element) = part.strip_prefix('[').and_then(|part| part.strip_suffix(']')) else {
            return Ok(Step::Field(part.clone()));
        };
        let Some((field, value)) = element.split_once('=') else {
            return Err(Problem::new(format!(
                "list path element must contain fieldName=fieldValue for element {part}"
            )));
        };
        let value = expression(value)?;
        Ok(Step::Elements {
            field: field.to_owned(),
            value,
        })
    };
    parts.iter().map(step).collect()
}

pub(crate) fn expression(text: &str) -> Result<Regex, Problem> {
    Regex::new(text).map_err(|error| Problem::new(format!("error parsing regexp: {error}")))
}

impl Document {
    /// The values a path leads to.
    pub(crate) fn matches(&self, root: Id, steps: &[Step]) -> Vec<Match> {
        let Some((step, rest)) = steps.split_first() else {
            return vec![Match {
                id: root,
                elements: Vec::new(),
            }];
        };
        match step {
            Step::Field(name) => {
                let found = self.get(root, name).filter(|found| !self.is_null(*found));
                found.map(|found| self.matches(found, rest)).unwrap_or_default()
            }
            Step::Elements { field, value } => {
                let mut found = Vec::new();
                for item in self.items(root) {
                    let text = if field.is_empty() {
                        Some(item.value)
                    } else {
                        self.get(item.value, field)
                    };
                    let text = text.map(|id| self.flow(id)).filter(|text| value.is_match(text));
                    let Some(text) = text else { continue };
                    let below = self.matches(item.value, rest).into_iter();
                    found.extend(below.map(|mut below| {
                        below.elements.push(text.clone());
                        below
                    }));
                }
                found
            }
        }
    }

    /// A value in one line.
    pub(crate) fn flow(&self, id: Id) -> String {
        match &self.node(id).content {
            Content::Scalar(scalar) => match scalar.style {
                Style::Plain => scalar.value.clone(),
                Style::SingleQuoted => format!("'{}'", scalar.value.replace('\'', "''")),
                Style::Literal | Style::Folded
                    if !is_non_string(&scalar.value) && !scalar.value.contains('\n') =>
                {
                    scalar.value.clone()
                }
                _ => quoted(&scalar.value),
            },
            Content::Sequence { items, .. } => {
                let items: Vec<String> = items.iter().map(|item| self.flow(item.value)).collect();
                format!("[{}]", items.join(", "))
            }
            Content::Mapping { entries, .. } => {
                let entries = entries.iter();
                let entries =
                    entries.map(|entry| format!("{}: {}", self.flow(entry.key), self.flow(entry.value)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            Content::Alias(target) => self.flow(*target),
        }
    }
}
