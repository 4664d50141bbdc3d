//! Selectors over nodes: where a volume can be reached, and where a pod wants to run.

use crate::{
    field::{Errors, Field},
    names,
};

pub(crate) fn validate(selector: &Field<'_>, errors: &mut Errors) {
    validate_with(selector, false, errors);
}

/// As `validate`; pods that once had values no label can have may keep them.
pub(crate) fn validate_with(selector: &Field<'_>, allow_invalid_values: bool, errors: &mut Errors) {
    let terms = selector.child("nodeSelectorTerms");
    if terms.is_empty() {
        terms.required_because("must have at least one node selector term", errors);
    }
    for term in terms.items() {
        validate_term(&term, allow_invalid_values, errors);
    }
}

pub(crate) fn validate_term(term: &Field<'_>, allow_invalid_values: bool, errors: &mut Errors) {
    for requirement in term.child("matchExpressions").items() {
        validate_label(&requirement, allow_invalid_values, errors);
    }
    for requirement in term.child("matchFields").items() {
        validate_field(&requirement, errors);
    }
}

fn validate_label(requirement: &Field<'_>, allow_invalid_values: bool, errors: &mut Errors) {
    let (operator, values) = (requirement.child("operator"), requirement.child("values"));
    let count = values.list().len();
    match operator.text() {
        "In" | "NotIn" if count == 0 => {
            values.required_because("must be specified when `operator` is 'In' or 'NotIn'", errors);
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            values.forbidden(
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                errors,
            );
        }
        "Gt" | "Lt" if count != 1 => values.required_because(
            "must be specified single value when `operator` is 'Lt' or 'Gt'",
            errors,
        ),
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        text => operator.invalid_as(text, "not a valid selector operator", errors),
    }
    requirement.child("key").syntax(names::qualified_name, errors);
    if !allow_invalid_values {
        for value in values.items() {
            value.syntax(names::label_value, errors);
        }
    }
}

/// The only field of a node that can be selected by is its name.
fn validate_field(requirement: &Field<'_>, errors: &mut Errors) {
    let (operator, values) = (requirement.child("operator"), requirement.child("values"));
    match operator.text() {
        "In" | "NotIn" if values.list().len() == 1 => {}
        "In" | "NotIn" => values.required_because(
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            errors,
        ),
        text => operator.invalid_as(text, "not a valid selector operator", errors),
    }
    let key = requirement.child("key");
    if key.text() == "metadata.name" {
        for value in values.items() {
            value.syntax(names::dns_subdomain, errors);
        }
    } else {
        key.invalid_as(key.text(), "not a valid field selector key", errors);
    }
}
