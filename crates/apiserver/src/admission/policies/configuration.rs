//! Policies with their bindings, compiled once and again when one of them changes.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use schemas::cel::{
    Returns,
    admission::{Environment, Program, Variable},
};
use serde_json::Value;
use store::{Collection, Store};

use crate::{
    admission::{conditions::Conditions, matching::Criteria},
    object,
};

pub(crate) struct Policy {
    pub name: String,
    pub criteria: Criteria,
    pub param_kind: Option<ParamKind>,
    /// Whether what cannot be evaluated counts as fulfilled.
    pub fails_open: bool,
    pub conditions: Conditions,
    pub variables: Vec<Variable>,
    pub validations: Vec<Validation>,
    pub audit_annotations: Vec<Result<Program, String>>,
    pub bindings: Vec<Binding>,
}

pub(crate) struct ParamKind {
    pub group: String,
    pub version: String,
    pub kind: String,
}

pub(crate) struct Validation {
    pub program: Result<Program, String>,
    pub expression: String,
    pub message: String,
    pub message_program: Option<Result<Program, String>>,
    pub reason: String,
}

pub(crate) struct Binding {
    pub name: String,
    /// None for a binding that narrows nothing down.
    pub criteria: Option<Criteria>,
    pub param_ref: Option<Value>,
    pub actions: Vec<Action>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Deny,
    Warn,
    Audit,
}

/// The policies of the cluster, as they are configured now.
pub struct Policies {
    policies: Collection,
    bindings: Collection,
    compiled: RwLock<(u64, Arc<[Policy]>)>,
}

impl Policies {
    pub fn new() -> Self {
        let collection = |plural: &str| Collection::new("admissionregistration.k8s.io", plural);
        Self {
            policies: collection("validatingadmissionpolicies"),
            bindings: collection("validatingadmissionpolicybindings"),
            compiled: RwLock::new((0, Arc::new([]))),
        }
    }

    /// The policies that are bound to anything, by name. A policy without a binding does nothing.
    pub(super) fn bound(&self, store: &Store) -> Arc<[Policy]> {
        let revision = store.last_change(&self.bindings);
        if revision == 0 {
            return Arc::new([]);
        }
        let revision = revision.max(store.last_change(&self.policies));
        {
            let compiled = self.compiled.read();
            if compiled.0 >= revision {
                return compiled.1.clone();
            }
        }
        let fresh: Arc<[Policy]> = self.compile(store).into();
        let mut compiled = self.compiled.write();
        // Somebody else may have read a newer state in the meantime.
        if compiled.0 < revision {
            *compiled = (revision, fresh.clone());
        }
        fresh
    }

    fn compile(&self, store: &Store) -> Vec<Policy> {
        let mut bindings: HashMap<String, Vec<Binding>> = HashMap::new();
        for binding in read(store, &self.bindings) {
            let spec = kinds::read::get(&binding, "spec");
            let policy = kinds::read::text(spec, "policyName").to_owned();
            bindings
                .entry(policy)
                .or_default()
                .push(Binding::read(object::name(&binding), spec));
        }
        read(store, &self.policies)
            .filter_map(|policy| {
                let bindings = bindings.remove(object::name(&policy))?;
                Some(Policy::compile(&policy, bindings))
            })
            .collect()
    }
}

impl Default for Policies {
    fn default() -> Self {
        Self::new()
    }
}

fn read(store: &Store, collection: &Collection) -> impl Iterator<Item = Value> {
    let stored = store.list(collection, None, None, None).items;
    stored.into_iter().filter_map(|stored| object::readable(&stored))
}

impl Policy {
    fn compile(policy: &Value, bindings: Vec<Binding>) -> Self {
        let spec = kinds::read::get(policy, "spec");
        let param_kind = spec.get("paramKind").map(ParamKind::read);
        let mut environment = Environment::new()
            .with_params(param_kind.is_some())
            .with_authorizer(true)
            .with_variables(true);
        let variables = kinds::read::list(spec, "variables").iter().map(|variable| {
            environment.declare(
                kinds::read::text(variable, "name"),
                kinds::read::text(variable, "expression"),
            )
        });
        let variables = variables.collect();
        let validations = kinds::read::list(spec, "validations").iter();
        let annotations = kinds::read::list(spec, "auditAnnotations").iter();
        Self {
            name: object::name(policy).to_owned(),
            criteria: Criteria::of_resources(kinds::read::get(spec, "matchConstraints")),
            param_kind,
            fails_open: kinds::read::text(spec, "failurePolicy") == "Ignore",
            conditions: Conditions::compile(&environment, kinds::read::list(spec, "matchConditions")),
            variables,
            validations: validations
                .map(|validation| Validation::compile(&environment, validation))
                .collect(),
            audit_annotations: annotations
                .map(|annotation| {
                    let expression = kinds::read::text(annotation, "valueExpression");
                    environment.compile(expression, &[Returns::Text, Returns::Null])
                })
                .collect(),
            bindings,
        }
    }
}

impl ParamKind {
    fn read(kind: &Value) -> Self {
        let api_version = kinds::read::text(kind, "apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kinds::read::text(kind, "kind").to_owned(),
        }
    }
}

impl Validation {
    fn compile(environment: &Environment, validation: &Value) -> Self {
        let text = |field: &str| kinds::read::text(validation, field).to_owned();
        let (expression, message_expression) = (text("expression"), text("messageExpression"));
        // What a refusal says must not depend on what the user may do.
        let messages = environment.clone().with_authorizer(false);
        Self {
            program: environment.compile(&expression, &[Returns::Bool]),
            message: text("message").trim().to_owned(),
            message_program: (!message_expression.is_empty())
                .then(|| messages.compile(&message_expression, &[Returns::Text])),
            reason: text("reason"),
            expression,
        }
    }
}

impl Binding {
    fn read(name: &str, spec: &Value) -> Self {
        let actions = kinds::read::list(spec, "validationActions").iter();
        Self {
            name: name.to_owned(),
            criteria: spec.get("matchResources").map(Criteria::of_resources),
            param_ref: spec.get("paramRef").cloned(),
            actions: actions.filter_map(Action::read).collect(),
        }
    }
}

impl Action {
    fn read(action: &Value) -> Option<Self> {
        match action.as_str()? {
            "Deny" => Some(Self::Deny),
            "Warn" => Some(Self::Warn),
            "Audit" => Some(Self::Audit),
            _ => None,
        }
    }
}
