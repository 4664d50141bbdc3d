//! Bounds of numbers. Integers are compared as integers, with the bound truncated.

use manifests::field::ErrorKind;
use serde_json::Number;

use super::Problem;
use crate::{golang, structural::Checks};

pub(super) fn check(number: &Number, checks: &Checks, mut report: impl FnMut(Problem)) {
    let value = golang::plain(number);
    let mut invalid = |text| report(Problem::of(ErrorKind::Invalid, value.clone(), text));
    let integer = number.as_i64();
    let float = number.as_f64().unwrap_or_default();
    if let Some(minimum) = checks.minimum {
        let (below, equal, bound) = compared(integer, float, minimum);
        if below || (equal && checks.exclusive_minimum) {
            let or = if checks.exclusive_minimum {
                ""
            } else {
                " or equal to"
            };
            invalid(format!("should be greater than{or} {bound}"));
        }
    }
    if let Some(maximum) = checks.maximum {
        let (below, equal, bound) = compared(integer, float, maximum);
        if (!below && !equal) || (equal && checks.exclusive_maximum) {
            let or = if checks.exclusive_maximum {
                ""
            } else {
                " or equal to"
            };
            invalid(format!("should be less than{or} {bound}"));
        }
    }
    if let Some(factor) = checks.multiple_of {
        check_multiple(integer, float, factor, &value, report);
    }
}

/// Whether the number is below or at the bound, and the bound as the message shows it.
fn compared(integer: Option<i64>, float: f64, bound: f64) -> (bool, bool, String) {
    match integer {
        Some(integer) => {
            let bound = bound as i64;
            (integer < bound, integer == bound, bound.to_string())
        }
        #[expect(
            clippy::float_cmp,
            reason = "the bound itself is in or out, not what is near it"
        )]
        None => (float < bound, float == bound, golang::float(bound)),
    }
}

fn check_multiple(
    integer: Option<i64>,
    float: f64,
    factor: f64,
    value: &str,
    mut report: impl FnMut(Problem),
) {
    let shown = integer.map_or_else(|| golang::float(factor), |_| (factor as i64).to_string());
    let positive = integer.map_or(factor > 0.0, |_| factor as i64 > 0);
    if !positive {
        let text = format!("factor MultipleOf declared for {{}} must be positive: {shown}");
        report(Problem {
            kind: ErrorKind::Invalid,
            value: shown,
            text,
            bare: true,
        });
        return;
    }
    let multiple = match integer {
        Some(integer) => integer % (factor as i64) == 0,
        None => is_whole(if factor < 1.0 {
            1.0 / factor * float
        } else {
            float / factor
        }),
    };
    if !multiple {
        let text = format!("should be a multiple of {shown}");
        report(Problem::of(ErrorKind::Invalid, value.to_owned(), text));
    }
}

/// Whether a float is a whole number, give or take what arithmetic loses.
pub(super) fn is_whole(number: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    let difference = number.fract().abs();
    number.abs() <= LARGEST
        && (difference == 0.0 || difference / (number.abs() + number.trunc().abs()) < 1e-9)
}
