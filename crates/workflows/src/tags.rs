//! `{{name}}` and `{{=expression}}` in texts, and what stands there in the end. Replacing is done in stages,
//! as more becomes known; what is not known yet is left for a later stage.

use serde_json::{Map, Value};

use crate::{
    expression::{self, Environment, ExpressionError},
    scope::Scope,
};

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// It should be known at this stage.
    #[error("failed to resolve {{{{{0}}}}}")]
    Missing(String),
    /// It is the output of something that was skipped, and nobody said what to take instead.
    #[error("{{{{{0}}}}} is an output of a step that was skipped, and has no default")]
    Absent(String),
    #[error("failed to evaluate expression `{expression}`: {error}")]
    Expression {
        expression: String,
        error: ExpressionError,
    },
    #[error("a tag is not closed in `{0}`")]
    Open(String),
}

/// What of a text must be known at a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Whatever is not known is left as it is.
    Lenient,
    /// Outputs of steps and tasks must be known.
    Outputs,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    Text(&'a str),
    /// `{{name}}`
    Name(&'a str),
    /// `{{=expression}}`
    Expression(&'a str),
}

/// Takes a text apart.
pub fn parts(text: &str) -> Result<Vec<Part<'_>>, TagError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once(OPEN) {
        if !before.is_empty() {
            parts.push(Part::Text(before));
        }
        let end = end_of(tag).ok_or_else(|| TagError::Open(text.to_owned()))?;
        let inner = &tag[..end];
        parts.push(match inner.trim_start().strip_prefix('=') {
            Some(expression) => Part::Expression(expression.trim()),
            None => Part::Name(inner.trim()),
        });
        rest = &tag[end + CLOSE.len()..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    Ok(parts)
}

/// Where a tag ends: at the first `}}`, unless that belongs to an expression with braces of its own.
fn end_of(tag: &str) -> Option<usize> {
    let first = tag.find(CLOSE)?;
    let Some(expression) = tag[..first].trim_start().strip_prefix('=') else {
        return Some(first);
    };
    if expression::read(expression).is_ok() {
        return Some(first);
    }
    let ends = tag
        .match_indices('}')
        .map(|(at, _)| at)
        .filter(|at| tag[*at..].starts_with(CLOSE));
    let mut later = ends.skip(1);
    let longer = later.find(|end| {
        let inner = tag[..*end].trim_start().strip_prefix('=');
        inner.is_some_and(|inner| expression::read(inner).is_ok())
    });
    Some(longer.unwrap_or(first))
}

/// Whether there are any tags.
pub fn has_tags(text: &str) -> bool {
    text.contains(OPEN)
}

/// Replaces what is known, in every text and key of a document.
pub fn replace(value: &Value, scope: &Scope, stage: Stage) -> Result<Value, TagError> {
    Replacer::new(scope, stage).value(value)
}

/// Replaces what is known in one text.
pub fn replace_text(text: &str, scope: &Scope, stage: Stage) -> Result<String, TagError> {
    Replacer::new(scope, stage).text(text)
}

struct Replacer<'a> {
    scope: &'a Scope,
    stage: Stage,
    /// Made when the first expression asks for it.
    environment: Option<Environment>,
}

impl<'a> Replacer<'a> {
    fn new(scope: &'a Scope, stage: Stage) -> Self {
        Self {
            scope,
            stage,
            environment: None,
        }
    }

    fn value(&mut self, value: &Value) -> Result<Value, TagError> {
        match value {
            Value::String(text) => self.text(text).map(Value::String),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                let mut replaced = Map::new();
                for (key, value) in map {
                    replaced.insert(self.text(key)?, self.value(value)?);
                }
                Ok(Value::Object(replaced))
            }
            other => Ok(other.clone()),
        }
    }

    fn text(&mut self, text: &str) -> Result<String, TagError> {
        if !has_tags(text) {
            return Ok(text.to_owned());
        }
        // Braces that are no tags may be part of a program in a text.
        let Ok(parts) = parts(text) else {
            return Ok(text.to_owned());
        };
        let mut replaced = String::with_capacity(text.len());
        for part in parts {
            match part {
                Part::Text(text) => replaced.push_str(text),
                Part::Name(name) => replaced.push_str(&self.name(name)?),
                Part::Expression(expression) => replaced.push_str(&self.expression(expression)?),
            }
        }
        Ok(replaced)
    }

    fn name(&self, name: &str) -> Result<String, TagError> {
        if let Some(value) = self.scope.get(name) {
            return Ok(value.to_owned());
        }
        if self.stage == Stage::Outputs && self.scope.is_absent(name) {
            return Err(TagError::Absent(name.to_owned()));
        }
        if self.stage == Stage::Outputs && is_output(name) && self.scope.artifact(name).is_none() {
            return Err(TagError::Missing(name.to_owned()));
        }
        Ok(format!("{OPEN}{name}{CLOSE}"))
    }

    fn expression(&mut self, text: &str) -> Result<String, TagError> {
        let wrong = |error| TagError::Expression {
            expression: text.to_owned(),
            error,
        };
        let unresolved = || Ok(format!("{OPEN}={text}{CLOSE}"));
        let names = expression::read(text).map_err(wrong)?.names();
        let is_known = |name: &str| {
            self.scope.get(name).is_some()
                || self.scope.is_absent(name)
                || self
                    .scope
                    .names()
                    .any(|known| is_below(known, name) || is_below(name, known))
        };
        if names.iter().any(|name| comes_later(name) && !is_known(name)) {
            return unresolved();
        }
        if self.stage == Stage::Outputs
            && let Some(name) = names.iter().find(|name| is_output(name) && !is_known(name))
        {
            return Err(TagError::Missing(name.clone()));
        }
        let is_lenient = self.stage == Stage::Lenient || names.iter().any(|name| !is_known(name));
        let environment = self.environment.get_or_insert_with(|| self.scope.environment());
        match expression::evaluate(text, environment) {
            Ok(Value::Null) | Err(_) if is_lenient => unresolved(),
            Ok(Value::String(value)) => Ok(value),
            Ok(value) => Ok(expression::to_json(&value)),
            Err(error) => Err(wrong(error)),
        }
    }
}

/// Of `steps.a.b`, `steps.a` is a part.
fn is_below(name: &str, whole: &str) -> bool {
    name.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'))
}

fn is_output(name: &str) -> bool {
    name.starts_with("steps.") || name.starts_with("tasks.")
}

/// What is known last; an expression that speaks of it must wait, as it might seem to have a value without.
fn comes_later(name: &str) -> bool {
    let last = [
        "item",
        "retries",
        "lastRetry",
        "workflow.status",
        "workflow.failures",
    ];
    last.iter().any(|later| name == *later || is_below(name, later))
}

/// The variable a text consists of, if that is all it is.
pub fn only_name(text: &str) -> Option<&str> {
    match parts(text).ok()?.as_slice() {
        [Part::Name(name)] => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scope() -> Scope {
        let mut scope = Scope::default();
        scope.set("inputs.parameters.a", "x\"y");
        scope.set("steps.one.outputs.result", "7");
        scope.set("workflow.name", "w");
        scope.set_absent("steps.two.outputs.result");
        scope
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(
            replace_text(text, &scope(), Stage::Outputs).as_deref(),
            Ok(expected),
            "{text}"
        );
    }

    #[test]
    fn known_names_are_replaced_and_others_left() {
        check("{{inputs.parameters.a}} and {{ workflow.name }}", "x\"y and w");
        check("{{item}} {{unknown.thing}}", "{{item}} {{unknown.thing}}");
        check("no tags }} {", "no tags }} {");
        check("{{ not closed", "{{ not closed");
    }

    #[test]
    fn expressions_are_inserted_bare_or_as_json() {
        check("{{=asInt(steps.one.outputs.result) + 1}}", "8");
        check("{{= workflow.name + '!' }}", "w!");
        check("{{={\"a\": {\"b\": 1}}}}", "{\"a\":{\"b\":1}}");
        check("{{=item + 1}}", "{{=item + 1}}");
        check("{{=steps.two.outputs.result ?? 'none'}}", "none");
    }

    #[test]
    fn outputs_must_be_known_when_a_step_begins() {
        let missing = replace_text("{{steps.three.outputs.result}}", &scope(), Stage::Outputs);
        assert_eq!(
            missing,
            Err(TagError::Missing("steps.three.outputs.result".to_owned()))
        );
        let absent = replace_text("{{steps.two.outputs.result}}", &scope(), Stage::Outputs);
        assert_eq!(
            absent,
            Err(TagError::Absent("steps.two.outputs.result".to_owned()))
        );
        assert_eq!(
            replace_text("{{steps.three.outputs.result}}", &scope(), Stage::Lenient).as_deref(),
            Ok("{{steps.three.outputs.result}}")
        );
    }

    #[test]
    fn documents_are_replaced_with_their_keys() {
        let replaced = replace(
            &json!({"{{workflow.name}}": ["{{workflow.name}}", 3]}),
            &scope(),
            Stage::Lenient,
        );
        assert_eq!(replaced, Ok(json!({"w": ["w", 3]})));
    }

    #[test]
    fn a_text_that_is_a_variable_is_recognised() {
        assert_eq!(
            only_name("{{ steps.a.outputs.result }}"),
            Some("steps.a.outputs.result")
        );
        assert_eq!(only_name("x{{a}}"), None);
        assert_eq!(only_name("{{=a}}"), None);
    }
}
