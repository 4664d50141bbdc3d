//! IngressClass: which controller serves an Ingress.

use serde_json::Value;

use super::{
    field::{Errors, Field},
    ingress::validate_reference,
    syntax,
};
use crate::{names, read, strategy::Strategy};

const MAX_CONTROLLER_LENGTH: usize = 250;

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    validate,
    validate_update,
    ..Strategy::NONE
};

fn default(class: &mut Value) {
    if let Some(parameters) = class.pointer_mut("/spec/parameters") {
        read::default(parameters, "scope", "Cluster");
    }
}

fn validate(class: &Value, errors: &mut Errors) {
    let root = Field::root(class);
    let controller = root.child("spec.controller");
    if controller.text().len() > MAX_CONTROLLER_LENGTH {
        controller.too_long(MAX_CONTROLLER_LENGTH, errors);
    }
    syntax::validate_domain_prefixed_path(&controller, errors);
    let parameters = root.child("spec.parameters");
    if parameters.is_set() {
        validate_parameters(&parameters, errors);
    }
}

fn validate_parameters(parameters: &Field<'_>, errors: &mut Errors) {
    validate_reference(parameters, errors);
    let (scope, namespace) = (parameters.child("scope"), parameters.child("namespace"));
    match scope.text() {
        _ if !scope.is_set() => scope.required(errors),
        "Namespace" if !namespace.is_set() => {
            namespace.required_because("`parameters.scope` is set to 'Namespace'", errors);
        }
        "Namespace" => {
            namespace.syntax(names::dns_label, errors);
        }
        "Cluster" if namespace.is_set() => {
            namespace.forbidden("`parameters.scope` is set to 'Cluster'", errors);
        }
        "Cluster" => {}
        _ => scope.not_supported(&["Cluster", "Namespace"], errors),
    }
}

fn validate_update(class: &Value, old: &Value, errors: &mut Errors) {
    let before = read::at(old, &["spec", "controller"]);
    Field::root(class)
        .child("spec.controller")
        .immutable(before, errors);
    validate(class, errors);
}
