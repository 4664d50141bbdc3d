//! Compilation of the rules of one place.

use std::sync::Arc;

use serde_json::Value;

use super::{Rule, Source, field_path};
use crate::{
    cel::{check::Checked, declared::Declared, estimate, program::compile, types::Type},
    structural::Structural,
};

/// A rule after compilation. Errors are the text a definition is refused with.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    /// `None` for an empty rule, which says nothing.
    pub(crate) program: Result<Option<Checked>, String>,
    pub(crate) message_program: Result<Option<Checked>, String>,
    pub(crate) uses_old_self: bool,
    /// The most the rule and its message can cost for one value.
    pub(crate) max_cost: u64,
    pub(crate) message_max_cost: u64,
    /// The field errors are about, below the place of the rule.
    pub(crate) field_path: String,
}

pub(super) fn compile_all(schema: &Value, structural: &Structural, is_resource: bool) -> Vec<Rule> {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    let Some(rules) = rules.filter(|rules| !rules.is_empty()) else {
        return Vec::new();
    };
    let declared = Declared::of(structural, is_resource, "selfType");
    rules
        .iter()
        .map(|rule| {
            let source = Source::of(rule);
            let compiled = compile_rule(&source, declared.as_ref(), structural);
            Rule { source, compiled }
        })
        .collect()
}

/// Compiles a rule for values declared as given.
pub(crate) fn compile_rule(
    source: &Source,
    declared: Option<&Arc<Declared>>,
    structural: &Structural,
) -> CompiledRule {
    let mut compiled = CompiledRule {
        program: Ok(None),
        message_program: Ok(None),
        uses_old_self: false,
        max_cost: 0,
        message_max_cost: 0,
        field_path: String::new(),
    };
    if source.rule.trim().is_empty() {
        return compiled;
    }
    let Some(declared) = declared else {
        compiled.program = Err("failed to convert to declType for CEL validation rules".to_owned());
        return compiled;
    };
    let own = declared.type_of();
    let old = if source.optional_old_self == Some(true) {
        Type::optional(own.clone())
    } else {
        own.clone()
    };
    let variables = [("self", own), ("oldSelf", old)];
    match compile(&source.rule, &variables) {
        Err(issues) => compiled.program = Err(format!("compilation failed: {issues}")),
        Ok(checked) if !matches!(checked.type_of(&checked.expr), Type::Bool) => {
            compiled.program = Err("cel expression must evaluate to a bool".to_owned());
        }
        Ok(checked) => {
            compiled.uses_old_self = checked.uses.iter().any(|name| name == "oldSelf");
            compiled.max_cost = estimate::max_cost(&checked, declared);
            compiled.program = Ok(Some(checked));
        }
    }
    if compiled.program.is_err() {
        return compiled;
    }
    if !source.message_expression.is_empty() {
        compiled.message_program = match compile(&source.message_expression, &variables) {
            Err(issues) => Err(format!("messageExpression compilation failed: {issues}")),
            Ok(checked) if !matches!(checked.type_of(&checked.expr), Type::Text) => {
                Err("messageExpression must evaluate to a string".to_owned())
            }
            Ok(checked) => {
                compiled.message_max_cost = estimate::max_cost(&checked, declared);
                Ok(Some(checked))
            }
        };
    }
    if let Ok((path, _)) = field_path(&source.field_path, structural, true) {
        compiled.field_path = path.to_string();
    }
    compiled
}
