//! Amounts given as a number or as a share: `2`, `"25%"`.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    checks::{Errors, NOT_NEGATIVE, syntax_of},
    syntax,
};

/// Checks that an amount is a number from zero on or a percentage.
pub(crate) fn validate(value: &Value, path: &Path, errors: &mut Errors) {
    match value {
        Value::String(text) => syntax_of(text, syntax::percent, path, errors),
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            errors.push(FieldError::invalid(path, value, NOT_NEGATIVE));
        }
        _ => {}
    }
}

/// Checks that a percentage is no more than all of it.
pub(crate) fn validate_share(value: &Value, path: &Path, errors: &mut Errors) {
    if value
        .as_str()
        .and_then(percent)
        .is_some_and(|percent| percent > 100)
    {
        errors.push(FieldError::invalid(path, value, "must not be greater than 100%"));
    }
}

/// The bare number, of either form; nonsense and nothing count as zero.
pub(crate) fn number(value: &Value) -> i64 {
    match value {
        Value::String(text) => percent(text).or_else(|| text.parse().ok()).unwrap_or_default(),
        other => other.as_i64().unwrap_or_default(),
    }
}

/// As `value` is shown where it is missing: the zero the real server has instead.
pub(crate) fn shown(value: &Value) -> Value {
    if value.is_null() { json!(0) } else { value.clone() }
}

fn percent(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(i64::MAX))
}
