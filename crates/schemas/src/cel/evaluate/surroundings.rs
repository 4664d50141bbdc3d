//! What an expression can reach besides its variables: permissions, and variables that are themselves
//! expressions and evaluated only when they are asked for.

use std::collections::HashMap;

use super::{EvalError, Outcome, evaluate_in};
use crate::cel::{PER_CALL_LIMIT, authorization::Authorizer, check::Checked, value::Val};

/// How the names of composed variables begin.
const PREFIX: &str = "variables.";

/// A variable that is an expression. It uses only variables that were composed before it.
#[derive(Debug)]
pub(crate) struct Composed {
    pub(crate) name: String,
    pub(crate) program: Result<Checked, String>,
}

#[derive(Default)]
pub(crate) struct Surroundings<'a> {
    pub(crate) authorizer: Option<&'a dyn Authorizer>,
    composed: HashMap<&'a str, &'a Composed>,
    known: HashMap<&'a str, Outcome<'a>>,
    /// What evaluating variables has cost.
    spent: u64,
}

impl<'a> Surroundings<'a> {
    pub(crate) fn new(
        authorizer: Option<&'a dyn Authorizer>,
        composed: impl Iterator<Item = &'a Composed>,
    ) -> Self {
        Self {
            authorizer,
            composed: composed
                .map(|variable| (variable.name.as_str(), variable))
                .collect(),
            ..Self::default()
        }
    }

    /// What variables have cost since the last time somebody asked.
    pub(crate) fn take_spent(&mut self) -> u64 {
        std::mem::take(&mut self.spent)
    }

    /// The value of `variables.name`, if there is such a variable.
    pub(super) fn variable(&mut self, name: &str, globals: &[(&str, Val<'a>)]) -> Option<Outcome<'a>> {
        let name = name.strip_prefix(PREFIX)?;
        if !self.known.contains_key(name) {
            self.settle(*self.composed.get(name)?, globals);
        }
        self.known.get(name).cloned()
    }

    /// Evaluates a variable after those it uses, one after the other: a long chain of variables needs
    /// no deep stack.
    fn settle(&mut self, wanted: &'a Composed, globals: &[(&str, Val<'a>)]) {
        let mut waiting = vec![self.begin(wanted)];
        while let Some(variable) = waiting.last().copied() {
            if let Some(needed) = self.missing(variable) {
                waiting.push(self.begin(needed));
                continue;
            }
            let outcome = self.evaluate(variable, globals);
            self.known.insert(&variable.name, outcome);
            waiting.pop();
        }
    }

    /// A variable under evaluation has no value for itself.
    fn begin(&mut self, variable: &'a Composed) -> &'a Composed {
        let unknown = EvalError::failed(format!("no such attribute: {PREFIX}{}", variable.name));
        self.known.insert(&variable.name, Err(unknown));
        variable
    }

    fn missing(&self, variable: &'a Composed) -> Option<&'a Composed> {
        let used = variable.program.as_ref().map_or(&[][..], |checked| &checked.uses);
        used.iter()
            .filter_map(|name| name.strip_prefix(PREFIX))
            .filter(|name| !self.known.contains_key(name))
            .find_map(|name| self.composed.get(name).copied())
    }

    fn evaluate(&mut self, variable: &'a Composed, globals: &[(&str, Val<'a>)]) -> Outcome<'a> {
        let name = &variable.name;
        let checked = variable.program.as_ref().map_err(|error| {
            EvalError::failed(format!(
                "composited variable \"{name}\" fails to compile: {error}"
            ))
        })?;
        let (outcome, cost) = evaluate_in(self, &checked.expr, globals, PER_CALL_LIMIT);
        self.spent = self.spent.saturating_add(cost);
        outcome.map_err(|error| {
            EvalError::failed(format!(
                "composited variable \"{name}\" fails to evaluate: {error}"
            ))
        })
    }
}
