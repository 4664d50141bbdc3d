//! Expressions of admission: the match conditions of webhooks, and policies with variables of their
//! own. What the variables are called and what is known of their types is as in the real server.

mod described;
mod types;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use super::{
    PER_CALL_LIMIT, Returns,
    authorization::{self, Authorizer, Inquiry, What, Who},
    check::Checked,
    declared::{Declared, Shape},
    evaluate::{Composed, Surroundings, evaluate_in},
    program::compile,
    to_json,
    types::Type,
    value::{Key, MapVal, Val},
};

pub use described::{Described, ObjectType};

const REQUEST_RESOURCE: &str = "authorizer.requestResource";

/// The variables of admission, for expressions that stand alone.
pub(super) fn variables() -> [(&'static str, Type); 6] {
    [
        ("object", Type::Dyn),
        ("oldObject", Type::Dyn),
        ("request", types::REQUEST.clone()),
        ("params", Type::Dyn),
        ("namespaceObject", Type::Dyn),
        ("variables", Type::Dyn),
    ]
}

/// What expressions of one webhook or policy may use.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    params: bool,
    authorizer: bool,
    /// `None` where there can be no variables at all.
    variables: Option<BTreeMap<String, Type>>,
    /// What is known of `object` and `oldObject`, and of `params`.
    object_type: Option<Type>,
    params_type: Option<Type>,
}

/// A compiled expression.
#[derive(Debug)]
pub struct Program {
    source: String,
    checked: Checked,
}

/// A variable of a policy.
#[derive(Debug)]
pub struct Variable(Composed);

impl Variable {
    /// Why the variable is no expression, in the words a policy is refused with.
    pub fn error(&self) -> Option<&str> {
        self.0.program.as_ref().err().map(String::as_str)
    }
}

impl Environment {
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there are `params`.
    #[must_use]
    pub fn with_params(mut self, params: bool) -> Self {
        self.params = params;
        self
    }

    /// Whether expressions may ask for permissions.
    #[must_use]
    pub fn with_authorizer(mut self, authorizer: bool) -> Self {
        self.authorizer = authorizer;
        self
    }

    /// Whether there are `variables`; which ones is said by [`Self::declare`].
    #[must_use]
    pub fn with_variables(mut self, variables: bool) -> Self {
        self.variables = variables.then(BTreeMap::new);
        self
    }

    /// Says what is known of the types of `object`, `oldObject` and `params`.
    #[must_use]
    pub fn with_types(mut self, object: &ObjectType, params: Option<&ObjectType>) -> Self {
        self.object_type = Some(object.0.clone());
        self.params_type = params.map(|params| params.0.clone());
        self
    }

    /// Says what is wrong with an expression, in the compiler's own words.
    pub fn check(&self, source: &str) -> Option<String> {
        self.checked(source).err()
    }

    /// Compiles a variable, for expressions that are compiled from now on.
    pub fn declare(&mut self, name: &str, source: &str) -> Variable {
        let program = self.checked(source).map_err(|issues| compilation_failed(&issues));
        let of = match &program {
            Ok(checked) => checked.type_of(&checked.expr).clone(),
            Err(_) => Type::Dyn,
        };
        self.variables.get_or_insert_default().insert(name.to_owned(), of);
        Variable(Composed {
            name: name.to_owned(),
            program,
        })
    }

    /// Compiles an expression that comes to one of the types wanted. The error is what a policy or
    /// webhook configuration is refused with.
    pub fn compile(&self, source: &str, wanted: &[Returns]) -> Result<Program, String> {
        let checked = self
            .checked(source)
            .map_err(|issues| compilation_failed(&issues))?;
        let of = checked.type_of(&checked.expr);
        if !wanted.iter().any(|wanted| wanted.is_exactly(of)) {
            return Err(wrong_type(wanted, of));
        }
        Ok(Program {
            source: source.to_owned(),
            checked,
        })
    }

    fn checked(&self, source: &str) -> Result<Checked, String> {
        let mentioned: Vec<(&str, String, &Type)> = self.mentioned(source).collect();
        let known = |of: &Option<Type>| of.clone().unwrap_or(Type::Dyn);
        let mut globals = vec![
            ("object", known(&self.object_type)),
            ("oldObject", known(&self.object_type)),
            ("request", types::REQUEST.clone()),
            ("namespaceObject", types::NAMESPACE.clone()),
        ];
        if self.params {
            globals.push(("params", known(&self.params_type)));
        }
        if self.authorizer {
            globals.push(("authorizer", authorization::AUTHORIZER));
            globals.push((REQUEST_RESOURCE, authorization::RESOURCE_CHECK));
        }
        if self.variables.is_some() {
            let fields = mentioned.iter().map(|(name, _, of)| {
                (
                    (*name).to_owned(),
                    Declared::of_shape(Shape::Scalar(Type::clone(of))),
                )
            });
            let shape = Shape::Object {
                name: "kubernetes.variables".to_owned(),
                fields: fields.collect(),
            };
            globals.push(("variables", Declared::of_shape(shape).type_of()));
        }
        globals.extend(
            mentioned
                .iter()
                .map(|(_, full_name, of)| (full_name.as_str(), Type::clone(of))),
        );
        compile(source, &globals)
    }

    /// The variables that a source can be about, with their full names: of thousands it uses a few.
    fn mentioned<'s>(&'s self, source: &'s str) -> impl Iterator<Item = (&'s str, String, &'s Type)> {
        let words: BTreeSet<&str> = source
            .split(|c: char| !(c == '_' || c.is_ascii_alphanumeric()))
            .collect();
        let variables = self.variables.as_ref();
        words.into_iter().filter_map(move |word| {
            let of = variables?.get(word)?;
            Some((word, format!("variables.{word}"), of))
        })
    }
}

fn compilation_failed(issues: &str) -> String {
    format!("compilation failed: {issues}")
}

pub(super) fn wrong_type(wanted: &[Returns], got: &Type) -> String {
    let names: Vec<&str> = wanted.iter().map(|wanted| wanted.name()).collect();
    let got = match got {
        Type::Null => "null_type".to_owned(),
        Type::Timestamp => "google.protobuf.Timestamp".to_owned(),
        Type::Duration => "google.protobuf.Duration".to_owned(),
        other => other.to_string(),
    };
    match names.as_slice() {
        [one] => format!("must evaluate to {one} but got {got}"),
        many => format!("must evaluate to one of [{}] but got {got}", many.join(" ")),
    }
}

impl Returns {
    fn is_exactly(self, of: &Type) -> bool {
        match self {
            Self::Anything => true,
            Self::Bool => matches!(of, Type::Bool),
            Self::Text => matches!(of, Type::Text),
            Self::Null => matches!(of, Type::Null),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Anything => "any",
            Self::Bool => "bool",
            Self::Text => "string",
            Self::Null => "null_type",
        }
    }
}

/// The values of the variables; null where there is none.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    pub object: &'a Value,
    pub old_object: &'a Value,
    pub request: &'a Value,
    pub params: &'a Value,
    pub namespace_object: &'a Value,
    pub authorizer: Option<&'a dyn Authorizer>,
}

/// The budget is used up: nothing more is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("validation failed due to running out of cost budget, no further validation rules will be run")]
pub struct OutOfBudget;

/// Several expressions over the same values, within one budget. Variables are evaluated once.
pub struct Activation<'a> {
    globals: Vec<(&'static str, Val<'a>)>,
    surroundings: Surroundings<'a>,
    budget: u64,
}

impl<'a> Activation<'a> {
    pub fn new(inputs: Inputs<'a>, variables: &'a [Variable], budget: u64) -> Self {
        let mut globals = vec![
            ("object", Val::of(inputs.object, None)),
            ("oldObject", Val::of(inputs.old_object, None)),
            ("request", Val::of(inputs.request, None)),
            ("params", Val::of(inputs.params, None)),
            ("namespaceObject", Val::of(inputs.namespace_object, None)),
            ("variables", names_of(variables)),
        ];
        if inputs.authorizer.is_some() {
            globals.push(("authorizer", inquiry(Inquiry::Authorizer(Who::Requester))));
            let what = What::Resource(requested(inputs.request));
            globals.push((REQUEST_RESOURCE, inquiry(Inquiry::Check(Who::Requester, what))));
        }
        let composed = variables.iter().map(|Variable(composed)| composed);
        Self {
            globals,
            surroundings: Surroundings::new(inputs.authorizer, composed),
            budget,
        }
    }

    /// Evaluates to JSON, or to the error in the words of the real server.
    pub fn evaluate(&mut self, program: &Program) -> Result<Result<Value, String>, OutOfBudget> {
        let expr = &program.checked.expr;
        let (outcome, cost) = evaluate_in(&mut self.surroundings, expr, &self.globals, PER_CALL_LIMIT);
        for cost in [self.surroundings.take_spent(), cost] {
            self.budget = self.budget.checked_sub(cost).ok_or(OutOfBudget)?;
        }
        let value = outcome.map(|value| to_json(&value));
        Ok(value.map_err(|error| format!("expression '{}' resulted in error: {error}", program.source)))
    }

    /// What is left of the budget.
    pub fn budget(&self) -> u64 {
        self.budget
    }
}

fn inquiry<'a>(inquiry: Inquiry) -> Val<'a> {
    Val::Inquiry(Arc::new(inquiry))
}

/// `variables` itself is only good for `has(variables.name)`.
fn names_of<'a>(variables: &[Variable]) -> Val<'a> {
    let names = variables
        .iter()
        .map(|Variable(composed)| (Key::Text(Arc::from(composed.name.as_str())), Val::Null));
    Val::Map(MapVal::Made(Arc::new(names.collect())))
}

/// What the request itself is about.
fn requested(request: &Value) -> authorization::Resource {
    let text = |pointer: &str| {
        let found = request.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    authorization::Resource {
        group: text("/requestResource/group"),
        resource: text("/requestResource/resource"),
        subresource: text("/requestSubResource"),
        namespace: text("/namespace"),
        name: text("/name"),
    }
}

#[cfg(test)]
mod tests;
