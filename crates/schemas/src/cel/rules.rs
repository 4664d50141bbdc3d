//! `x-kubernetes-validations`: the rules of a schema, compiled once and checked against objects.

mod compile;
mod field_path;

use std::{collections::BTreeMap, sync::Arc};

use manifests::field::{ErrorKind, FieldError, Path, quoted};
use serde_json::Value;

pub(crate) use self::{
    compile::{CompiledRule, compile_rule},
    field_path::field_path,
};
use super::{
    PER_CALL_LIMIT,
    evaluate::{EvalError, evaluate},
    value::Val,
};
use crate::{
    structural::Structural,
    trail::Trail,
    validate::{self, Index},
};

/// What all rules of one object may cost together.
const BUDGET: u64 = 10_000_000;
const LONGEST_MESSAGE: usize = 5 * 1024;

/// The rules of a place of a schema and of the places below it.
#[derive(Debug)]
pub(crate) struct Rules {
    own: Vec<Rule>,
    /// The type of the place; errors show it instead of the value.
    kind: &'static str,
    properties: BTreeMap<String, Rules>,
    additional: Option<Box<Rules>>,
    items: Option<Box<Rules>>,
}

#[derive(Debug)]
struct Rule {
    source: Source,
    compiled: CompiledRule,
}

/// A rule as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) rule: String,
    pub(crate) message: String,
    pub(crate) message_expression: String,
    pub(crate) reason: Option<String>,
    pub(crate) field_path: String,
    pub(crate) optional_old_self: Option<bool>,
}

impl Source {
    pub(crate) fn of(rule: &Value) -> Self {
        let text = |field: &str| {
            rule.get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            rule: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: rule.get("reason").and_then(Value::as_str).map(str::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool),
        }
    }

    /// What errors call the rule: its message, or else its text.
    fn name(&self) -> &str {
        if self.message.is_empty() {
            self.rule.trim()
        } else {
            self.message.trim()
        }
    }

    fn default_message(&self) -> String {
        if self.message.is_empty() {
            return format!("failed rule: {}", self.name());
        }
        self.name().to_owned()
    }
}

impl Rules {
    /// Compiles the rules of a schema; `None` when it has none.
    pub(crate) fn compile(schema: &Value, structural: &Structural, is_resource: bool) -> Option<Self> {
        let properties: BTreeMap<_, _> = structural
            .properties
            .iter()
            .filter_map(|(name, property)| {
                let schema = schema.get("properties")?.get(name)?;
                Some((
                    name.clone(),
                    Self::compile(schema, property, property.embedded_resource)?,
                ))
            })
            .collect();
        let below = |field: &str, structural: Option<&Structural>| {
            let structural = structural?;
            Self::compile(schema.get(field)?, structural, structural.embedded_resource).map(Box::new)
        };
        let additional = below("additionalProperties", structural.additional_schema());
        let items = below("items", structural.items.as_deref());
        let own = compile::compile_all(schema, structural, is_resource);
        if own.is_empty() && properties.is_empty() && additional.is_none() && items.is_none() {
            return None;
        }
        let kind = structural.kind.map_or("", crate::structural::Kind::name);
        Some(Self {
            own,
            kind,
            properties,
            additional,
            items,
        })
    }

    /// Checks an object, and a change of it when there is an old one. Answers with what is only
    /// worth a warning: rules that fail where nothing changed.
    pub(crate) fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        schema: &Structural,
        base: &Path,
        errors: &mut Vec<FieldError>,
    ) -> Vec<String> {
        let mut walk = Walk {
            budget: BUDGET,
            base,
            errors,
            warnings: Vec::new(),
        };
        let correlation = Correlation {
            current: old.map(|old| Pair {
                new: object,
                old,
                schema,
            }),
            parent: None,
        };
        let _ = walk.place(self, object, old, schema, correlation, &Trail::ROOT);
        walk.warnings
    }
}

/// The same place of the new and the old object.
#[derive(Clone, Copy)]
struct Pair<'a> {
    new: &'a Value,
    old: &'a Value,
    schema: &'a Structural,
}

impl Pair<'_> {
    fn unchanged(self) -> bool {
        validate::unchanged(self.new, self.old, self.schema)
    }
}

/// The place at hand, if the old object has it, and the nearest place above that it has.
#[derive(Clone, Copy)]
struct Correlation<'a> {
    current: Option<Pair<'a>>,
    parent: Option<Pair<'a>>,
}

impl<'a> Correlation<'a> {
    fn field(self, name: &str) -> Self {
        let Some(current) = self.current else { return self };
        if self.parent.is_none() && matches!(name, "apiVersion" | "kind") {
            return Self {
                current: None,
                parent: None,
            };
        }
        let below = || {
            let (new, old) = (current.new.get(name)?, current.old.get(name)?);
            Some(Pair {
                new,
                old,
                schema: current.schema.field(name)?,
            })
        };
        Self {
            current: below(),
            parent: Some(current),
        }
    }

    fn item(self, new: &'a Value, old: Option<&'a Value>) -> Self {
        let Some(current) = self.current else { return self };
        let below = || {
            Some(Pair {
                new,
                old: old?,
                schema: current.schema.items.as_deref()?,
            })
        };
        Self {
            current: below(),
            parent: Some(current),
        }
    }

    fn tolerates(self) -> bool {
        self.current.or(self.parent).is_some_and(Pair::unchanged)
    }
}

/// The budget is used up; no more rules are checked.
struct Exhausted;

struct Walk<'e> {
    budget: u64,
    base: &'e Path,
    errors: &'e mut Vec<FieldError>,
    warnings: Vec<String>,
}

impl Walk<'_> {
    fn place(
        &mut self,
        rules: &Rules,
        value: &Value,
        old: Option<&Value>,
        schema: &Structural,
        correlation: Correlation<'_>,
        trail: &Trail<'_>,
    ) -> Result<(), Exhausted> {
        if value.is_null() {
            return Ok(());
        }
        let old = old.filter(|old| !old.is_null());
        self.check(rules, value, old, schema, correlation, trail)?;
        match value {
            Value::Array(items) => {
                let (Some(rules), Some(item_schema)) = (&rules.items, &schema.items) else {
                    return Ok(());
                };
                let index: Option<Index<'_>> =
                    old.and_then(Value::as_array).and_then(|old| schema.index(old));
                for (i, item) in items.iter().enumerate() {
                    let old = index.as_ref().and_then(|index| schema.lookup(item, index));
                    let correlation = correlation.item(item, old);
                    self.place(rules, item, old, item_schema, correlation, &trail.index(i))?;
                }
            }
            Value::Object(entries) => {
                for (name, value) in entries {
                    let old = old.and_then(|old| old.get(name));
                    let correlation = correlation.field(name);
                    if let (Some(rules), Some(schema)) = (&rules.additional, schema.additional_schema()) {
                        self.place(rules, value, old, schema, correlation, &trail.key(name))?;
                    }
                    if let (Some(rules), Some(schema)) =
                        (rules.properties.get(name), schema.properties.get(name))
                    {
                        self.place(rules, value, old, schema, correlation, &trail.field(name))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks the rules of one place.
    fn check(
        &mut self,
        rules: &Rules,
        value: &Value,
        old: Option<&Value>,
        schema: &Structural,
        correlation: Correlation<'_>,
        trail: &Trail<'_>,
    ) -> Result<(), Exhausted> {
        if rules.own.is_empty() {
            return Ok(());
        }
        let this = Val::of(value, Some(schema));
        for rule in &rules.own {
            let program = match &rule.compiled.program {
                Ok(Some(program)) => program,
                Ok(None) => continue,
                Err(error) => {
                    self.report(rules.kind, trail, format!("rule compile error: {error}"));
                    continue;
                }
            };
            let optional = rule.source.optional_old_self == Some(true);
            if rule.compiled.uses_old_self && old.is_none() && !optional {
                continue;
            }
            let old_self = match (old.map(|old| Val::of(old, Some(schema))), optional) {
                (old, true) => Val::Optional(old.map(Arc::new)),
                (old, false) => old.unwrap_or(Val::Null),
            };
            let variables = [("self", this.clone()), ("oldSelf", old_self)];
            let (outcome, cost) = evaluate(&program.expr, &variables, PER_CALL_LIMIT);
            self.spend(cost, rules.kind, trail, &rule.source, outcome.as_ref().err())?;
            match outcome {
                Ok(Val::Bool(true)) => {}
                Err(error) => self.report(rules.kind, trail, failure(&error, &rule.source)),
                Ok(_) => {
                    let message = self.message(rule, &variables, rules.kind, trail)?;
                    self.refuse(rules.kind, rule, message, correlation, trail);
                }
            }
        }
        Ok(())
    }

    /// Takes a cost out of the budget.
    fn spend(
        &mut self,
        cost: u64,
        kind: &str,
        trail: &Trail<'_>,
        source: &Source,
        error: Option<&EvalError>,
    ) -> Result<(), Exhausted> {
        if error == Some(&EvalError::Cancelled) {
            let name = source.name();
            let text = format!(
                "'{}': no further validation rules will be run due to call cost exceeds limit for rule: {name}",
                EvalError::Cancelled
            );
            self.report(kind, trail, text);
            return Err(Exhausted);
        }
        if let Some(left) = self.budget.checked_sub(cost) {
            self.budget = left;
            Ok(())
        } else {
            let text = "validation failed due to running out of cost budget, no further validation rules will be run";
            self.report(kind, trail, text.to_owned());
            Err(Exhausted)
        }
    }

    /// What to tell the user: the value of the message expression if that works out.
    fn message(
        &mut self,
        rule: &Rule,
        variables: &[(&str, Val<'_>)],
        kind: &str,
        trail: &Trail<'_>,
    ) -> Result<String, Exhausted> {
        let Ok(Some(program)) = &rule.compiled.message_program else {
            return Ok(rule.source.default_message());
        };
        let (outcome, cost) = evaluate(&program.expr, variables, PER_CALL_LIMIT);
        match self.budget.checked_sub(cost) {
            Some(left) if outcome.as_ref().err() != Some(&EvalError::Cancelled) => self.budget = left,
            _ => {
                let text = format!(
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                    quoted(&rule.source.message_expression)
                );
                self.report(kind, trail, text);
                return Err(Exhausted);
            }
        }
        let text = match outcome {
            Ok(Val::Text(text)) => text.trim().to_owned(),
            _ => String::new(),
        };
        let usable = !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
        Ok(if usable {
            text
        } else {
            rule.source.default_message()
        })
    }

    /// Reports a rule that says no; where nothing changed, that is only a warning.
    fn refuse(
        &mut self,
        kind: &str,
        rule: &Rule,
        message: String,
        correlation: Correlation<'_>,
        trail: &Trail<'_>,
    ) {
        let path = trail.path(self.base);
        let path = match rule.compiled.field_path.as_str() {
            "" => path,
            below => path.child(below),
        };
        let reason = match rule.source.reason.as_deref() {
            Some("FieldValueForbidden") => ErrorKind::Forbidden,
            Some("FieldValueRequired") => ErrorKind::Required,
            Some("FieldValueDuplicate") => ErrorKind::Duplicate,
            _ => ErrorKind::Invalid,
        };
        let detail = if reason == ErrorKind::Duplicate {
            String::new()
        } else {
            message
        };
        let error = FieldError {
            kind: reason,
            field: shown(&path),
            value: quoted(kind),
            detail,
        };
        if !rule.compiled.uses_old_self && correlation.tolerates() {
            self.warnings.push(error.to_string());
        } else {
            self.errors.push(error);
        }
    }

    fn report(&mut self, kind: &str, trail: &Trail<'_>, detail: String) {
        let field = shown(&trail.path(self.base));
        self.errors.push(FieldError {
            kind: ErrorKind::Invalid,
            field,
            value: quoted(kind),
            detail,
        });
    }
}

fn shown(path: &Path) -> String {
    if path.as_str().is_empty() {
        "<nil>".to_owned()
    } else {
        path.as_str().to_owned()
    }
}

fn failure(error: &EvalError, source: &Source) -> String {
    let name = source.name();
    if error.to_string().starts_with("no such overload") {
        return format!(
            "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {name}"
        );
    }
    format!("{error} evaluating rule: {name}")
}
