//! ValidatingAdmissionPolicy and its binding: rules in CEL, and where they hold.

use serde_json::Value;

use super::{
    admission_rules::{self, default_match, default_rule},
    conditions,
    field::{Errors, Field},
};
use crate::{label_selector, names, read, strategy::Strategy};

const MAX_AUDIT_ANNOTATIONS: usize = 20;
const MAX_VALUE_LENGTH: usize = 5 * 1024;
const NEITHER: &str = "validations or auditAnnotations must contain at least one item";

pub(crate) static POLICY: Strategy = Strategy {
    default: |policy| {
        let spec = super::spec_mut(policy);
        read::default(spec, "failurePolicy", "Fail");
        default_resources(spec, "matchConstraints");
    },
    prepare_for_create: super::clear_status,
    prepare_for_update: super::keep_status,
    validate: validate_policy,
    validate_update: |policy, _, errors| validate_policy(policy, errors),
    prepare_for_status_update: super::keep_spec,
    validate_status_update: |policy, _, errors| validate_status(policy, errors),
    ..Strategy::NONE
};

pub(crate) static BINDING: Strategy = Strategy {
    default: |binding| default_resources(super::spec_mut(binding), "matchResources"),
    validate: validate_binding,
    validate_update: |binding, _, errors| validate_binding(binding, errors),
    ..Strategy::NONE
};

fn default_resources(spec: &mut Value, field: &str) {
    let Some(resources) = spec.get_mut(field) else {
        return;
    };
    default_match(resources);
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in read::list_mut(resources, rules) {
            default_rule(rule);
        }
    }
}

fn validate_policy(policy: &Value, errors: &mut Errors) {
    let root = Field::root(policy);
    let spec = root.child("spec");
    let failure = spec.child("failurePolicy");
    if failure.is_set() {
        failure.one_of(&["Fail", "Ignore"], errors);
    } else {
        failure.required(errors);
    }
    let params = spec.child("paramKind");
    if params.is_set() {
        validate_param_kind(&params, errors);
    }
    let constraints = spec.child("matchConstraints");
    if constraints.is_set() {
        admission_rules::validate_match(&constraints, errors);
        constraints.child("resourceRules").require(errors);
    } else {
        constraints.required(errors);
    }
    admission_rules::validate_conditions(&spec.child("matchConditions"), errors);
    for variable in spec.child("variables").items() {
        validate_variable(&variable, errors);
    }
    let (validations, annotations) = (spec.child("validations"), spec.child("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        validations.required_because(NEITHER, errors);
        annotations.required_because(NEITHER, errors);
        return;
    }
    for validation in validations.items() {
        validate_validation(&validation, errors);
    }
    if annotations.list().len() > MAX_AUDIT_ANNOTATIONS {
        annotations.invalid(
            format!("must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations"),
            errors,
        );
    }
    for annotation in annotations.items() {
        validate_annotation(&annotation, root.child("metadata.name").text(), errors);
    }
    annotations.unique_by("key", errors);
}

fn validate_param_kind(params: &Field<'_>, errors: &mut Errors) {
    let (version, kind) = (params.child("apiVersion"), params.child("kind"));
    if version.require(errors) {
        validate_version(&version, errors);
    }
    if kind.require(errors) {
        let complaints = names::dns1035_label(&kind.text().to_lowercase());
        if !complaints.is_empty() {
            let complaints = complaints.join(",");
            kind.invalid(
                format!("may have mixed case, but should otherwise match: {complaints}"),
                errors,
            );
        }
    }
}

fn validate_version(version: &Field<'_>, errors: &mut Errors) {
    let text = version.text();
    if text.matches('/').count() > 1 {
        version.invalid(format!("unexpected GroupVersion string: {text}"), errors);
        return;
    }
    let (group, short) = text.split_once('/').unwrap_or(("", text));
    let complaints = names::dns_subdomain(group);
    if !group.is_empty() && !complaints.is_empty() {
        version.invalid_as(group, complaints.join(","), errors);
    }
    let complaints = names::dns1035_label(short);
    if short.is_empty() {
        version.invalid("version must be specified", errors);
    } else if !complaints.is_empty() {
        version.invalid_as(short, complaints.join(","), errors);
    }
}

fn validate_variable(variable: &Field<'_>, errors: &mut Errors) {
    let (name, expression) = (variable.child("name"), variable.child("expression"));
    if name.text().trim().is_empty() {
        name.required_because("name is not specified", errors);
    } else if !is_cel_identifier(name.text()) {
        name.invalid("must be a valid CEL identifier", errors);
    }
    require_expression(&expression, errors);
}

fn is_cel_identifier(name: &str) -> bool {
    super::syntax::c_identifier(name).is_empty() && !names::is_cel_word(name)
}

fn require_expression(expression: &Field<'_>, errors: &mut Errors) {
    if expression.text().trim().is_empty() {
        expression.required_because("expression is not specified", errors);
    }
}

fn validate_validation(validation: &Field<'_>, errors: &mut Errors) {
    require_expression(&validation.child("expression"), errors);
    for text in ["messageExpression", "message"] {
        let text = validation.child(text);
        if !text.is_empty() && text.text().trim().is_empty() {
            text.invalid("must be non-empty if specified", errors);
        }
    }
    let message = validation.child("message");
    if message.text().trim().contains(['\n', '\r']) {
        message.invalid("must not contain line breaks", errors);
    }
    validation
        .child("reason")
        .optional_one_of(&["Forbidden", "Invalid", "RequestEntityTooLarge"], errors);
}

fn validate_annotation(annotation: &Field<'_>, policy_name: &str, errors: &mut Errors) {
    let (key, expression) = (annotation.child("key"), annotation.child("valueExpression"));
    if policy_name.is_empty() {
        key.invalid_as(key.text(), "requires metadata.name be non-empty", errors);
    } else {
        let name = format!("{policy_name}/{}", key.text());
        for complaint in names::qualified_name(&name) {
            key.invalid_as(name.as_str(), complaint, errors);
        }
    }
    match expression.text().trim().len() {
        0 => expression.required_because("valueExpression is not specified", errors),
        length if length > MAX_VALUE_LENGTH => expression.required_because(
            &format!("must not exceed {MAX_VALUE_LENGTH} bytes in length"),
            errors,
        ),
        _ => {}
    }
}

fn validate_status(policy: &Value, errors: &mut Errors) {
    let root = Field::root(policy);
    for warning in root.child("status.typeChecking.expressionWarnings").items() {
        warning.child("warning").require(errors);
        warning.child("fieldRef").require(errors);
    }
    conditions::validate(&root.child("status.conditions"), errors);
}

fn validate_binding(binding: &Value, errors: &mut Errors) {
    let root = Field::root(binding);
    let spec = root.child("spec");
    spec.child("policyName")
        .require_syntax(names::dns_subdomain, errors);
    let params = spec.child("paramRef");
    if params.is_set() {
        validate_param_ref(&params, errors);
    }
    let resources = spec.child("matchResources");
    if resources.is_set() {
        admission_rules::validate_match(&resources, errors);
    }
    validate_actions(&spec.child("validationActions"), errors);
}

fn validate_param_ref(params: &Field<'_>, errors: &mut Errors) {
    let (name, selector) = (params.child("name"), params.child("selector"));
    name.optional_syntax(names::path_segment, errors);
    let both = !name.is_empty() && selector.is_set();
    if both {
        name.forbidden("name and selector are mutually exclusive", errors);
    }
    label_selector::validate(selector.value, &selector.path(), errors);
    if both {
        selector.forbidden("name and selector are mutually exclusive", errors);
    }
    if name.is_empty() && !selector.is_set() {
        params.required_because("one of name or selector must be specified", errors);
    }
    params
        .child("parameterNotFoundAction")
        .require_one_of(&["Deny", "Allow"], errors);
}

fn validate_actions(actions: &Field<'_>, errors: &mut Errors) {
    for action in actions.items() {
        action.one_of(&["Audit", "Deny", "Warn"], errors);
    }
    actions.unique_items(errors);
    let has = |wanted: &str| actions.list().iter().any(|action| action == wanted);
    if has("Deny") && has("Warn") {
        actions.invalid(
            "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
            errors,
        );
    }
    if actions.is_empty() {
        actions.required_because("at least one validation action is required", errors);
    }
}
