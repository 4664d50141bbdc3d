//! What one policy says about one request, for one parameter object.

use schemas::cel::admission::{Activation, Inputs, OutOfBudget, Program};
use serde_json::Value;

use super::configuration::{Policy, Validation};
use crate::{admission::authorizer::Permissions, call::Call};

/// What the validations of a policy together may cost for a request.
const BUDGET: u64 = 10_000_000;
const MAX_MESSAGE: usize = 5 * 1024;

pub(super) struct Evaluation<'e> {
    pub policy: &'e Policy,
    pub call: &'e Call,
    pub object: &'e Value,
    pub old_object: &'e Value,
    pub request: &'e Value,
    pub namespace_object: &'e Value,
}

/// A denial and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub message: String,
    /// Empty where evaluation failed.
    pub reason: String,
    /// Denies whatever the binding says.
    pub is_final: bool,
}

impl Decision {
    fn failed(message: impl std::fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            reason: String::new(),
            is_final: false,
        }
    }
}

impl<'e> Evaluation<'e> {
    /// Every denial, in the order of the validations.
    pub(super) fn decide(&self, params: &'e Value) -> Vec<Decision> {
        let permissions = Permissions(self.call);
        let inputs = Inputs {
            object: self.object,
            old_object: self.old_object,
            request: self.request,
            params,
            namespace_object: self.namespace_object,
            authorizer: Some(&permissions),
        };
        let decided = match self.applies(inputs) {
            Ok(true) => self.validate(inputs),
            Ok(false) => Ok(Vec::new()),
            Err(failure) => Err(failure),
        };
        decided.unwrap_or_else(|failure| self.unless_open(failure).into_iter().collect())
    }

    fn applies(&self, inputs: Inputs<'_>) -> Result<bool, Decision> {
        if self.policy.conditions.is_empty() {
            return Ok(true);
        }
        let inputs = Inputs {
            namespace_object: &Value::Null,
            ..inputs
        };
        match self.policy.conditions.hold(inputs, &self.policy.variables) {
            Err(_) if self.policy.fails_open => Ok(false),
            outcome => outcome.map_err(Decision::failed),
        }
    }

    fn validate(&self, inputs: Inputs<'_>) -> Result<Vec<Decision>, Decision> {
        let mut activation = Activation::new(inputs, &self.policy.variables, BUDGET);
        let mut answers = Vec::with_capacity(self.policy.validations.len());
        for validation in &self.policy.validations {
            answers.push(run(&mut activation, &validation.program).map_err(Decision::failed)?);
        }
        let unprivileged = Inputs {
            authorizer: None,
            ..inputs
        };
        let mut messages = Activation::new(unprivileged, &self.policy.variables, activation.budget());
        let mut decisions = Vec::new();
        for (validation, answer) in self.policy.validations.iter().zip(answers) {
            match answer {
                Ok(Value::Bool(true)) => {}
                Ok(_) => match message(validation, &mut messages) {
                    Ok(message) => decisions.push(denial(validation, message)),
                    Err(error) => decisions.extend(
                        self.unless_open(Decision::failed(format!("failed messageExpression: {error}"))),
                    ),
                },
                Err(error) => decisions.extend(self.unless_open(Decision::failed(error))),
            }
        }
        decisions.extend(self.annotate(unprivileged)?);
        Ok(decisions)
    }

    /// There is no audit log to annotate, but an annotation that fails refuses the request.
    fn annotate(&self, inputs: Inputs<'_>) -> Result<Vec<Decision>, Decision> {
        let mut activation = Activation::new(inputs, &self.policy.variables, BUDGET);
        let mut decisions = Vec::new();
        for program in &self.policy.audit_annotations {
            let outcome = run(&mut activation, program).map_err(Decision::failed)?;
            let failure = outcome.err().map(|error| Decision {
                is_final: true,
                ..Decision::failed(error)
            });
            decisions.extend(failure.and_then(|failure| self.unless_open(failure)));
        }
        Ok(decisions)
    }

    fn unless_open(&self, failure: Decision) -> Option<Decision> {
        (!self.policy.fails_open).then_some(failure)
    }
}

fn run(
    activation: &mut Activation<'_>,
    program: &Result<Program, String>,
) -> Result<Result<Value, String>, OutOfBudget> {
    match program {
        Ok(program) => activation.evaluate(program),
        Err(error) => Ok(Err(format!("compilation error: {error}"))),
    }
}

fn denial(validation: &Validation, message: String) -> Decision {
    let reason = if validation.reason.is_empty() {
        "Invalid"
    } else {
        &validation.reason
    };
    Decision {
        message,
        reason: reason.to_owned(),
        is_final: false,
    }
}

/// The message of a denial: what the policy computes, else what it says, else the expression.
fn message(validation: &Validation, activation: &mut Activation<'_>) -> Result<String, OutOfBudget> {
    let computed = match &validation.message_program {
        Some(program) => run(activation, program)?.ok(),
        None => None,
    };
    let computed = computed.as_ref().and_then(Value::as_str).map(str::trim);
    let usable =
        computed.filter(|text| !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n'));
    Ok(match usable {
        Some(text) => text.to_owned(),
        None if !validation.message.is_empty() => validation.message.clone(),
        None => format!("failed expression: {}", validation.expression.trim()),
    })
}
