//! Status conditions of the common shape.

use std::collections::BTreeSet;

use super::field::{Errors, Field};
use crate::{names, read};

const REASON_FORMAT: &str = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const MAX_REASON_LENGTH: usize = 1024;
const MAX_MESSAGE_LENGTH: usize = 32 * 1024;

pub(crate) fn validate(conditions: &Field<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for condition in conditions.items() {
        let kind = condition.child("type");
        if !seen.insert(read::text(condition.value, "type")) {
            kind.duplicate_as(kind.text(), errors);
        }
        kind.syntax(names::qualified_name, errors);
        condition
            .child("status")
            .one_of(&["False", "True", "Unknown"], errors);
        let generation = condition.child("observedGeneration");
        if generation.int() < Some(0) && generation.is_set() {
            generation.invalid("must be greater than or equal to zero", errors);
        }
        condition.child("lastTransitionTime").require(errors);
        let reason = condition.child("reason");
        if reason.require_syntax(reason_syntax, errors) && reason.text().len() > MAX_REASON_LENGTH {
            reason.too_long(MAX_REASON_LENGTH, errors);
        }
        let message = condition.child("message");
        if message.text().len() > MAX_MESSAGE_LENGTH {
            message.too_long(MAX_MESSAGE_LENGTH, errors);
        }
    }
}

fn reason_syntax(reason: &str) -> Vec<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fine = reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.ends_with(word)
        && reason.chars().all(|c| word(c) || c == ',' || c == ':');
    if fine {
        return Vec::new();
    }
    vec![names::regex_error(
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
        REASON_FORMAT,
        &[
            "my_name",
            "MY_NAME",
            "MyName",
            "ReasonA,ReasonB",
            "ReasonA:ReasonB",
        ],
    )]
}
