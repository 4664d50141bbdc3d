//! Numbers that may also be written as percentages (`minAvailable: 50%`).

use super::{
    field::{Errors, Field},
    syntax,
};

/// A number from zero up, or a percentage of at most 100.
pub(crate) fn validate(field: &Field<'_>, errors: &mut Errors) {
    if field.value.is_string() {
        if field.syntax(syntax::percent, errors) && percentage(field).is_none_or(|percent| percent > 100) {
            field.invalid("must not be greater than 100%", errors);
        }
    } else {
        field.not_negative(errors);
    }
}

fn percentage(field: &Field<'_>) -> Option<i64> {
    field
        .text()
        .strip_suffix('%')
        .and_then(|digits| digits.parse().ok())
}
